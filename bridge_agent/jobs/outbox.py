"""The outbox: final reports, sent until the server answers, across restarts (R-081, law 4).

An ended row that is not marked as reported is in the outbox. The first try is made at once at the job's end,
each later one `BRIDGE_UNREPORTED_RETRY_SECONDS` after the one before, always with the same body. The work is
never done again because a report failed.
"""

import asyncio
import logging
import sqlite3
from dataclasses import dataclass

from bridge_agent.base.clock import Clock
from bridge_agent.base.errors import BridgeError
from bridge_agent.base.loops import Loops
from bridge_agent.base.tasks import Tasks, cancel_and_wait
from bridge_agent.jobs import server_jobs
from bridge_agent.jobs.board import Board
from bridge_agent.jobs.post import Post
from bridge_agent.jobs.reports import final_report, fitting_error
from bridge_agent.jobs.server_jobs import MOVED_ON, Key, Row
from bridge_agent.link.errors import NotHeld, NotPaired, Rejected, ServerAway, TokenRefused
from bridge_agent.store import Database, Unit

_log = logging.getLogger(__name__)

_LOOP = "outbox"
_REFUSED = "The server did not take this job’s report: "
_BODY_REFUSED = frozenset({400, 413, 415, 422})
"""Statuses that speak of the report itself; any other refusal may be a proxy's, whose server is away."""
_PATIENCE_S = 86_400.0
"""How long other refusals are taken for something in between."""
_PARTING_S = 1.0
"""How long a report under way may take when the Bridge stops."""


@dataclass
class _Letter:
    """An ended row and when it is to be sent next, in monotonic seconds."""

    row: Row
    due: float
    refused_since: float | None = None


class Outbox:
    """Sends final reports of the linked server's claims."""

    def __init__(
        self,
        db: Database,
        clock: Clock,
        post: Post,
        board: Board,
        retry_s: float,
        loops: Loops,
        tasks: Tasks,
    ) -> None:
        self._db = db
        self._clock = clock
        self._post = post
        self._board = board
        self._retry_s = retry_s
        self._loops = loops
        self._tasks = tasks
        self._letters: dict[Key, _Letter] = {}
        self._sending: dict[Key, asyncio.Task[None]] = {}
        self._wake = asyncio.Event()

    async def open(self, server_id: str) -> None:
        """Take up what this server has not answered for; it is sent at once."""
        rows = await self._db.read(lambda c: server_jobs.unreported_of(c, server_id))
        now = self._clock.monotonic()
        for row in rows:
            if row.key not in self._sending:
                self._letters[row.key] = _Letter(row, now)
        self._wake.set()

    def nudge(self) -> None:
        """Look at the clock again."""
        self._wake.set()

    async def send(self, row: Row) -> None:
        """Put a row into the outbox and try it now; returns when it was answered or the try failed."""
        self._letters[row.key] = _Letter(row, self._clock.monotonic())
        await asyncio.shield(self._begin(row.key))

    async def settle(self, row: Row, note: str | None) -> None:
        """Close a row that the server has answered for in another way than by taking its final report."""
        self._letters.pop(row.key, None)
        await self._write(lambda c: server_jobs.close_report(c, row.key, note))

    async def run(self) -> None:
        """Send what is due, for ever."""
        while True:
            self._wake.clear()
            pause = self._send_due()
            waiting = len(self._letters)
            self._loops.say(_LOOP, _waiting(waiting))
            if pause is None:
                await self._wake.wait()
            else:
                await self._clock.wait(self._wake, pause)

    async def stop(self) -> None:
        """Give the reports under way a moment, then cut them; they are sent again at the next start."""
        under_way = list(self._sending.values())
        if under_way:
            await asyncio.wait(under_way, timeout=_PARTING_S)
        await cancel_and_wait(*under_way)

    def _send_due(self) -> float | None:
        """Begin what is due; return in how many seconds the next is, None where that is not known."""
        now = self._clock.monotonic()
        pauses = []
        for key, letter in list(self._letters.items()):
            if key in self._sending or not self._post.reaches(key.server_id):
                continue
            if letter.due <= now:
                self._begin(key)
            else:
                pauses.append(letter.due - now)
        return min(pauses, default=None)

    def _begin(self, key: Key) -> "asyncio.Task[None]":
        found = self._sending.get(key)
        if found is None:
            found = self._tasks.spawn(self._try(key), f"final report of job {key.job_id}")
            self._sending[key] = found
            found.add_done_callback(lambda _: self._ended(key))
        return found

    def _ended(self, key: Key) -> None:
        self._sending.pop(key, None)
        self._wake.set()

    async def _try(self, key: Key) -> None:
        letter = self._letters[key]
        letter.due = self._clock.monotonic() + self._retry_s
        try:
            await self._post.report(key, final_report(letter.row))
        except NotHeld as error:
            # The same end there as here: an earlier try of this report arrived, its answer did not.
            note = None if error.state == letter.row.state else MOVED_ON
            await self.settle(letter.row, note)
        except Rejected as error:
            await self._refused(letter, error)
        except (ServerAway, TimeoutError, TokenRefused, NotPaired) as error:
            _log.info("The final report of job %d waits: %s", key.job_id, error)
        else:
            await self.settle(letter.row, None)

    async def _refused(self, letter: _Letter, error: Rejected) -> None:
        """Report a failure with the server's words instead; where not even that is taken, close the row."""
        key, now = letter.row.key, self._clock.monotonic()
        letter.refused_since = now if letter.refused_since is None else letter.refused_since
        if error.status not in _BODY_REFUSED and now - letter.refused_since < _PATIENCE_S:
            _log.info("The final report of job %d waits: %s", key.job_id, error)
            return
        sentence = fitting_error(_REFUSED + error.message)
        _log.warning("Job %d: %s", key.job_id, sentence)
        if (letter.row.error or "").startswith(_REFUSED):
            await self.settle(letter.row, "the server took no report of it")
            return
        row = await self._write(lambda c: server_jobs.replace_final(c, key, sentence))
        if row is not None:
            letter.row = row
            letter.due = now

    async def _write(self, unit: Unit[Row | None]) -> Row | None:
        try:
            row = await self._db.write(unit)
        except (BridgeError, sqlite3.Error) as error:
            _log.error("What the server answered could not be written down: %s", error)
            return None
        if row is not None:
            self._board.put(row)
        return row


def _waiting(letters: int) -> str:
    if not letters:
        return "Nothing to send."
    return (
        "One final report waits for the server."
        if letters == 1
        else f"{letters} final reports wait for the server."
    )
