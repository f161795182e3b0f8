"""The rhythm of the heartbeat: when the next beat is due, and what wakes it early."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime

from bridge_agent.base.clock import Clock, later, unix_time

SLICE_S = 5.0
"""The longest single wait: asyncio's own timers stand still while the machine sleeps."""
JUMP_S = 5.0
"""How much more than the wait may pass, on either clock, before it counts as a sleep or a set clock."""

Beat = Callable[[], Awaitable[float | None]]


class Pulse:
    """Calls `beat` when it is due. A beat returns the seconds from its begin to the next, or None to rest."""

    def __init__(
        self,
        clock: Clock,
        beat: Beat,
        jumped: Callable[[], Awaitable[bool]],
        look: Callable[[], None] = lambda: None,
    ) -> None:
        """Prepare; `jumped` is told of a sleep or clock jump and says whether to beat at once.

        `look` is called every few seconds while nothing is due.
        """
        self._clock = clock
        self._beat = beat
        self._jumped = jumped
        self._look = look
        self._due: float | None = None
        self._stir = asyncio.Event()

    @property
    def next_at(self) -> datetime | None:
        """When the next beat is due, for people; None while resting or beating."""
        if self._due is None:
            return None
        return later(self._clock.now(), max(0.0, self._due - self._clock.monotonic()))

    def now(self) -> None:
        """Beat at once, or again at once when one is under way: what it carries may be stale by now."""
        self.after(0.0)

    def after(self, seconds: float) -> None:
        """Beat that many seconds from now, whatever was planned."""
        self._due = self._clock.monotonic() + seconds
        self._stir.set()

    def rest(self) -> None:
        """Beat no more until asked."""
        self._due = None
        self._stir.set()

    async def run(self) -> None:
        """Beat for ever; ends only by cancellation or by an exception of `beat`."""
        while True:
            await self._until_due()
            began, self._due = self._clock.monotonic(), None
            pause = await self._beat()
            # Whoever asked during the beat has set a time already.
            if self._due is None and pause is not None:
                self._due = began + pause

    async def _until_due(self) -> None:
        while True:
            self._stir.clear()
            if self._due is None:
                await self._stir.wait()
                continue
            left = self._due - self._clock.monotonic()
            if left <= 0:
                return
            self._look()
            if await self._slept_on(min(left, SLICE_S)) and await self._jumped():
                return

    async def _slept_on(self, seconds: float) -> bool:
        """Wait, no longer than `seconds`; tell whether time passed that the wait does not explain."""
        wall, began = self._clock.now(), self._clock.monotonic()
        await self._clock.wait(self._stir, seconds)
        passed = self._clock.monotonic() - began
        wall_passed = unix_time(self._clock.now()) - unix_time(wall)
        return passed > seconds + JUMP_S or abs(wall_passed - passed) > JUMP_S
