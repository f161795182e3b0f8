"""One claim's life here: its handler, the reporter beside it, its end written down, then reported (law 4)."""

import asyncio
import logging
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from bridge_agent.base.clock import Clock, to_text
from bridge_agent.base.errors import BridgeError
from bridge_agent.base.tasks import Tasks, cancel_and_wait
from bridge_agent.jobs import server_jobs
from bridge_agent.jobs.board import Board
from bridge_agent.jobs.handlers.base import Done, Failed, Handler, JobContext, NeedsAttention, Outcome
from bridge_agent.jobs.lanes import Lanes
from bridge_agent.jobs.outbox import Outbox
from bridge_agent.jobs.outcomes import LET_GO, outcome_of
from bridge_agent.jobs.post import Post
from bridge_agent.jobs.reporter import Reporter, Rhythm
from bridge_agent.jobs.reports import ended_elsewhere, ending, fitting_error, fitting_progress
from bridge_agent.jobs.server_jobs import End, Row
from bridge_agent.link.errors import NotHeld, NotPaired, TokenRefused
from bridge_agent.protocol.bridge import Progress, ReportAnswer
from bridge_agent.protocol.states import RunState
from bridge_agent.store import Database, Unit

_log = logging.getLogger(__name__)

_STORE_RETRY_S = 5.0
_DRAIN_S = 10.0
"""How long steps that were not yet reported may hold up the final report."""
_CUT_S = 2.0
"""How long a report under way may hold up a final one that needs no steps before it."""


class Why(IntEnum):
    """Why a claim stops here before its handler is done; of two reasons the greater one counts."""

    LEAVE = 1
    """The Bridge stops: the row stays as it is (R-078)."""
    ASIDE = 2
    """The server refuses the token: kept aside (R-087)."""
    CANCEL = 3
    """An admin or the page asked for it (R-073, R-077)."""
    LOST = 4
    """The server does not count it as held any more (R-064)."""


@dataclass(frozen=True)
class Tools:
    """What every runner works with."""

    db: Database
    clock: Clock
    board: Board
    lanes: Lanes
    outbox: Outbox
    post: Post
    rhythm: Rhythm
    tasks: Tasks


