"""The failure limit: so many wrong secrets from one address, then a pause."""

from collections import OrderedDict, deque

from bridge_agent.base.clock import Clock
from bridge_agent.web.addresses import counted_as
from bridge_agent.web.errors import ApiError

_MOST_ADDRESSES = 10_000


class FailureLimit:
    """Counts failures by address within a sliding window; a success clears the address's count."""

    def __init__(self, clock: Clock, most: int = 10, window_s: float = 900.0) -> None:
        self._clock = clock
        self._most = most
        self._window = window_s
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()

    def check(self, address: str) -> None:
        """Raise ApiError 429 `rate_limited` while the address has failed too often."""
        moments = self._recent(counted_as(address))
        if len(moments) >= self._most:
            wait = moments[0] + self._window - self._clock.monotonic()
            raise ApiError(
                429,
                "rate_limited",
                "Too many wrong tries from this address; wait a while, then try again.",
                retry_after=wait,
            )

    def failed(self, address: str) -> None:
        """Count a failure."""
        key = counted_as(address)
        moments = self._recent(key)
        moments.append(self._clock.monotonic())
        self._failures[key] = moments
        self._failures.move_to_end(key)
        while len(self._failures) > _MOST_ADDRESSES:
            self._failures.popitem(last=False)

    def succeeded(self, address: str) -> None:
        """Forget the address's failures."""
        self._failures.pop(counted_as(address), None)

    def _recent(self, key: str) -> deque[float]:
        moments = self._failures.get(key, deque())
        start = self._clock.monotonic() - self._window
        while moments and moments[0] <= start:
            moments.popleft()
        return moments
