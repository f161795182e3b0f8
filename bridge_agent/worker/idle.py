"""Idleness: how long there has been nothing to do, or nobody to ask, and how long to rest."""

from bridge_agent.base.backoff import around
from bridge_agent.base.clock import Clock

_GROWTH = 1.5
_POLL_GROWTH = 5.0
_MOST_STEPS = 40
_NOBODY_S = 5.0
"""After so long without work, and three questions, there is none (`--idle-exit`, `--once`)."""


class Idle:
    """How long there has been nothing to do, or nobody to ask."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._empty_since: float | None = None
        self._away_since: float | None = None
        self.empty = 0
        self.away = 0

    def answered(self, *, found: bool) -> None:
        """Note an answer."""
        self.away, self._away_since = 0, None
        self.empty = 0 if found else self.empty + 1
        if found:
            self._empty_since = None
        elif self._empty_since is None:
            self._empty_since = self._clock.monotonic()

    def away_for(self) -> float:
        """Note that nobody answered; return for how long."""
        self.away += 1
        if self._away_since is None:
            self._away_since = self._clock.monotonic()
        return self._clock.monotonic() - self._away_since

    def nobody(self) -> bool:
        """Tell whether there is no work, rather than none just now."""
        since = self._empty_since
        return since is not None and self.empty >= 3 and self._clock.monotonic() - since >= _NOBODY_S

    def pause(self, first: float) -> float:
        """Return how long to rest after an empty answer: longer each time, up to a limit."""
        # A night without work is thousands of steps, more than a number can grow.
        grown = first * _GROWTH ** min(self.empty - 1, _MOST_STEPS)
        return around(min(first * _POLL_GROWTH, grown), 0.2)
