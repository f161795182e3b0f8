"""A run's crew: workers that do one step after the other, and what stops them."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from bridge_agent.base.clock import Clock
from bridge_agent.base.tasks import Tasks, cancel_and_wait
from bridge_agent.store.database import StoreFull
from bridge_agent.transcription.pipeline import troubles
from bridge_agent.transcription.pipeline.troubles import Trouble

REST_S = 1.0
"""Between two looks for work, where no news comes before."""

_log = logging.getLogger(__name__)


class Bell:
    """News for whoever waits for some, be it ever so many."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._event = asyncio.Event()

    def ring(self) -> None:
        """Wake all who wait."""
        rung, self._event = self._event, asyncio.Event()
        rung.set()

    def listen(self) -> asyncio.Event:
        """Return what the next ring sets; taken before a look, so that no news falls in between."""
        return self._event

    async def wait(self, news: asyncio.Event) -> None:
        """Wait for news, but no longer than `REST_S`."""
        await self._clock.wait(news, REST_S)


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
            news = self._bell.listen()
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
                    await self._bell.wait(news)

    async def _stand_still(self, worker: _Worker, trouble: Trouble) -> None:
        worker.trouble = trouble
        self._bell.ring()
        await trouble.mended(self._clock)
        worker.trouble = None
