"""A moment as a unit of work needs it: its text for people, its monotonic seconds for deadlines (law 5)."""

from dataclasses import dataclass
from datetime import datetime

from bridge_agent.base.clock import Clock, from_text, later, to_text

_EARLY = 1e-6
"""A deadline counts as reached this many seconds early, so that rounding never hides one that is due."""


@dataclass(frozen=True)
class Moment:
    """Wall time and monotonic time, read together."""

    wall: datetime
    seconds: float

    @classmethod
    def of(cls, clock: Clock) -> "Moment":
        """Read both times of a clock."""
        return cls(clock.now(), clock.monotonic())

    @property
    def text(self) -> str:
        """The wall time as store and wire write it."""
        return to_text(self.wall)

    @property
    def due(self) -> float:
        """The monotonic seconds up to which a deadline counts as reached."""
        return self.seconds + _EARLY

    def text_after(self, seconds: float) -> str:
        """Return the wall time that many seconds on."""
        return to_text(later(self.wall, seconds))

    def reached_again(self, text: str, most: float) -> float:
        """Return the monotonic deadline of a wall time from before a restart, at most `most` seconds on."""
        left = (from_text(text) - self.wall).total_seconds()
        return self.seconds + min(max(left, 0.0), most)

    def seen_again(self, text: str) -> float:
        """Return the monotonic seconds of a wall time that lies behind us; one ahead counts as now."""
        ago = (self.wall - from_text(text)).total_seconds()
        return self.seconds - max(ago, 0.0)
