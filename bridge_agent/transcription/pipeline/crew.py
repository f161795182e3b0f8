"""A run's crew: workers that do one step after the other, and what stops them."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from bridge_agent.base.clock import Clock
from bridge_agent.base.tasks import Tasks, cancel_and_wait
from bridge_agent.store.database import StoreFull
from bridge_agent.transcription.pipeline import troubles
from bridge_agent.transcription.pipeline.troubles import Trouble

REST_S = 1.0
"""Between two looks for work, where no news comes before."""
BREATH_S = 0.02
"""Between two looks for work, however often news comes: with hundreds of workers it never stops."""

_log = logging.getLogger(__name__)


class Look(NamedTuple):
    """A look for work: what the next ring after its beginning sets, and when that was (monotonic seconds)."""

    news: asyncio.Event
    at: float


class Bell:
    """News for whoever waits for some, be it ever so many."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._event = asyncio.Event()

    def ring(self) -> None:
        """Wake all who wait."""
        rung, self._event = self._event, asyncio.Event()
        rung.set()

    def look(self) -> Look:
        """Begin a look for work, so that no news falls between it and the wait that follows."""
        return Look(self._event, self._clock.monotonic())

    async def wait(self, look: Look, least_s: float = BREATH_S) -> None:
        """Wait for news since a look began: no longer than `REST_S`, and not before `least_s` after it."""
        if await self._clock.wait(look.news, REST_S):
            early = look.at + least_s - self._clock.monotonic()
            if early > 0:
                await self._clock.sleep(early)


@dataclass
class _Worker:
    run_once: Callable[[], Awaitable[bool]]
    may_go_on: Callable[[], bool]
    trouble: Trouble | None = None
    task: "asyncio.Task[None] | None" = field(default=None, repr=False)


class Crew:
    """The workers by name; each goes on until the crew is sent home."""

    def __init__(self, clock: Clock, tasks: Tasks, folder: Path, bell: Bell) -> None:
        """Have nobody yet; `folder` is where room is looked for when the store's disk is full."""
        self._clock = clock
        self._tasks = tasks
        self._folder = folder
        self._bell = bell
        self._workers: dict[str, _Worker] = {}

    def hire(self, name: str, run_once: Callable[[], Awaitable[bool]], may_go_on: Callable[[], bool]) -> None:
        """Have a worker of that name, if there is none yet; it works while it may."""
        if name not in self._workers:
            worker = self._workers[name] = _Worker(run_once, may_go_on)
            worker.task = self._tasks.spawn(self._work(name, worker), f"part worker {name}", awaited=True)

    def trouble(self, name: str) -> Trouble | None:
        """Return what a worker stands still for, if it does."""
        worker = self._workers.get(name)
        return None if worker is None else worker.trouble

    def troubled(self, names: list[str]) -> Trouble | None:
        """Return what these workers stand still for, if all of them do."""
        found = [self.trouble(name) for name in names]
        return found[0] if found and all(found) else None

    def check(self) -> None:
        """Raise what ended a worker: SourceChanged, or a mistake of the program."""
        for worker in self._workers.values():
            if worker.task is not None and worker.task.done():
                worker.task.result()

    async def close(self) -> None:
        """Send all home; each gives back first what it holds."""
        running = [worker.task for worker in self._workers.values() if worker.task is not None]
        await cancel_and_wait(*running)

    async def _work(self, name: str, worker: _Worker) -> None:
        while True:
            look = self._bell.look()
            try:
                worked = worker.may_go_on() and await worker.run_once()
            except Trouble as trouble:
                await self._stand_still(worker, trouble)
            except StoreFull as full:
                await self._stand_still(worker, troubles.disk_full(self._folder, full.message))
            else:
                if worked:
                    self._bell.ring()
                else:
                    await self._bell.wait(look)

    async def _stand_still(self, worker: _Worker, trouble: Trouble) -> None:
        worker.trouble = trouble
        self._bell.ring()
        await trouble.mended(self._clock)
        worker.trouble = None
