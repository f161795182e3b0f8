"""Calls that may block (files on dead mounts, keyrings) in daemon threads with a time limit (law 8)."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from bridge_agent.base.errors import BridgeError

P = ParamSpec("P")
T = TypeVar("T")


class TooManyStuck(BridgeError):
    """Too many calls to this machine's disks have not come back; check its network drives and start again."""

    code = "too_many_stuck"


class ThreadCalls:
    """Runs each call in a daemon thread of its own; a call over its limit is left behind, and counted.

    The default executor will not do: its threads are joined at exit, so one dead network mount would
    keep the process from ever ending.
    """

    def __init__(self, name: str, most_stuck: int = 16) -> None:
        self._name = name
        self._most_stuck = most_stuck
        self._stuck: set[threading.Thread] = set()

    @property
    def stuck(self) -> int:
        """How many calls have passed their limit and are still not back."""
        self._stuck = {t for t in self._stuck if t.is_alive()}
        return len(self._stuck)

    async def call(self, limit: float, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `work` in a thread and return what it returns or raise what it raises.

        Raises TimeoutError after `limit` seconds, and TooManyStuck while too many have done so.
        """
        if self.stuck >= self._most_stuck:
            raise TooManyStuck
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()

        def run() -> None:
            try:
                result = work(*args, **kwargs)
            except BaseException as error:
                _hand_over(loop, answer, None, error)
            else:
                _hand_over(loop, answer, result, None)

        thread = threading.Thread(target=run, name=self._name, daemon=True)
        thread.start()
        try:
            async with asyncio.timeout(limit):
                return await answer
        except (TimeoutError, asyncio.CancelledError):
            # `stuck` forgets it as soon as it ends after all.
            if thread.is_alive():
                self._stuck.add(thread)
            raise


def _hand_over(
    loop: asyncio.AbstractEventLoop,
    answer: "asyncio.Future[Any]",
    result: object,
    error: BaseException | None,
) -> None:
    def settle() -> None:
        if answer.done():
            return
        if error is None:
            answer.set_result(result)
        elif isinstance(error, StopIteration):
            answer.set_exception(RuntimeError("a thread call raised StopIteration"))
        else:
            answer.set_exception(error)

    # A loop that has closed meanwhile has nobody left who waits.
    if not loop.is_closed():
        try:
            loop.call_soon_threadsafe(settle)
        except RuntimeError:
            return


files = ThreadCalls("files")
"""For file-system calls."""
secrets = ThreadCalls("secrets", most_stuck=2)
"""For keyring calls."""


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a call that computes or touches local files only, without a limit."""
    return await _local.call(86_400.0, work, *args, **kwargs)


_local = ThreadCalls("local")
