"""Time, as everything else may see it: one seam, so that a household can run on a virtual clock."""

import asyncio
import sys
import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """Where time comes from: `monotonic` for deadlines, `now` for people and the far side of a restart."""

    def now(self) -> datetime:
        """Return the wall-clock time, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Return seconds from an arbitrary start, never going back and counting time asleep."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait for that many seconds."""
        ...

    async def wait(self, event: asyncio.Event, seconds: float) -> bool:
        """Wait until the event is set, but no longer than `seconds`; tell whether it is set."""
        ...


def _counting_sleep() -> int | None:
    """Find the clock that goes on while the machine sleeps; `time.monotonic` stops on Linux and macOS."""
    if sys.platform == "linux":
        return getattr(time, "CLOCK_BOOTTIME", None)
    if sys.platform == "darwin":
        return time.CLOCK_MONOTONIC
    return None


class SystemClock:
    """The machine's own clock."""

    def __init__(self) -> None:
        self._id = _counting_sleep()
        self._last = 0.0

    def now(self) -> datetime:
        """Return the wall-clock time in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return seconds that count suspend too, clamped so that a broken host never sends them back."""
        reading = time.monotonic() if self._id is None else time.clock_gettime(self._id)
        self._last = max(self._last, reading)
        return self._last

    async def sleep(self, seconds: float) -> None:
        """Wait for that many seconds on the event loop."""
        await asyncio.sleep(seconds)

    async def wait(self, event: asyncio.Event, seconds: float) -> bool:
        """Wait for the event up to `seconds`; tell whether it is set."""
        try:
            async with asyncio.timeout(max(0.0, seconds)):
                await event.wait()
        except TimeoutError:
            return event.is_set()
        return True


def to_text(moment: datetime) -> str:
    """Write a moment in the one form that store and wire use: `YYYY-MM-DDTHH:MM:SS.mmmZ`."""
    moment = moment.astimezone(UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def from_text(text: str) -> datetime:
    """Read a moment that `to_text` wrote, or any RFC 3339 time with an offset.

    Raises ValueError for anything else, a time without an offset among it.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"a time without an offset: {text}")
    return moment.astimezone(UTC)


def later(moment: datetime, seconds: float) -> datetime:
    """Return the moment `seconds` after another one."""
    return moment + timedelta(seconds=seconds)


def perf() -> float:
    """Return a high-resolution reading in seconds, for telling how long something took."""
    return time.perf_counter()


def unix_time(moment: datetime) -> float:
    """Return seconds since 1970 of a moment, as file systems and headers count."""
    return moment.timestamp()
