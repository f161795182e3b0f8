"""Tasks that somebody answers for: tracked, named, shielded where they must end, drained at the stop."""

import asyncio
import logging
from collections.abc import Awaitable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_log = logging.getLogger(__name__)


class Tasks:
    """A set of running tasks with one owner. An exception that nobody awaits is logged, never lost."""

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._running: set[asyncio.Task[Any]] = set()

    def __len__(self) -> int:
        return len(self._running)

    def spawn(self, work: Coroutine[Any, Any, T], name: str, *, awaited: bool = False) -> asyncio.Task[T]:
        """Start a coroutine as a task that this set keeps alive and answers for.

        The exception of an `awaited` one is its waiter's to tell; any other is logged.
        """
        task = asyncio.create_task(work, name=f"{self._owner}: {name}")
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        if not awaited:
            task.add_done_callback(_log_failure)
        return task

    async def shielded(self, work: Coroutine[Any, Any, T], name: str) -> T:
        """Run work that must end even when the one who waits for it is cancelled (law 3)."""
        task = self.spawn(work, name, awaited=True)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(_log_failure)
            raise

    async def drain(self, seconds: float) -> bool:
        """Wait for what runs, up to `seconds`, then cancel the rest; tell whether all ended by itself."""
        running = [t for t in self._running if t is not asyncio.current_task()]
        if not running:
            return True
        _, late = await asyncio.wait(running, timeout=seconds)
        await cancel_and_wait(*late)
        return not late

    async def cancel(self) -> None:
        """Cancel all that runs and wait for its end."""
        await cancel_and_wait(*(t for t in self._running if t is not asyncio.current_task()))


def _log_failure(task: "asyncio.Task[Any]") -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.error("%s stopped: %s", task.get_name(), error, exc_info=error)


async def cancel_and_wait(*tasks: "asyncio.Task[Any]") -> None:
    """Cancel tasks and wait until each has ended, whatever it ends with."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.gather(*tasks, return_exceptions=True)


async def within(seconds: float, work: Awaitable[T]) -> T:
    """Await work with a limit in seconds; raises TimeoutError."""
    async with asyncio.timeout(seconds):
        return await work
