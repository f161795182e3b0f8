"""A clock that stands still until a test moves it."""

import asyncio
import heapq
from datetime import UTC, datetime, timedelta


class FakeClock:
    """Time that moves only by `advance`: sleepers whose moment has come are woken in order."""

    def __init__(self, now: datetime | None = None) -> None:
        self._start = now or datetime(2026, 1, 1, tzinfo=UTC)
        self._passed = 0.0
        self._wall_shift = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Event]] = []
        self._order = 0

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self._passed + self._wall_shift)

    def monotonic(self) -> float:
        return 1000.0 + self._passed

    async def sleep(self, seconds: float) -> None:
        await self._until(self._passed + seconds)

    async def wait(self, event: asyncio.Event, seconds: float) -> bool:
        if event.is_set():
            return True
        alarm = asyncio.ensure_future(self._until(self._passed + seconds))
        ring = asyncio.ensure_future(event.wait())
        try:
            await asyncio.wait({alarm, ring}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            alarm.cancel()
            ring.cancel()
            await asyncio.gather(alarm, ring, return_exceptions=True)
        return event.is_set()

    def set_wall(self, shift: float) -> None:
        """Put the wall clock wrong by that many seconds; monotonic time does not notice."""
        self._wall_shift = shift

    @property
    def sleepers(self) -> int:
        """How many wait for a moment to come."""
        return len(self._sleepers)

    async def advance(self, seconds: float) -> None:
        """Move time on, waking sleepers in order and letting them run."""
        end = self._passed + seconds
        await settle()
        while self._sleepers and self._sleepers[0][0] <= end:
            moment, _, alarm = heapq.heappop(self._sleepers)
            self._passed = max(self._passed, moment)
            alarm.set()
            await settle()
        self._passed = end
        await settle()

    async def _until(self, moment: float) -> None:
        if moment <= self._passed:
            await asyncio.sleep(0)
            return
        alarm = asyncio.Event()
        self._order += 1
        entry = (moment, self._order, alarm)
        heapq.heappush(self._sleepers, entry)
        try:
            await alarm.wait()
        finally:
            if entry in self._sleepers:
                self._sleepers.remove(entry)
                heapq.heapify(self._sleepers)


async def settle(turns: int = 25) -> None:
    """Let everything that can run on the loop run."""
    for _ in range(turns):
        await asyncio.sleep(0)
