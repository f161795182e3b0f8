"""A lease as its holder counts it: on the monotonic clock, from the begin of the request that gave it."""

from dataclasses import dataclass
from datetime import datetime

from bridge_agent.base.clock import from_text, unix_time
from bridge_agent.protocol.leases import Trust

_SHARE = 0.45
_LEAST_S = 0.1
_LONGEST_S = 86_400.0


@dataclass(frozen=True)
class Lease:
    """`rest` seconds from `began` (monotonic), with a beat at least every `interval` seconds."""

    began: float
    rest: float
    interval: float

    @property
    def beat_at(self) -> float:
        """When the next heartbeat is due: before half of the rest is gone."""
        return self.began + max(_LEAST_S, min(self.interval, self.rest * _SHARE))

    def trusted(self, monotonic: float) -> bool:
        """Tell whether the holder may still believe in it (law 5)."""
        return Trust.from_request(self.began, self.rest).holds(monotonic)


def seconds_left(expires: str, theirs: datetime | None, ours: datetime) -> float | None:
    """Return how many seconds a lease has left, never more than it has; None where that can't be told.

    By the coordinator's own clock where its answer names a time, since this machine's may be wrong.
    """
    try:
        end = unix_time(from_text(expires))
    except (ValueError, OverflowError):
        return None
    left = end - unix_time(theirs or ours)
    if theirs is not None:
        # The header is cut to whole seconds: it is up to one later there by now.
        left = max(left - 1.0, left / 2)
    return left if 0 < left <= _LONGEST_S else None