class Runner:
    """Runs one claim from its row on, as one tracked task."""

    def __init__(
        self, row: Row, handler: Handler, tools: Tools, lease_seconds: float | None, resumed: bool
    ) -> None:
        """Prepare the run of a row that is written down; a resumed one asks the server before it begins."""
        self.row = row
        self._handler = handler
        self._tools = tools
        self._resumed = resumed
        self._why: Why | None = None
        self._elsewhere = ended_elsewhere(None)
        self._handling: asyncio.Task[object] | None = None
        self._told = False
        self._heard = False
        self._again = False
        self._attention = False
        self._wake = asyncio.Event()
        self._live_task: asyncio.Task[None] | None = None
        self._reporter = Reporter(
            row.key.attempt,
            lambda report: tools.post.report(row.key, report),
            tools.clock,
            tools.rhythm,
            self._answered,
        )
        if lease_seconds is not None:
            self._reporter.renewed(lease_seconds)

    def __repr__(self) -> str:
        key = self.row.key
        why = "" if self._why is None else f", stops: {self._why.name.lower()}"
        return f"<job {key.job_id}, attempt {key.attempt}, {self.row.state}{why}>"

    def start(self, when_ended: Callable[["Runner"], None]) -> None:
        """Begin; `when_ended` is called when nothing of it runs any more."""
        self._tools.lanes.enter(self.row.key, self.row.kind)
        key = self.row.key
        self._live_task = self._tools.tasks.spawn(self._live(), f"job {key.job_id}, attempt {key.attempt}")
        self._live_task.add_done_callback(lambda _: when_ended(self))

    def stop(self, why: Why, server_state: str | None = None) -> None:
        """Stop the handler where it is; returns at once. `server_state` is what a 409 told."""
        if why is Why.LOST:
            self._elsewhere = ended_elsewhere(server_state)
        self._why = why if self._why is None else max(self._why, why)
        self._wake.set()
        if self._why is Why.LEAVE:
            self._reporter.close(drain=False)
        # Told once: a second cancel would break off what a handler does to tidy up.
        if self._handling is not None and not self._told:
            self._told = True
            self._handling.cancel()

    def nudge(self) -> None:
        """Let the reporter look at the clock."""
        self._reporter.nudge()

    def try_again(self) -> bool:
        """Let a job that needs attention try again now; tell whether it waited for that."""
        if not self._attention:
            return False
        self._again = True
        self._wake.set()
        return True

    async def ended(self, within_s: float | None = None) -> bool:
        """Wait until nothing of it runs any more, up to some seconds; tell whether that is so."""
        if self._live_task is None:
            return True
        done, _ = await asyncio.wait({self._live_task}, timeout=within_s)
        return bool(done)

    async def cut(self) -> None:
        """End it by force, its row staying as it is."""
        if self._live_task is not None:
            await cancel_and_wait(self._live_task)

    async def _live(self) -> None:
        reporting = self._tools.tasks.spawn(self._report(), f"reports of job {self.row.key.job_id}")
        try:
            if self._resumed:
                await self._confirmed()
            else:
                await self._its_turn()
            outcome = await self._work()
            end = self._end_for(outcome)
            if end is None:
                await cancel_and_wait(reporting)
                await self._leave()
            else:
                await self._finish(end, reporting)
        finally:
            if self._handling is not None:
                await cancel_and_wait(self._handling)
            await cancel_and_wait(reporting)
            self._tools.lanes.leave(self.row.key)

    async def _confirmed(self) -> None:
        """Wait until the server has answered that the claim still holds, and show it as running again."""
        await self._until(lambda: self._heard)
        if self._why is None and self.row.state is not RunState.RUNNING:
            await self._write(lambda c: server_jobs.move(c, self.row.key, RunState.RUNNING))

    async def _its_turn(self) -> None:
        """Wait, keeping the lease, where a server gave what no lane had room for (R-096)."""
        lanes, key = self._tools.lanes, self.row.key
        with lanes.watched(self._wake):
            await self._until(lambda: not lanes.is_over(key))

    async def _work(self) -> Outcome | None:
        """Run the handler, again after each time that a person had to mend something; None: stopped."""
        while self._why is None:
            outcome = await self._handle()
            if not isinstance(outcome, NeedsAttention):
                return outcome
            if self._why is None:
                await self._wait_for_person(outcome)
        return None

    async def _handle(self) -> Outcome | None:
        task = self._tools.tasks.spawn(
            outcome_of(self._handler, self._context()), f"handler of job {self.row.key.job_id}"
        )
        self._handling, self._told = task, False
        await asyncio.wait({task})
        self._handling = None
        if task.cancelled():
            return None if self._why is not None else Failed(LET_GO)
        outcome = task.result()
        if isinstance(outcome, NotHeld):
            self.stop(Why.LOST, outcome.state)
            return None
        if isinstance(outcome, (NotPaired, TokenRefused)):
            self.stop(Why.ASIDE)
            return None
        return outcome

    def _context(self) -> JobContext:
        row = self.row
        return JobContext(
            server_id=row.key.server_id,
            job_id=row.key.job_id,
            attempt=row.key.attempt,
            kind=row.kind,
            library_id=row.library_id,
            path=row.path,
            params=row.params,
            record=self._record,
            trusted=self._reporter.trusted,
        )

    def _record(self, progress: Progress) -> None:
        if self._why is None and self._handling is not None:
            progress = fitting_progress(progress)
            self._reporter.record(progress)
            self._tools.board.progress(self.row.key, progress)

    async def _wait_for_person(self, asked: NeedsAttention) -> None:
        """Leave the lane and keep the lease until somebody says “try again” (settled point 5).

        Where the handler can see for itself that it is mended, that is as good as being told.
        """
        key, error = self.row.key, fitting_error(asked.error)
        latest = self._reporter.latest
        await self._write(
            lambda c: server_jobs.move(c, key, RunState.NEEDS_ATTENTION, error=error, progress=latest)
        )
        _log.warning("Job %d needs you: %s", key.job_id, error)
        self._again, self._attention = False, True
        self._reporter.say(RunState.NEEDS_ATTENTION, error)
        self._tools.lanes.leave(key)
        looking = self._tools.tasks.spawn(self._look_for_oneself(asked), f"looking after job {key.job_id}")
        try:
            await self._until(lambda: self._again)
        finally:
            await cancel_and_wait(looking)
        self._attention = False
        if self._why is None:
            self._tools.lanes.enter(key, self.row.kind)
            await self._write(lambda c: server_jobs.move(c, key, RunState.RUNNING))
            self._reporter.say(RunState.RUNNING)
            _log.info("Job %d goes on.", key.job_id)

    async def _look_for_oneself(self, asked: NeedsAttention) -> None:
        if asked.mended is not None:
            await asked.mended()
            self.try_again()

    def _end_for(self, outcome: Outcome | None) -> End | None:
        """Decide how the claim ends; None: it does not, its row stays open.

        A job that is done is done, though somebody asked to cancel it a moment ago. A failure counts only
        where nothing stopped the handler: a refused token can look like one.
        """
        if self._why is Why.LOST:
            return self._elsewhere
        if isinstance(outcome, Done):
            return ending(outcome)
        if isinstance(outcome, Failed) and self._why is None:
            return ending(outcome)
        return End(state=RunState.CANCELLED) if self._why is Why.CANCEL else None

    async def _leave(self) -> None:
        if self._why is Why.ASIDE:
            key, latest = self.row.key, self._reporter.latest
            await self._write(lambda c: server_jobs.move(c, key, RunState.ASIDE, progress=latest))

    async def _finish(self, end: End, reporting: "asyncio.Task[None]") -> None:
        """Write the end down, then report it after the steps that are still to be told."""
        key, latest, now = self.row.key, self._reporter.latest, to_text(self._tools.clock.now())
        row = await self._write(lambda c: server_jobs.finish(c, key, end, latest, now))
        drain = end.state is not RunState.CANCELLED and self._why is None
        self._reporter.close(drain)
        if row is None or row.reported or row.state is RunState.LOST:
            return
        await asyncio.wait({reporting}, timeout=_DRAIN_S if drain else _CUT_S)
        await cancel_and_wait(reporting)
        if self._why is Why.LOST:
            await self._tools.outbox.settle(row, server_jobs.MOVED_ON)
        elif self._why is not Why.LEAVE:
            await self._tools.outbox.send(row)

    async def _report(self) -> None:
        if not self._resumed:
            await self._first_word()
            # The handler begins first; what is reported is that it has.
            await self._tools.clock.sleep(0)
        try:
            await self._reporter.run()
        except NotHeld as error:
            self.stop(Why.LOST, error.state)
        except (TokenRefused, NotPaired):
            self.stop(Why.ASIDE)

    async def _first_word(self) -> None:
        """Wait while the job waits its turn: it does not run yet, but its lease has to be kept."""
        lanes, clock = self._tools.lanes, self._tools.clock
        latest = clock.monotonic() + self._reporter.keepalive_s
        with lanes.watched(self._wake):
            while self._why is None and lanes.is_over(self.row.key):
                left = latest - clock.monotonic()
                if left <= 0:
                    return
                self._wake.clear()
                await clock.wait(self._wake, left)

    def _answered(self, answer: ReportAnswer) -> None:
        self._heard = True
        self._wake.set()
        if answer.cancel_requested:
            self.stop(Why.CANCEL)

    async def _until(self, met: Callable[[], bool]) -> None:
        """Wait until a condition is met or the claim is stopped."""
        while self._why is None and not met():
            self._wake.clear()
            await self._wake.wait()

    async def _write(self, unit: Unit[Row | None]) -> Row | None:
        """Write a transition down, trying until the disk takes it; only a stop gives that up."""
        while True:
            try:
                row = await self._tools.db.write(unit)
            except (BridgeError, sqlite3.Error) as error:
                _log.error("Job %d could not be written down: %s", self.row.key.job_id, error)
                if self._why is Why.LEAVE:
                    return None
                await self._tools.clock.wait(self._stopping(), _STORE_RETRY_S)
            else:
                if row is not None:
                    self.row = row
                    self._tools.board.put(row)
                return row

    def _stopping(self) -> asyncio.Event:
        self._wake.clear()
        return self._wake
