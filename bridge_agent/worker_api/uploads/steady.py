"""Steady time: the wall clock of the program's start, going on by the monotonic one (law 5)."""

from datetime import datetime

from bridge_agent.base.clock import Clock, from_text, later, to_text


class SteadyTime:
    """The times that leases are stored by. A wall clock that jumps ends no lease and makes none longer."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began = clock.now()
        self._at = clock.monotonic()

    def now(self) -> str:
        """Return this moment as the store writes it."""
        return to_text(self._moment())

    def later(self, seconds: float) -> str:
        """Return the moment in so many seconds, or so many ago."""
        return to_text(later(self._moment(), seconds))

    def seconds_until(self, moment: str) -> float:
        """Return how long it is until a moment of the store's, below 0 for one that is over."""
        return (from_text(moment) - self._moment()).total_seconds()

    def _moment(self) -> datetime:
        return later(self._began, self._clock.monotonic() - self._at)
