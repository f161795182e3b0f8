"""The rows of `server_jobs`: what this Bridge claimed, what it found, whether the server knows (R-050).

All functions are units: they run whole on the store's writer. Each transition is one UPDATE that names the
attempt and re-checks that the row is still open, so an end is written once, whoever comes second.
"""

import sqlite3
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from bridge_agent.base.clock import from_text
from bridge_agent.base.errors import BridgeError
from bridge_agent.protocol.bridge import ClaimedJob, Progress, plain
from bridge_agent.protocol.states import RUN_OPEN, RunState
from bridge_agent.store import Queries

SQL = Queries("bridge_agent.jobs", "server_jobs.sql")

CLAIMED_AGAIN = "claimed again on the server"
OTHER_SERVER = "this Bridge was paired with another server"
NOT_PAIRED_NOW = "its server is no longer paired"
MOVED_ON = "the server has moved on"

MOST_ROWS = 200
"""At most so many rows in one piece of history."""


class Key(NamedTuple):
    """What names a claim: the server, the job's id there, the attempt."""

    server_id: str
    job_id: int
    attempt: int


@dataclass(frozen=True, kw_only=True)
class Row:
    """One claim and what became of it."""

    key: Key
    kind: str
    library_id: int
    path: str
    params: dict[str, Any]
    state: RunState
    progress: dict[str, Any] | None
    result: dict[str, Any] | None
    error: str | None
    reported: bool
    note: str | None
    claimed_at: str
    started_at: str | None
    finished_at: str | None

    @property
    def open(self) -> bool:
        """Whether it has not ended."""
        return self.state in RUN_OPEN

    def wire(self) -> dict[str, Any]:
        """Return the row as GET /api/jobs tells it; `note` says what became of it on the server."""
        return {
            "server_id": self.key.server_id,
            "job_id": self.key.job_id,
            "attempt": self.key.attempt,
            "kind": self.kind,
            "library_id": self.library_id,
            "path": self.path,
            "params": self.params,
            "state": str(self.state),
            "progress": self.progress,
            "result": self.result,
            "error": self.error,
            "reported": self.reported,
            "note": self.note,
            "claimed_at": self.claimed_at,
            "started_at": self.started_at,
            "finished_at": self.finished_at,
        }


@dataclass(frozen=True)
class Begun:
    """What became of writing a claim down: its row (None: it was there already) and the rows it outdates."""

    row: Row | None
    outdated: list[Row]


@dataclass(frozen=True, kw_only=True)
class End:
    """How a claim ends: `reported` is true where the server knows without being told."""

    state: RunState
    result: dict[str, Any] | None = None
    error: str | None = None
    note: str | None = None
    reported: bool = False


_MOST_DIGITS = 18
"""The store holds no longer numbers."""


@dataclass(frozen=True)
class Cursor:
    """A place in the history, newest first: what stands before it is older."""

    claimed_at: str
    job_id: int = 0
    attempt: int = 0
    server_id: str = ""

    @classmethod
    def after(cls, row: Row) -> "Cursor":
        """Return the place just after a row."""
        return cls(row.claimed_at, row.key.job_id, row.key.attempt, row.key.server_id)

    @classmethod
    def parse(cls, text: str) -> "Cursor":
        """Read what `str` wrote, or a bare time; raises BridgeError for anything else."""
        moment, *rest = text.split("~")
        try:
            from_text(moment)
            if not rest:
                return cls(moment)
            job_id, attempt, server_id = rest
            if max(len(job_id), len(attempt)) > _MOST_DIGITS:
                raise BadCursor
            return cls(moment, int(job_id), int(attempt), server_id)
        except ValueError as error:
            raise BadCursor from error

    def __str__(self) -> str:
        return "~".join((self.claimed_at, str(self.job_id), str(self.attempt), self.server_id))


class BadCursor(BridgeError):
    """“before” is not a place in the list; take `next_before` of the last answer, or a time."""

    code = "bad_request"


def begin(c: sqlite3.Connection, server_id: str, job: ClaimedJob, now: str) -> Begun:
    """Write a claim down before anything runs; earlier open attempts of the job are lost with it.

    The row is None where this claim is written down already and still to be answered for.
    """
    names = {"server_id": server_id, "job_id": job.id, "attempt": job.attempt, "now": now}
    outdated = _rows(c, "outdate", {**names, "note": CLAIMED_AGAIN})
    fields = {
        "kind": job.kind,
        "library_id": job.library_id,
        "path": job.path,
        "params": _json(job.params),
    }
    return Begun(_row(c, "begin", {**names, **fields}), outdated)


