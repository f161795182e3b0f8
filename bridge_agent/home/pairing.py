"""Pairing: a code that an admin makes, exchanged once for the one bridge token (R-001…R-011, R-024)."""

import logging
import secrets
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from bridge_agent.base.clock import Clock
from bridge_agent.base.logs import masks
from bridge_agent.home import credentials
from bridge_agent.home.bridge_status import BridgeStatus
from bridge_agent.home.credentials import Credential, hash_of
from bridge_agent.home.moment import Moment
from bridge_agent.protocol import codes
from bridge_agent.protocol.bridge import PairRequest
from bridge_agent.protocol.text import VERSION_BYTES, clean
from bridge_agent.settings import HomeSettings
from bridge_agent.store import Database, Queries

_SQL = Queries(__package__, "bridge_status.sql")
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class MadeCode:
    """A pairing code, shown this once, with what a person gives the Bridge."""

    code: str
    expires_at: str
    server_url: str
    env: dict[str, str]

    def wire(self) -> dict[str, object]:
        """Return the answer of POST /admin/bridge/pair."""
        return {
            "code": self.code,
            "expires_at": self.expires_at,
            "server_url": self.server_url,
            "env": self.env,
        }


class Pairing:
    """Makes codes, exchanges them, ends a pairing. `on_revoked` is called after a token was revoked."""

    def __init__(self, settings: HomeSettings, clock: Clock, db: Database, status: BridgeStatus) -> None:
        self._settings = settings
        self._clock = clock
        self._db = db
        self._status = status
        self.on_revoked: Callable[[], None] = lambda: None

    async def make_code(self, credential: Credential, request_origin: str) -> MadeCode:
        """Make a code for an admin; it replaces one that still waits and touches no paired Bridge."""
        code = codes.from_bytes(secrets.token_bytes(codes.LENGTH))
        shown = codes.shown(code)
        masks.register(code, passing=True)
        masks.register(shown, passing=True)
        moment = Moment.of(self._clock)
        lives = self._settings.pair_code_seconds
        values = {
            "hash": hash_of(code),
            "by": credential.user.id,
            "expires_at": moment.text_after(lives),
            "deadline": moment.seconds + lives,
        }
        await self._db.write(lambda c: c.execute(_SQL["keep_code"], values))
        self._status.on_change()
        url = server_url(self._settings, request_origin)
        env = {"BRIDGE_SERVER_URL": url, "BRIDGE_PAIR_CODE": shown}
        return MadeCode(shown, moment.text_after(lives), url, env)

    async def exchange(self, request: PairRequest) -> str | None:
        """Exchange a code for the bridge token; None where the code is not good, whatever the reason."""
        code = codes.normal(request.code)
        if code is None:
            return None
        moment = Moment.of(self._clock)
        values = {"hash": hash_of(code), "due": moment.due, "now": moment.text}
        token = await self._db.write(lambda c: _exchange(c, values, request.name or "Bridge"))
        if token is None:
            return None
        self._status.drop_copy()
        self.on_revoked()
        version = clean(request.version or "unknown", VERSION_BYTES)
        _log.info("Paired with a Bridge, version %s.", version)
        return token

    async def unpair(self) -> None:
        """Revoke the token and forget the Bridge's status; its jobs stay (R-024)."""
        await self._db.write(_unpair)
        self._status.drop_copy()
        self.on_revoked()
        _log.info("Unpaired the Bridge.")


def _exchange(connection: sqlite3.Connection, values: dict[str, object], name: str) -> str | None:
    used = connection.execute(_SQL["use_code"], values).fetchone()
    if used is None:
        return None
    credentials.revoke_bridge(connection)
    _, token = credentials.mint(connection, "bridge", used["paired_by"], name, str(values["now"]))
    return token


def _unpair(connection: sqlite3.Connection) -> None:
    credentials.revoke_bridge(connection)
    connection.execute(_SQL["forget"])


def server_url(settings: HomeSettings, request_origin: str) -> str:
    """Return the address to give the Bridge: that at home, else the public one, else the request's (R-007).

    A self-signed certificate is one the Bridge can't verify: at home it is then given plain http, which this
    server answers on the same port.
    """
    if settings.address:
        return _plain(settings, settings.address)
    return settings.public_url or _plain(settings, request_origin)


def _plain(settings: HomeSettings, url: str) -> str:
    if settings.tls != "self-signed":
        return url
    parts = urlsplit(url)
    if parts.scheme != "https":
        return url
    host = parts.netloc if parts.port is not None else f"{parts.netloc}:443"
    return urlunsplit(("http", host, parts.path, "", "")).rstrip("/")
