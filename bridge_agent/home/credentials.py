"""Credentials: sessions, API keys, cast tokens and the bridge token, each stored as a hash alone (R-026)."""

import hashlib
import secrets
import sqlite3
from dataclasses import dataclass
from typing import Literal

from bridge_agent.base.backoff import token as make_token
from bridge_agent.base.clock import Clock, from_text, later, to_text
from bridge_agent.base.logs import masks
from bridge_agent.base.tasks import Tasks
from bridge_agent.home.users import User
from bridge_agent.protocol import codes
from bridge_agent.protocol.text import clean
from bridge_agent.store import Database, Queries

_SQL = Queries(__package__, "credentials.sql")

Kind = Literal["session", "api_key", "cast", "bridge"]
PREFIXES: dict[Kind, str] = {"session": "ses_", "api_key": "key_", "cast": "cst_", "bridge": "brg_"}

SESSION_S = 30 * 86_400.0
CAST_S = 86_400.0
DEVICE_CODE_S = 900.0
_TOUCH_EVERY_S = 30.0
_NAME_BYTES = 128
_LONGEST = 200


@dataclass(frozen=True)
class Credential:
    """Who is calling, and with what."""

    kind: Kind
    id: int
    user: User
    hash: str


@dataclass(frozen=True)
class Device:
    """A session or an API key as its owner sees it."""

    id: int
    kind: str
    name: str
    created_at: str
    last_seen_at: str | None
    hash: str

    def wire(self, this: str) -> dict[str, object]:
        """Return the device as JSON; `this` is the hash of the credential that asks."""
        return {
            "id": self.id,
            "kind": self.kind,
            "name": self.name,
            "created_at": self.created_at,
            "last_seen_at": self.last_seen_at,
            "this": self.hash == this,
        }


@dataclass(frozen=True)
class ApiKey:
    """An API key without its token."""

    id: int
    name: str
    created_at: str
    last_used_at: str | None

    def wire(self) -> dict[str, object]:
        """Return the key as JSON."""
        return {
            "id": self.id,
            "name": self.name,
            "created_at": self.created_at,
            "last_used_at": self.last_used_at,
        }


@dataclass(frozen=True)
class DeviceCode:
    """A code to sign another device in with, shown once."""

    code: str
    expires_at: str


