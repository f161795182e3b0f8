"""The jobs of this Bridge as page and app see them; and what follows when the link comes or goes."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

from bridge_agent.base.clock import Clock, to_text
from bridge_agent.base.loops import Loops
from bridge_agent.base.tasks import Tasks, cancel_and_wait
from bridge_agent.jobs import server_jobs
from bridge_agent.jobs.board import RECENT, Board
from bridge_agent.jobs.claiming import ClaimLoop
from bridge_agent.jobs.errors import Finished, NoSuchJob, NotWaiting
from bridge_agent.jobs.handlers.base import Handler
from bridge_agent.jobs.lanes import Lanes
from bridge_agent.jobs.outbox import Outbox
from bridge_agent.jobs.post import Post
from bridge_agent.jobs.reporter import Rhythm
from bridge_agent.jobs.runner import Tools, Why
from bridge_agent.jobs.runs import Runs
from bridge_agent.jobs.server_jobs import MOST_ROWS, Cursor, End
from bridge_agent.link.link import Link
from bridge_agent.protocol.bridge import MAX_WAIT_S
from bridge_agent.protocol.states import RunState
from bridge_agent.settings import BridgeSettings
from bridge_agent.store import Database

_log = logging.getLogger(__name__)

_LOOP = "jobs"
_STORE_RETRY_S = 5.0
_SETTLE_S = 3.0
KEEP_ROWS = 1000
KEEP_DAYS = 90


@dataclass(frozen=True)
class _News:
    """What the link said, and as how many-th news of its going down it was current."""

    downs: int
    server_id: str | None
    """The server that is ready; None: the link is down."""


class Jobs:
    """Claims, runs and reports; the facade of this package."""

    def __init__(
        self,
        settings: BridgeSettings,
        clock: Clock,
        db: Database,
        link: Link,
        handlers: Sequence[Handler],
        loops: Loops,
        tasks: Tasks,
    ) -> None:
        """Prepare; nothing runs before `start`, and no job before the link is ready (R-048)."""
        self._clock = clock
        self._db = db
        self._link = link
        self._loops = loops
        self._tasks = tasks
        self._board = Board()
        enabled = [h for h in handlers if h.kind not in settings.disabled_kinds]
        self._lanes = Lanes(enabled)
        self._post = Post(link)
        self._outbox = Outbox(
            db, clock, self._post, self._board, settings.unreported_retry_seconds, loops, tasks
        )
        rhythm = Rhythm(settings.report_seconds, settings.keepalive_seconds)
        tools = Tools(db, clock, self._board, self._lanes, self._outbox, self._post, rhythm, tasks)
        self._runs = Runs(enabled, settings.disabled_kinds, tools)
        # A server waits no longer: what came sooner than asked for would look early.
        wait_s = min(settings.claim_wait_seconds, MAX_WAIT_S)
        self._claims = ClaimLoop(db, clock, link, self._post, self._lanes, self._runs, wait_s, loops, tasks)
        self._lanes.on_change = self._claims.nudge
        self._news: asyncio.Queue[_News] = asyncio.Queue()
        self._downs = 0
        self._loops_running: list[asyncio.Task[None]] = []
        self.kinds = [h.kind for h in enabled]
        """The kinds that this Bridge runs, as the heartbeat names them (R-036)."""

    @property
    def on_change(self) -> Callable[[dict[str, Any]], None]:
        """What is called with a job, in the wire's shape, after each visible change of it."""
        return self._board.on_change

    @on_change.setter
    def on_change(self, hear: Callable[[dict[str, Any]], None]) -> None:
        self._board.on_change = hear

    # ---- life

    async def start(self) -> None:
        """Show what the store holds and begin the loops; jobs go on when the link is ready."""
        open_rows = await self._db.read(server_jobs.all_open)
        ended = await self._db.read(lambda c: server_jobs.ended(c, RECENT))
        self._board.load(open_rows, ended)
        self._link.listeners.append(self)
        if self._link.ready.is_set() and self._link.server_id:
            self.link_ready(self._link.server_id)
        self._loops_running = [
            self._tasks.spawn(self._watched("jobs", self._follow()), "link news"),
            self._tasks.spawn(self._watched("claims", self._claims.run()), "claims"),
            self._tasks.spawn(self._watched("outbox", self._outbox.run()), "outbox"),
        ]

    async def stop(self) -> None:
        """Take no more work, let handlers stop, leave the rows as they are for the next start (R-078)."""
        if self in self._link.listeners:
            self._link.listeners.remove(self)
        loops, self._loops_running = self._loops_running, []
        await cancel_and_wait(*loops)
        await asyncio.gather(self._runs.let_go(), self._outbox.stop())

    async def forget_old(self) -> int:
        """Drop history beyond 1,000 rows or 90 days, of what ended and was answered; return how much."""
        before = to_text(self._clock.now() - timedelta(days=KEEP_DAYS))
        return await self._db.write(lambda c: server_jobs.forget(c, before, KEEP_ROWS))

    # ---- what the link tells (LinkListener)

    def link_ready(self, server_id: str) -> None:
        """A heartbeat went through: resume what this server gave, then claim (R-048, R-086)."""
        self._news.put_nowait(_News(self._downs, server_id))
        self._claims.link_changed()

    def link_down(self, why: Literal["refused", "unpaired"]) -> None:
        """The token is refused or gone: stop every handler where it is, report nothing (R-087)."""
        self._downs += 1
        self._post.close()
        self._claims.nudge()
        self._runs.stop_all(Why.ASIDE)
        self._news.put_nowait(_News(self._downs, None))

    def link_changed(self) -> None:
        """Something of the link looks different: a heartbeat passed, perhaps the first after a sleep."""
        self._claims.link_changed()
        self._runs.nudge()
        self._outbox.nudge()

    async def settled(self) -> None:
        """Wait until what the link told last is done, as far as handlers let go soon."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_SETTLE_S):
                await self._news.join()

    async def _follow(self) -> None:
        """Do what the link's news ask for, one after the other."""
        while True:
            self._loops.say(_LOOP, "Follows the link.")
            news = await self._news.get()
            while not await self._followed(news):
                await self._clock.sleep(_STORE_RETRY_S)
            self._news.task_done()

    async def _followed(self, news: _News) -> bool:
        try:
            async with self._runs.order:
                if news.server_id is None:
                    await self._went_down()
                else:
                    await self._became_ready(news, news.server_id)
        except Exception as error:
            # Above all a full disk. What is asked for here must happen some time, whatever is in its way.
            _log.error("What the link's news ask for could not be done: %s", error, exc_info=error)
            self._loops.say(_LOOP, f"Something is in the way ({error}); tries again by itself.")
            return False
        return True

    async def _went_down(self) -> None:
        await self._runs.all_ended()
        self._board.put_all(await self._db.write(server_jobs.put_all_aside))

    async def _became_ready(self, news: _News, server_id: str) -> None:
        self._runs.stop_all(Why.ASIDE, except_server=server_id)
        await self._runs.all_ended(except_server=server_id)
        now = to_text(self._clock.now())
        self._board.put_all(await self._db.write(lambda c: server_jobs.pair_with(c, server_id, now)))
        rows = await self._db.read(lambda c: server_jobs.open_of(c, server_id))
        if news.downs != self._downs:
            # It went down again meanwhile; that news is waiting, and so is the one of its return, if any.
            return
        self._post.open(server_id)
        await self._runs.resume(rows)
        await self._outbox.open(server_id)
        if self._post.server_id == server_id:
            self._post.claiming = True
            self._claims.nudge()

    async def _watched(self, name: str, loop: Coroutine[Any, Any, None]) -> None:
        try:
            await loop
        except Exception as error:
            _log.exception("The loop “%s” broke.", name)
            self._loops.broke(name, f"It broke ({type(error).__name__}); start the Bridge again.")

    # ---- what the page asks

    def view(self) -> dict[str, Any]:
        """Return the open jobs, and those that ended last, newest first."""
        return {"running": self._board.running(), "recent": self._board.recent()}

    def lanes(self) -> list[dict[str, Any]]:
        """Return each lane's name, limit, how many run in it, and its kinds."""
        return self._lanes.view()

    async def history(
        self, state: str | None = None, before: str | None = None, limit: int = 50
    ) -> dict[str, Any]:
        """Return `{jobs, next_before}`, newest first, of one state if asked for.

        Raises BadCursor for a `before` that is none, ValueError for an unknown state.
        """
        wanted = None if state is None else RunState(state)
        place = None if before is None else Cursor.parse(before)
        most = max(1, min(limit, MOST_ROWS))
        rows, following = await self._db.read(lambda c: server_jobs.history(c, wanted, place, most))
        return {
            "jobs": [self._board.live(row).wire() for row in rows],
            "next_before": None if following is None else str(following),
        }

    async def get(self, server_id: str, job_id: int) -> dict[str, Any] | None:
        """Return a job's latest attempt with all of them under `attempts`, or None."""
        rows = await self._db.read(lambda c: server_jobs.attempts(c, server_id, job_id))
        if not rows:
            return None
        shown = [self._board.live(row).wire() for row in rows]
        return {**shown[0], "attempts": shown}

    async def cancel(self, server_id: str, job_id: int) -> None:
        """Stop a job that is open here; it is reported as cancelled (R-077). Raises NoSuchJob, Finished."""
        runner = self._runs.find(server_id, job_id)
        if runner is not None and runner.row.open:
            runner.stop(Why.CANCEL)
            return
        async with self._runs.order:
            # Nothing is resumed meanwhile; what was resumed before is stopped like any other.
            runner = self._runs.find(server_id, job_id)
            if runner is not None and runner.row.open:
                runner.stop(Why.CANCEL)
            else:
                await self._cancel_row(server_id, job_id)

    async def _cancel_row(self, server_id: str, job_id: int) -> None:
        rows = await self._db.read(lambda c: server_jobs.attempts(c, server_id, job_id))
        if not rows:
            raise NoSuchJob
        key, now = rows[0].key, to_text(self._clock.now())
        end = End(state=RunState.CANCELLED)
        row = await self._db.write(lambda c: server_jobs.finish(c, key, end, None, now))
        if row is None:
            raise Finished
        self._board.put(row)
        self._tasks.spawn(self._outbox.send(row), f"cancel of job {job_id}")

    async def resume(self, server_id: str, job_id: int) -> None:
        """Let a job that needs attention try again now; raises NoSuchJob, Finished, NotWaiting."""
        runner = self._runs.find(server_id, job_id)
        if runner is not None and runner.try_again():
            return
        job = await self.get(server_id, job_id)
        if job is None:
            raise NoSuchJob
        raise Finished if job["finished_at"] is not None else NotWaiting
