"""What the server knows of its Bridge: the last heartbeat, whether it is online, what it can do."""

import asyncio
import json
import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from bridge_agent.base.clock import Clock
from bridge_agent.base.tasks import Tasks
from bridge_agent.home import copies, credentials
from bridge_agent.home.moment import Moment
from bridge_agent.protocol.bridge import Heartbeat, encode, family
from bridge_agent.settings import HomeSettings
from bridge_agent.store import Database, Queries

_SQL = Queries(__package__, "bridge_status.sql")


@dataclass(frozen=True)
class Known:
    """The single row as it was read; `version` and `kinds` are those of the last heartbeat."""

    paired: bool
    paired_at: str | None
    paired_by: str | None
    code_expires_at: str | None
    code_deadline: float | None
    heartbeat: dict[str, object] | None
    heartbeat_at: str | None
    heartbeat_moment: float | None


_NOTHING = Known(False, None, None, None, None, None, None, None)


def read(connection: sqlite3.Connection) -> Known:
    """Read the row inside a unit."""
    row = connection.execute(_SQL["get"]).fetchone()
    if row is None:
        return _NOTHING
    return Known(
        bool(row["paired"]),
        row["paired_at"],
        row["paired_by_name"],
        row["code_expires_at"],
        row["code_deadline"],
        None if row["heartbeat"] is None else json.loads(row["heartbeat"]),
        row["heartbeat_at"],
        row["heartbeat_moment"],
    )


def advertised(connection: sqlite3.Connection) -> list[str] | None:
    """Return inside a unit the kinds of the last heartbeat; None before the first of this pairing (R-059)."""
    row = connection.execute(_SQL["kinds"]).fetchone()
    return None if row is None else json.loads(row["kinds"])


def rebase(connection: sqlite3.Connection, moment: Moment, code_seconds: float) -> None:
    """Turn the wall times that an earlier process left into this one's monotonic seconds."""
    known = read(connection)
    code, seen = known.code_expires_at, known.heartbeat_at
    values = {
        "code_deadline": None if code is None else moment.reached_again(code, code_seconds),
        "heartbeat_moment": None if seen is None else moment.seen_again(seen),
    }
    connection.execute(_SQL["rebase"], values)


@dataclass(frozen=True)
class _Beat:
    before: list[str] | None
    known: Known


class BridgeStatus:
    """The heartbeat as it is kept and shown."""

    def __init__(
        self, settings: HomeSettings, clock: Clock, db: Database, tasks: Tasks, known_kinds: Iterable[str]
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._db = db
        self._tasks = tasks
        self._known_kinds = frozenset(known_kinds)
        self._copy: Known | None = None
        self._copied = 0.0
        self._drops = 0
        self._last_beat = 0.0
        self._runs = copies.Runs()
        self._watch: asyncio.Task[None] | None = None
        self.on_kinds: Callable[[], None] = lambda: None
        """Called when a heartbeat named other kinds than the one before."""
        self.on_change: Callable[[], None] = lambda: None
        """Called after anything that the view shows has changed."""

    async def put(self, token_hash: str, heartbeat: Heartbeat, run: str | None = None) -> bool:
        """Keep a heartbeat; False where its token has been revoked meanwhile (R-031).

        Raises Copied where `run` is that of a copied data folder's Bridge.
        """
        if run is not None:
            self._runs.heard(token_hash, run)
        moment = Moment.of(self._clock)
        raw = encode(heartbeat).decode()

        def unit(connection: sqlite3.Connection) -> _Beat | None:
            if not credentials.bridge_token_works(connection, token_hash, moment.text):
                return None
            before = advertised(connection)
            values = {"heartbeat": raw, "text": moment.text, "seconds": moment.seconds}
            connection.execute(_SQL["keep_heartbeat"], values)
            return _Beat(before, read(connection))

        drops = self._drops
        beat = await self._db.write(unit)
        if beat is None:
            return False
        if drops == self._drops:
            self._keep(beat.known)
        if beat.before != heartbeat.kinds:
            self.on_kinds()
        self.on_change()
        self._last_beat = moment.seconds
        if self._watch is None or self._watch.done():
            self._watch = self._tasks.spawn(self._tell_when_offline(), "online window")
        return True

    def close(self) -> None:
        """Watch the online window no longer."""
        if self._watch is not None:
            self._watch.cancel()

    async def view(self) -> dict[str, object]:
        """Return what GET /admin/bridge shows."""
        known = await self._db.read(read)
        waiting = known.code_deadline is not None and known.code_deadline > self._clock.monotonic()
        return {
            "paired": known.paired,
            "paired_at": known.paired_at if known.paired else None,
            "paired_by": known.paired_by if known.paired else None,
            "online": self._online(known),
            "last_heartbeat_at": known.heartbeat_at,
            "pending_code_expires_at": known.code_expires_at if waiting else None,
            "status": known.heartbeat,
        }

    async def capability(self) -> dict[str, object]:
        """Return what GET /server says beside its name: `capabilities`, and `bridge` while it is online.

        A heartbeat that was read may be reused for a few seconds; whether it is still young enough is always
        judged anew (R-044).
        """
        known = await self._recent()
        if not self._online(known) or known.heartbeat is None:
            return {"capabilities": {"bridge": False}}
        kinds = known.heartbeat["kinds"]
        assert isinstance(kinds, list)
        features = sorted({family(kind) for kind in kinds if kind in self._known_kinds})
        return {
            "capabilities": {"bridge": True},
            "bridge": {"version": known.heartbeat["version"], "features": features},
        }

    def drop_copy(self) -> None:
        """Forget the copy at once: a Bridge was paired or unpaired (R-044)."""
        self._copy = None
        self._drops += 1
        self.on_change()

    async def _recent(self) -> Known:
        age = self._clock.monotonic() - self._copied
        if self._copy is not None and age < self._settings.capability_seconds:
            return self._copy
        drops = self._drops
        known = await self._db.read(read)
        # What was read before a drop must not outlive it.
        if drops == self._drops:
            self._keep(known)
        return known

    def _keep(self, known: Known) -> None:
        self._copy = known
        self._copied = self._clock.monotonic()

    def _online(self, known: Known) -> bool:
        """Whether the last heartbeat is young enough (R-041)."""
        if not known.paired or known.heartbeat_moment is None:
            return False
        return self._clock.monotonic() - known.heartbeat_moment < self._settings.online_seconds

    async def _tell_when_offline(self) -> None:
        """Say that something changed when the window of the last heartbeat has ended."""
        while (left := self._last_beat + self._settings.online_seconds - self._clock.monotonic()) > 0:
            await self._clock.sleep(left + 0.001)
        self.on_change()