def move(
    c: sqlite3.Connection,
    key: Key,
    state: RunState,
    error: str | None = None,
    progress: Progress | None = None,
) -> Row | None:
    """Put an open row into another open state; None where it has ended."""
    fields = {"state": str(state), "error": error, "progress": _json(progress)}
    return _row(c, "move", {**key._asdict(), **fields})


def finish(c: sqlite3.Connection, key: Key, end: End, progress: Progress | None, now: str) -> Row | None:
    """End an open row; None where it had ended already."""
    fields = {
        "state": str(end.state),
        "progress": _json(progress),
        "result": _json(end.result),
        "error": end.error,
        "note": end.note,
        "reported": int(end.reported),
        "now": now,
    }
    return _row(c, "finish", {**key._asdict(), **fields})


def close_report(c: sqlite3.Connection, key: Key, note: str | None) -> Row | None:
    """Record that the server has answered the final report; None where that was recorded before."""
    return _row(c, "close_report", {**key._asdict(), "note": note})


def replace_final(c: sqlite3.Connection, key: Key, error: str) -> Row | None:
    """Make an end that the server does not take a failure with that sentence."""
    return _row(c, "replace_final", {**key._asdict(), "error": error})


def put_all_aside(c: sqlite3.Connection) -> list[Row]:
    """Record of everything open that it is kept aside (R-087)."""
    return _rows(c, "put_all_aside", {})


def pair_with(c: sqlite3.Connection, server_id: str, now: str) -> list[Row]:
    """Record what other servers gave as lost, and why their unsent reports wait (R-089); return the rows."""
    lost = _rows(c, "lose_others", {"server_id": server_id, "note": OTHER_SERVER, "now": now})
    return lost + _rows(c, "note_others", {"server_id": server_id, "note": NOT_PAIRED_NOW})


def open_of(c: sqlite3.Connection, server_id: str) -> list[Row]:
    """Return the open rows of a server, oldest first."""
    return _rows(c, "open_of", {"server_id": server_id})


def unreported_of(c: sqlite3.Connection, server_id: str) -> list[Row]:
    """Return the ended rows of a server that it has not answered for, oldest first (R-081)."""
    return _rows(c, "unreported_of", {"server_id": server_id})


def all_open(c: sqlite3.Connection) -> list[Row]:
    """Return every open row, oldest first."""
    return _rows(c, "all_open", {})


def attempts(c: sqlite3.Connection, server_id: str, job_id: int) -> list[Row]:
    """Return all attempts of a job, the latest first."""
    return _rows(c, "attempts", {"server_id": server_id, "job_id": job_id})


def history(
    c: sqlite3.Connection, state: RunState | None, before: Cursor | None, limit: int
) -> tuple[list[Row], Cursor | None]:
    """Return rows newest first, and the place where the next piece begins (None: no more)."""
    place = before or Cursor("")
    found = _rows(
        c,
        "history",
        {
            "state": None if state is None else str(state),
            "claimed_at": place.claimed_at or None,
            "job_id": place.job_id,
            "attempt": place.attempt,
            "server_id": place.server_id,
            "limit": limit + 1,
        },
    )
    more = len(found) > limit
    found = found[:limit]
    return found, Cursor.after(found[-1]) if more else None


def ended(c: sqlite3.Connection, limit: int) -> list[Row]:
    """Return the rows that ended last, newest first."""
    return _rows(c, "ended", {"limit": limit})


def forget(c: sqlite3.Connection, before: str, keep: int) -> int:
    """Drop ended and answered rows that ended before a time or are beyond the newest `keep`; return how many.

    What is open, or not yet answered by the server, stays.
    """
    return c.execute(SQL["forget"], {"before": before, "keep": keep}).rowcount


def _json(value: object) -> str | None:
    return None if value is None else msgspec.json.encode(plain(value)).decode()


def _parsed(text: str | None) -> Any:  # noqa: ANN401 - JSON of any shape
    return None if text is None else msgspec.json.decode(text)


def _row(c: sqlite3.Connection, query: str, values: dict[str, Any]) -> Row | None:
    found = _rows(c, query, values)
    return found[0] if found else None


def _rows(c: sqlite3.Connection, query: str, values: dict[str, Any]) -> list[Row]:
    return [_read(found) for found in c.execute(SQL[query], values).fetchall()]


def _read(found: sqlite3.Row) -> Row:
    return Row(
        key=Key(found["server_id"], found["job_id"], found["attempt"]),
        kind=found["kind"],
        library_id=found["library_id"],
        path=found["path"],
        params=_parsed(found["params"]),
        state=RunState(found["state"]),
        progress=_parsed(found["progress"]),
        result=_parsed(found["result"]),
        error=found["error"],
        reported=bool(found["reported"]),
        note=found["note"],
        claimed_at=found["claimed_at"],
        started_at=found["started_at"],
        finished_at=found["finished_at"],
    )
