"""Damping: an address that is refused again and again is told to wait. The right token always works there."""

from collections import OrderedDict, deque

from bridge_agent.base.clock import Clock
from bridge_agent.web.addresses import counted_as

MOST = 20
WINDOW_S = 10.0
LONGEST_WAIT_S = 60.0
_MOST_ADDRESSES = 10_000


class Damping:
    """Counts refusals by address, those of both wires together."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._refusals: OrderedDict[str, tuple[deque[float], float]] = OrderedDict()

    def refused(self, address: str) -> float | None:
        """Count a refusal; return the seconds to wait where there were too many lately, else None.

        The wait grows for as long as somebody goes on without waiting: a tenth with each refusal.
        """
        key, now = counted_as(address), self._clock.monotonic()
        moments, wait = self._refusals.get(key, (deque(maxlen=MOST), WINDOW_S))
        too_many = len(moments) == MOST and now - moments[0] < WINDOW_S
        moments.append(now)
        following = min(LONGEST_WAIT_S, wait * 1.1) if too_many else WINDOW_S
        self._refusals[key] = (moments, following)
        self._refusals.move_to_end(key)
        while len(self._refusals) > _MOST_ADDRESSES:
            self._refusals.popitem(last=False)
        return wait if too_many else None
