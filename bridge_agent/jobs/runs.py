"""All claims that are held in memory: begun, resumed, put aside and let go, one change at a time."""

import asyncio
import logging
import sqlite3
from collections.abc import Collection, Iterable

from bridge_agent.base.clock import to_text
from bridge_agent.jobs import claim_ids, server_jobs
from bridge_agent.jobs.handlers.base import Handler
from bridge_agent.jobs.runner import Runner, Tools, Why
from bridge_agent.jobs.server_jobs import Begun, End, Key, Row
from bridge_agent.link.errors import NotPaired
from bridge_agent.protocol.bridge import ClaimedJob
from bridge_agent.protocol.states import RunState

_log = logging.getLogger(__name__)

_AT_STOP_S = 6.0
"""How long handlers may take to let go when the Bridge stops (law 9: under 8 s in all)."""


class Runs:
    """The runners, by their claims. `order` is held by whoever changes which of them there are."""

    def __init__(self, handlers: Iterable[Handler], disabled: Collection[str], tools: Tools) -> None:
        self._handlers = {h.kind: h for h in handlers if h.kind not in disabled}
        self._disabled = frozenset(disabled)
        self._tools = tools
        self._running: dict[Key, Runner] = {}
        self.order = asyncio.Lock()

    def __contains__(self, key: Key) -> bool:
        return key in self._running

    def find(self, server_id: str, job_id: int) -> Runner | None:
        """Return the runner of a job's latest attempt, where one runs."""
        keys = [key for key in self._running if key[:2] == (server_id, job_id)]
        return self._running[max(keys)] if keys else None

    def nudge(self) -> None:
        """Let every reporter look at the clock: after a sleep its signs of life are due at once (law 5)."""
        for runner in self._running.values():
            runner.nudge()

    async def take(self, server_id: str, job: ClaimedJob) -> bool:
        """Write a claim down and run it; tell whether it was new.

        Raises NotPaired where the link has gone meanwhile, StoreFull and the like where it can't be written
        down: nothing runs then, and the server gives the job again to whoever repeats the claim's id.
        """
        async with self.order:
            if not self._tools.post.reaches(server_id):
                raise NotPaired
            await self._end_earlier(server_id, job)
            now = to_text(self._tools.clock.now())

            def unit(c: sqlite3.Connection) -> Begun:
                claim_ids.drop(c)
                return server_jobs.begin(c, server_id, job, now)

            begun = await self._tools.db.write(unit)
            self._tools.board.put_all(begun.outdated)
            if begun.row is None:
                _log.info("The server gave job %d again, which is here already.", job.id)
                return False
            self._tools.board.put(begun.row)
            await self._start(begun.row, job.lease_seconds, resumed=False)
            return True

    async def resume(self, rows: Iterable[Row]) -> None:
        """Take up rows that were left open, under their own claims (R-079); `order` is held."""
        for row in rows:
            if row.key not in self._running:
                await self._start(row, None, resumed=True)

    def stop_all(self, why: Why, except_server: str | None = None) -> None:
        """Tell every runner to stop, those of one server apart; returns at once."""
        for runner in list(self._running.values()):
            if runner.row.key.server_id != except_server:
                runner.stop(why)

    async def all_ended(self, except_server: str | None = None) -> None:
        """Wait until every runner has ended, those of one server apart."""
        for runner in list(self._running.values()):
            if runner.row.key.server_id != except_server:
                await runner.ended()

    async def let_go(self) -> None:
        """Stop all handlers and leave the rows as they are; those that do not let go in time are cut."""
        self.stop_all(Why.LEAVE)
        runners = list(self._running.values())
        ends = await asyncio.gather(*(runner.ended(_AT_STOP_S) for runner in runners))
        for runner, ended in zip(runners, ends, strict=True):
            if not ended:
                _log.warning("%r did not let go in time.", runner)
                await runner.cut()

    async def _start(self, row: Row, lease_seconds: float | None, resumed: bool) -> None:
        handler = self._handlers.get(row.kind)
        if handler is None:
            await self._fail(row)
        elif self._tools.post.reaches(row.key.server_id):
            runner = Runner(row, handler, self._tools, lease_seconds, resumed)
            self._running[row.key] = runner
            runner.start(self._forget)

    def _forget(self, runner: Runner) -> None:
        if self._running.get(runner.row.key) is runner:
            del self._running[runner.row.key]

    async def _end_earlier(self, server_id: str, job: ClaimedJob) -> None:
        """Stop earlier attempts of a job: the server has given it out again, so they are lost."""
        earlier = [
            runner
            for key, runner in self._running.items()
            if key[:2] == (server_id, job.id) and key.attempt < job.attempt
        ]
        for runner in earlier:
            runner.stop(Why.LOST, "claimed")
            await runner.ended()

    async def _fail(self, row: Row) -> None:
        """Fail a claim that nothing here runs (R-082, R-096)."""
        end = End(state=RunState.FAILED, error=self._no_handler(row.kind))
        now = to_text(self._tools.clock.now())
        failed = await self._tools.db.write(lambda c: server_jobs.finish(c, row.key, end, None, now))
        if failed is not None:
            self._tools.board.put(failed)
            self._tools.tasks.spawn(self._tools.outbox.send(failed), f"failure of job {row.key.job_id}")

    def _no_handler(self, kind: str) -> str:
        if kind in self._disabled:
            return (
                f"Jobs of the kind {kind} are switched off on this Bridge (BRIDGE_DISABLED_KINDS); switch "
                "them on there, then queue the job anew."
            )
        return f"This Bridge can’t run jobs of the kind {kind}; update it, then queue the job anew."
