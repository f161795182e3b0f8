"""Calls that may block (files on dead mounts, keyrings) in daemon threads with a time limit (law 8)."""

import asyncio
import functools
import queue
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
    """Runs calls in daemon threads, as many at once as there are; a call over its limit is left behind.

    The default executor will not do: its threads are joined at exit, so one dead network mount would
    keep the process from ever ending, and its few threads would all hang on that mount. A thread that has
    nothing to do waits a while for the next call, since making one costs more than most calls.
    """

    def __init__(self, name: str, most_stuck: int = 16, idle_s: float = 10.0) -> None:
        """Have no thread yet; one ends after `idle_s` seconds without a call."""
        self._name = name
        self._most_stuck = most_stuck
        self._idle_s = idle_s
        self._idle: list[_Hand] = []
        self._turn = threading.Lock()
        self._stuck: set[_Call] = set()

    @property
    def stuck(self) -> int:
        """How many calls with a limit were left behind, by it or by their caller, and are still not back."""
        if self._stuck:
            self._stuck = {call for call in self._stuck if not call.over}
        return len(self._stuck)

    async def call(self, limit: float | None, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `work` in a thread and return what it returns or raise what it raises.

        Raises TimeoutError after `limit` seconds (None: never), and TooManyStuck while too many are stuck.
        """
        if self.stuck >= self._most_stuck:
            raise TooManyStuck
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        call = _Call(loop, answer, functools.partial(work, *args, **kwargs))
        self._hand_to_somebody(call)
        if limit is None:
            # Nobody expects such a call to hang: one that is left behind comes back soon.
            return await answer
        try:
            async with asyncio.timeout(limit):
                return await answer
        except (TimeoutError, asyncio.CancelledError):
            # One whose caller has left may hang all the same. `stuck` forgets it as soon as it ends.
            if not call.over:
                self._stuck.add(call)
            raise

    def _hand_to_somebody(self, call: "_Call") -> None:
        with self._turn:
            hand = self._idle.pop() if self._idle else None
        if hand is None:
            hand = _Hand(self._name, self._idle, self._turn, self._idle_s)
            hand.start()
        hand.calls.put(call)


class _Call:
    """A call on its way, and whether it is over."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, answer: "asyncio.Future[Any]", work: Callable[[], object]
    ) -> None:
        self._loop = loop
        self._answer = answer
        self._work = work
        self.over = False

    def run(self) -> tuple[object, BaseException | None]:
        try:
            return self._work(), None
        except BaseException as error:
            return None, error

    def told(self, result: object, error: BaseException | None) -> None:
        self.over = True
        _hand_over(self._loop, self._answer, result, error)


class _Hand(threading.Thread):
    """A thread that does one call after the other, and ends when nobody has had one for it for a while."""

    def __init__(self, name: str, idle: "list[_Hand]", turn: threading.Lock, idle_s: float) -> None:
        super().__init__(name=name, daemon=True)
        self.calls: queue.SimpleQueue[_Call] = queue.SimpleQueue()
        self._idle = idle
        self._turn = turn
        self._idle_s = idle_s

    def run(self) -> None:
        while (call := self._next()) is not None:
            outcome = call.run()
            # Before anybody hears of the end: the call that then follows finds this thread idle.
            with self._turn:
                self._idle.append(self)
            call.told(*outcome)
            del call, outcome

    def _next(self) -> _Call | None:
        try:
            return self.calls.get(timeout=self._idle_s)
        except queue.Empty:
            with self._turn:
                if self in self._idle:
                    self._idle.remove(self)
                    return None
        # Somebody has chosen this thread just now.
        return self.calls.get()


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
    return await _local.call(None, work, *args, **kwargs)


_local = ThreadCalls("local")
