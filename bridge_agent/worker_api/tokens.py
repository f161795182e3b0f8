"""Tokens: the workers that were invited. Each has a name, is stored as a hash alone, and can be revoked."""

import hashlib
import json
import logging
import secrets
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from bridge_agent.base.backoff import token as make_token
from bridge_agent.base.clock import Clock, from_text, to_text
from bridge_agent.base.errors import BridgeError
from bridge_agent.base.logs import masks
from bridge_agent.protocol.text import clean
from bridge_agent.store import Database, Queries
from bridge_agent.transcription.pipeline.local import NAME as THIS_COMPUTER

SCHEMA = "bridge_agent.worker_api.schema"
DATABASE = "workers.sqlite3"
PREFIX = "wrk_"
UNSEEN_S = 120.0
"""A worker that nobody has heard of for so long is offline."""
MOST_REGISTRATIONS = 10_000
"""So many workers that registered themselves are known of a token: the ones that were used latest."""

_SQL = Queries("bridge_agent.worker_api", "tokens.sql")
_TOUCH_EVERY_S = 30.0
_USED_EVERY_S = 300.0
_NAME_BYTES = 128

_log = logging.getLogger(__name__)


class NameTaken(BridgeError):
    """A worker of this name is there already; choose another name."""

    code = "name_taken"
    status = 409


class BadName(BridgeError):
    """A worker needs a name of 1 to 128 bytes; send one."""

    code = "bad_name"


@dataclass(frozen=True)
class Member:
    """A token without its secret: the worker that was invited with it."""

    id: int
    name: str
    hash: str
    model: str | None
    created_at: str
    last_seen_at: str | None
    engine: str = ""
    device: str = ""
    paused: bool = False
    parked: str | None = None

    @property
    def may_work(self) -> bool:
        """Whether it is given parts."""
        return not self.paused and self.parked is None


@dataclass(frozen=True)
class Invited:
    """A token just made; `token` is shown this once."""

    member: Member
    token: str


@dataclass(frozen=True)
class Registration:
    """A worker that registered itself under a token."""

    worker_id: str
    token_id: int
    name: str
    capabilities: tuple[str, ...]


class _Registered(NamedTuple):
    registration: Registration
    used_at: float


