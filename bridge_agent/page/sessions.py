"""Sessions of browsers that gave the page's password: hashed in the store, 30 days from the last use."""

import hashlib
import sqlite3

from bridge_agent.base.backoff import token
from bridge_agent.base.clock import Clock, from_text, later, to_text
from bridge_agent.page.queries import sql
from bridge_agent.store import Database

LIFE_S = 30 * 86_400.0
_TOUCH_S = 3600.0


class Sessions:
    """Makes, finds and ends sessions; a session's use slides its end, written at most once an hour."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    async def mint(self) -> str:
        """Make a session and return the secret for its cookie; the old ones are swept on the way."""
        secret = token("ses_")
        now = to_text(self._clock.now())
        oldest = self._oldest()

        def unit(connection: sqlite3.Connection) -> None:
            connection.execute(sql["end_old_sessions"], {"oldest": oldest})
            connection.execute(sql["add_session"], {"hash": digest(secret), "now": now})

        await self._db.write(unit)
        return secret

    async def find(self, secret: str) -> "Found | None":
        """Look a session up; None when it is not there or too old."""
        values = {"hash": digest(secret), "oldest": self._oldest(), "now": to_text(self._clock.now())}
        row = await self._db.read(lambda c: c.execute(sql["session"], values).fetchone())
        if row is None:
            return None
        age = (self._clock.now() - from_text(row["last_seen_at"])).total_seconds()
        if age < _TOUCH_S:
            return Found(slid=False)
        slid = await self._db.write(lambda c: c.execute(sql["touch_session"], values).fetchone())
        return Found(slid=True) if slid else None

    async def end(self, secret: str) -> None:
        """Sign one browser out."""
        await self._db.write(lambda c: c.execute(sql["end_session"], {"hash": digest(secret)}) and None)

    def _oldest(self) -> str:
        return to_text(later(self._clock.now(), -LIFE_S))


class Found:
    """A live session; `slid` when its end moved, so that the cookie's shall move too."""

    def __init__(self, slid: bool) -> None:
        self.slid = slid


def digest(secret: str) -> str:
    """Return what the store keeps of a session's secret."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