def hash_of(token: str) -> str:
    """Return what is stored of a token: the SHA-256 of the whole of it, in hex."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def kept_name(name: str) -> str:
    """Return the name that is kept of a credential: without control characters, not too long."""
    return clean(name, _NAME_BYTES).strip()


def mint(
    connection: sqlite3.Connection,
    kind: Kind,
    user_id: int,
    name: str,
    now: str,
    expires_at: str | None = None,
) -> tuple[int, str]:
    """Make a credential inside a unit; return its id and its token, which nothing keeps."""
    token = make_token(PREFIXES[kind])
    values = {
        "hash": hash_of(token),
        "kind": kind,
        "user_id": user_id,
        "name": kept_name(name),
        "now": now,
        "expires_at": expires_at,
        "last_seen_at": now if kind == "session" else None,
    }
    return connection.execute(_SQL["mint"], values).fetchone()["id"], token


def bridge_token_works(connection: sqlite3.Connection, token_hash: str, now: str) -> bool:
    """Tell inside a unit whether a bridge token is (still) good (R-030, R-031)."""
    row = connection.execute(_SQL["find"], {"hash": token_hash, "now": now}).fetchone()
    return row is not None and row["kind"] == "bridge"


def revoke_bridge(connection: sqlite3.Connection) -> None:
    """End every bridge token inside a unit."""
    connection.execute(_SQL["revoke_bridge"])


def has_bridge(connection: sqlite3.Connection) -> bool:
    """Tell inside a unit whether a Bridge is paired."""
    return connection.execute(_SQL["has_bridge"]).fetchone() is not None


class Credentials:
    """The credentials of all accounts."""

    def __init__(self, db: Database, clock: Clock, tasks: Tasks) -> None:
        self._db = db
        self._clock = clock
        self._tasks = tasks

    async def find(self, token: str) -> Credential | None:
        """Return whose a token is, or None where it is not (or no longer) good."""
        if not token or len(token) > _LONGEST:
            return None
        token_hash = hash_of(token)
        now = self._now()
        row = await self._db.read(
            lambda c: c.execute(_SQL["find"], {"hash": token_hash, "now": now}).fetchone()
        )
        if row is None:
            return None
        self._touch(row)
        user = User(row["id"], row["username"], row["role"], bool(row["enabled"]))
        return Credential(row["kind"], row["token_id"], user, token_hash)

    async def mint_session(self, user: User, name: str) -> str:
        """Sign an account in; return the session's token."""
        return (await self._mint("session", user, name, SESSION_S))[1]

    async def mint_api_key(self, user: User, name: str) -> tuple[int, str]:
        """Make an API key; return its id and token."""
        return await self._mint("api_key", user, name, None)

    async def mint_cast(self, user: User, name: str = "cast") -> tuple[str, str]:
        """Make a cast token, good for one day; return it and its end."""
        expires_at = to_text(later(self._clock.now(), CAST_S))
        return (await self._mint("cast", user, name, CAST_S))[1], expires_at

    async def devices(self, user: User) -> list[Device]:
        """Return the sessions and API keys of an account."""
        values = {"user_id": user.id, "now": self._now()}
        rows = await self._db.read(lambda c: c.execute(_SQL["devices"], values).fetchall())
        return [Device(**dict(row)) for row in rows]

    async def sign_out(self, user: User, keep: str | None) -> int:
        """End all sessions of an account but the one of hash `keep`; return how many."""
        values = {"user_id": user.id, "keep": keep}
        rows = await self._db.write(lambda c: c.execute(_SQL["sign_out"], values).fetchall())
        return sum(row["kind"] == "session" for row in rows)

    async def log_out(self, token_hash: str) -> None:
        """End one session."""
        await self._db.write(lambda c: c.execute(_SQL["log_out"], (token_hash,)))

    async def api_keys(self) -> list[ApiKey]:
        """Return all API keys."""
        rows = await self._db.read(lambda c: c.execute(_SQL["api_keys"]).fetchall())
        return [ApiKey(*row) for row in rows]

    async def revoke_api_key(self, key_id: int) -> bool:
        """End an API key; tell whether there was one."""
        row = await self._db.write(lambda c: c.execute(_SQL["revoke_api_key"], (key_id,)).fetchone())
        return row is not None

    async def make_device_code(self, user: User) -> DeviceCode:
        """Make a code with which another device signs in as this account, once, within 15 minutes."""
        code = codes.from_bytes(secrets.token_bytes(codes.LENGTH))
        masks.register(code, passing=True)
        masks.register(codes.shown(code), passing=True)
        expires_at = to_text(later(self._clock.now(), DEVICE_CODE_S))
        values = (hash_of(code), user.id, expires_at)
        await self._db.write(lambda c: c.execute(_SQL["keep_device_code"], values))
        return DeviceCode(codes.shown(code), expires_at)

    async def redeem(self, typed: str, name: str) -> tuple[User, str] | None:
        """Exchange a device code for a session; None where the code is not good."""
        code = codes.normal(typed)
        if code is None:
            return None
        now = self._now()
        expires_at = to_text(later(self._clock.now(), SESSION_S))

        def unit(connection: sqlite3.Connection) -> tuple[User, str] | None:
            values = {"hash": hash_of(code), "now": now}
            used = connection.execute(_SQL["use_device_code"], values).fetchone()
            if used is None:
                return None
            row = connection.execute(_SQL["user_by_id"], (used["user_id"],)).fetchone()
            _, token = mint(connection, "session", row["id"], name, now, expires_at)
            return User(row["id"], row["username"], row["role"], bool(row["enabled"])), token

        return await self._db.write(unit)

    async def drop_expired(self) -> None:
        """Forget tokens and codes that have ended by themselves."""
        now = self._now()

        def unit(connection: sqlite3.Connection) -> None:
            connection.execute(_SQL["drop_expired"], (now,))
            connection.execute(_SQL["drop_expired_codes"], (now,))

        await self._db.write(unit)

    async def _mint(self, kind: Kind, user: User, name: str, seconds: float | None) -> tuple[int, str]:
        now = self._now()
        expires_at = None if seconds is None else to_text(later(self._clock.now(), seconds))
        return await self._db.write(lambda c: mint(c, kind, user.id, name, now, expires_at))

    def _touch(self, row: sqlite3.Row) -> None:
        """Note the use of a session or key in the background, seldom enough not to wear the disk."""
        if row["kind"] not in ("session", "api_key"):
            return
        now = self._clock.now()
        seen = row["last_seen_at"]
        if seen is not None and 0 <= (now - from_text(seen)).total_seconds() < _TOUCH_EVERY_S:
            return
        values = {
            "id": row["token_id"],
            "now": to_text(now),
            "expires_at": to_text(later(now, SESSION_S)),
        }
        self._tasks.spawn(self._note_use(values), "note a credential's use")

    async def _note_use(self, values: dict[str, object]) -> None:
        await self._db.write(lambda c: c.execute(_SQL["touch"], values))

    def _now(self) -> str:
        return to_text(self._clock.now())