class Tokens:
    """The tokens there are; all of them are in memory, since each call of a worker asks for one."""

    def __init__(self, db: Database, clock: Clock) -> None:
        """Know none yet; `load` reads them."""
        self._db = db
        self._clock = clock
        self._by_hash: dict[str, Member] = {}
        self._names: dict[int, str] = {}
        self._hashes: dict[int, str] = {}
        self._refused: set[str] = set()
        self._seen: dict[int, float] = {}
        self._left: set[int] = set()
        self._touched: dict[int, float] = {}
        self._registered: dict[str, _Registered] = {}

    async def load(self) -> None:
        """Read what the store holds."""
        found = await self._db.read(lambda c: [_member(row) for row in c.execute(_SQL["all"]).fetchall()])
        for member in found:
            self._keep(member)

    def members(self) -> list[Member]:
        """Return the workers that were invited, the oldest first."""
        return sorted(self._by_hash.values(), key=lambda member: member.id)

    def get(self, token_id: int) -> Member | None:
        """Return a worker by its token's id."""
        known = self._hashes.get(token_id)
        return None if known is None else self._by_hash.get(known)

    def name(self, token_id: int) -> str:
        """Return a worker's name, one's too that was revoked since this program began."""
        return self._names.get(token_id, "")

    def find(self, token: str) -> Member | None:
        """Return whose token this is; None where it is nobody's."""
        hash_ = _hash(token)
        return None if hash_ in self._refused else self._by_hash.get(hash_)

    def there(self, token_id: int) -> bool:
        """Tell whether a worker was heard of in the last two minutes of this program's life."""
        seen = self._seen.get(token_id)
        return seen is not None and self._clock.monotonic() - seen <= UNSEEN_S

    def left(self, token_id: int) -> None:
        """Note that a worker has said goodbye: until it is heard of again it has gone."""
        self._left.add(token_id)

    def gone(self, token_id: int) -> bool:
        """Tell whether a worker has said goodbye, or was not heard of for so long that it may have."""
        return token_id in self._left or not self.there(token_id)

    async def add(self, name: str, model: str | None = None) -> Invited:
        """Make a token; raises BadName, NameTaken."""
        shown = clean(name, len(name.encode("utf-8", "replace"))).strip()
        if not 1 <= len(shown.encode()) <= _NAME_BYTES:
            raise BadName
        if shown == THIS_COMPUTER:
            raise NameTaken
        token = make_token(PREFIX)
        masks.register(token)
        values = {
            "name": shown,
            "hash": _hash(token),
            "model": clean(model or "", _NAME_BYTES).strip() or None,
            "now": self._now(),
        }
        row = await self._db.write(lambda c: c.execute(_SQL["add"], values).fetchone())
        if row is None:
            raise NameTaken(f"A worker named “{shown}” is there already; choose another name.")
        return Invited(self._keep(_member(row)), token)

    async def revoke(self, token_id: int) -> Member | None:
        """Make a token worth nothing from now on; None where there is none of that id.

        It stays among the members until that is written down, so that what failed may be asked for again.
        """
        member = self.get(token_id)
        if member is not None:
            self._refused.add(member.hash)
            await self._db.write(lambda c: c.execute(_SQL["revoke"], {"id": token_id}).fetchone())
            self._by_hash.pop(member.hash, None)
            self._refused.discard(member.hash)
        return member

    async def saw(self, member: Member) -> None:
        """Note that a worker was heard of; written down every half minute."""
        now = self._clock.monotonic()
        self._seen[member.id] = now
        self._left.discard(member.id)
        moment = self._now()
        known = self._by_hash.get(member.hash)
        if known is not None:
            self._by_hash[member.hash] = replace(known, last_seen_at=moment)
        if now - self._touched.get(member.id, -_TOUCH_EVERY_S) >= _TOUCH_EVERY_S:
            self._touched[member.id] = now
            values = {"id": member.id, "now": moment}
            await self._db.write(lambda c: c.execute(_SQL["seen"], values))

    async def pause(self, token_id: int, *, paused: bool) -> Member | None:
        """Give a worker no more work, or some again."""
        return await self._changed("pause", {"id": token_id, "paused": paused})

    async def park(self, token_id: int, reason: str | None) -> Member | None:
        """Give a worker no more work for a reason, until a person resumes it (None)."""
        return await self._changed("park", {"id": token_id, "reason": reason})

    async def describe(self, token_id: int, model: str | None, engine: str, device: str) -> Member | None:
        """Remember what a worker hears with; writes only what is news."""
        known = self.get(token_id)
        if known is None or (known.model, known.engine, known.device) == (
            model or known.model,
            engine,
            device,
        ):
            return known
        values = {"id": token_id, "model": model, "engine": engine, "device": device}
        return await self._changed("describe", values)

    async def register(self, registration: Registration) -> None:
        """Remember a worker that registered itself."""
        values = {
            "worker_id": registration.worker_id,
            "token_id": registration.token_id,
            "name": clean(registration.name, _NAME_BYTES),
            "capabilities": json.dumps(registration.capabilities),
            "now": self._now(),
        }

        def unit(c: sqlite3.Connection) -> None:
            c.execute(_SQL["register"], values)
            c.execute(
                _SQL["forget_registrations"], {"token_id": registration.token_id, "most": MOST_REGISTRATIONS}
            )

        await self._db.write(unit)

    async def registration(self, worker_id: str) -> Registration | None:
        """Return a worker that registered itself, in this life of the program or an earlier one.

        It counts as used now, so that others that register push it out last.
        """
        known = self._registered.pop(worker_id, None) or await self._read(worker_id)
        if known is None:
            return None
        now = self._clock.monotonic()
        used_at = known.used_at
        if now - used_at >= _USED_EVERY_S:
            used_at = now
            await self._use(worker_id)
        # The one that was used last comes last.
        self._registered[worker_id] = _Registered(known.registration, used_at)
        if len(self._registered) > MOST_REGISTRATIONS:
            del self._registered[next(iter(self._registered))]
        return known.registration

    async def key(self, name: str) -> bytes:
        """Return a secret key of this listener's, made when it is first asked for."""
        made = {"name": name, "value": secrets.token_bytes(32)}

        def unit(c: sqlite3.Connection) -> bytes:
            c.execute(_SQL["keep_key"], made)
            return bytes(c.execute(_SQL["key"], {"name": name}).fetchone()["value"])

        return await self._db.write(unit)

    async def _read(self, worker_id: str) -> "_Registered | None":
        values = {"worker_id": worker_id}
        row = await self._db.read(lambda c: c.execute(_SQL["registration"], values).fetchone())
        if row is None:
            return None
        used_s = (self._clock.now() - from_text(row["used_at"])).total_seconds()
        capabilities: Sequence[str] = json.loads(row["capabilities"])
        found = Registration(row["worker_id"], row["token_id"], row["name"], tuple(capabilities))
        # A wall clock that was set back counts too: what was used before lies ahead of it.
        return _Registered(found, self._clock.monotonic() - abs(used_s))

    async def _use(self, worker_id: str) -> None:
        values = {"worker_id": worker_id, "now": self._now()}
        try:
            await self._db.write(lambda c: c.execute(_SQL["use_registration"], values))
        except (BridgeError, sqlite3.Error) as error:
            # Which registrations are in use is worth no refusal.
            _log.warning("That a worker is in use can’t be written down: %s", error)

    async def _changed(self, query: str, values: Mapping[str, object]) -> Member | None:
        row = await self._db.write(lambda c: c.execute(_SQL[query], values).fetchone())
        known = None if row is None else self._by_hash.get(row["hash"])
        # One that was revoked while this was written stays nobody.
        return None if known is None else self._keep(replace(_member(row), last_seen_at=known.last_seen_at))

    def _keep(self, member: Member) -> Member:
        self._by_hash[member.hash] = member
        self._names[member.id] = member.name
        self._hashes[member.id] = member.hash
        return member

    def _now(self) -> str:
        return to_text(self._clock.now())


def any_invited(c: sqlite3.Connection) -> bool:
    """Tell whether any worker is invited, by a store that is opened for reading alone."""
    return c.execute(_SQL["all"]).fetchone() is not None


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def _member(row: sqlite3.Row) -> Member:
    return Member(
        id=row["id"],
        name=row["name"],
        hash=row["hash"],
        model=row["model"],
        created_at=row["created_at"],
        last_seen_at=row["last_seen_at"],
        engine=row["engine"],
        device=row["device"],
        paused=bool(row["paused"]),
        parked=row["parked"],
    )
