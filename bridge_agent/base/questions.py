"""Questions on their way to another machine: each has a limit, and all can be cut short at once."""

import asyncio
import contextlib
from collections.abc import AsyncIterator


class Questions:
    """Those of one client. After a sleep their connections may be dead without a word."""

    def __init__(self) -> None:
        self._asking: set[asyncio.Timeout] = set()

    @contextlib.asynccontextmanager
    async def limited(self, seconds: float) -> AsyncIterator[None]:
        """Limit a question; raises TimeoutError, at once when it is cut short."""
        async with asyncio.timeout(seconds) as asking:
            self._asking.add(asking)
            try:
                yield
            finally:
                self._asking.discard(asking)

    def cut_short(self) -> None:
        """End all of them with TimeoutError.

        To be done before a session of aiohttp is closed, which ends some of its own waits by cancelling
        whoever asked.
        """
        for asking in self._asking:
            if not asking.expired():
                asking.reschedule(0.0)
