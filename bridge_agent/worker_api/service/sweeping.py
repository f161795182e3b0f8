"""Sweeping: claims whose time is over are free for others, whatever the wall clock says (law 5)."""

import asyncio
import logging
from collections.abc import Callable
from functools import partial

from bridge_agent.base.clock import Clock, from_text, to_text
from bridge_agent.transcription.pipeline import leases
from bridge_agent.transcription.pipeline.pipeline import Pipeline
from bridge_agent.transcription.pipeline.tasks import Task
from bridge_agent.worker_api.service.holds import Holds
from bridge_agent.worker_api.service.lease import HOLDERS
from bridge_agent.worker_api.service.watching import Watching

_LOOK_S = 1.0
"""Between two looks while somebody holds something; nobody looks otherwise."""
_COMPARE_S = 5.0
"""Between two looks at the store: a book that was cancelled leaves its workers' hands empty."""

_log = logging.getLogger(__name__)


class Sweeping:
    """Looks after the holds; none of them lives longer than `longest_s` without a sign of life."""

    def __init__(
        self, clock: Clock, pipeline: Pipeline, holds: Holds, watching: Watching, longest_s: float
    ) -> None:
        self._clock = clock
        self._pipeline = pipeline
        self._desk = pipeline.desk
        self._holds = holds
        self._watching = watching
        self._longest_s = longest_s
        self._news = asyncio.Event()
        self._compared_at = clock.monotonic()

    def news(self) -> None:
        """Somebody holds something."""
        self._news.set()

    async def load(self) -> None:
        """Take over the holds of an earlier life: what the wall clock says is left of each is left.

        That is never more than a claim has at its longest, however wrong that clock was or is.
        """
        now = self._clock.now()
        for task in await self._held():
            left = (from_text(task.claim_ends_at or to_text(now)) - now).total_seconds()
            self._holds.keep(task, min(max(0.0, left), self._longest_s))
            self.news()

    async def go_on(self, changed: Callable[[], None]) -> None:
        """Look now and then, for as long as the program lives."""
        while True:
            await self._news.wait()
            self._news.clear()
            while len(self._holds):
                await self._clock.sleep(_LOOK_S)
                try:
                    if await self.look():
                        changed()
                except Exception as error:
                    # A disk that is full now is looked at again in a second; leases must not stand still.
                    _log.warning("Looking after the workers’ parts failed: %s", error)

    async def look(self) -> bool:
        """Let go of what is over; tell whether there was any."""
        found = False
        for hold in self._holds.over():
            # The writes before this one took their time: its worker may have been heard of meanwhile.
            if not self._holds.has(hold):
                continue
            now = to_text(self._clock.now())
            await self._desk.write(partial(leases.lapse, mine=hold.task.claim, now=now))
            if not self._holds.has(hold):
                continue
            found = hold.lapsed = True
            self._watching.let_go(hold.task)
            _log.info(
                "The worker that held part %d has not been heard of; the part is free.", hold.task.number
            )
        if self._clock.monotonic() - self._compared_at >= _COMPARE_S:
            self._compared_at = self._clock.monotonic()
            return await self._compare() or found
        return found

    async def _compare(self) -> bool:
        before = self._holds.all()
        held = {task.id: task.claim for task in await self._held()}
        gone = [hold for hold in before if held.get(hold.task.id) != hold.task.claim]
        for hold in gone:
            if self._holds.drop_this(hold):
                self._watching.let_go(hold.task)
        return bool(gone)

    async def _held(self) -> list[Task]:
        return await self._desk.read(lambda c: leases.held(c, HOLDERS + "*"))
