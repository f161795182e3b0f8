"""Trying secrets: one at a time, so that the failure limit counts exactly however many come at once."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from bridge_agent.web.failures import FailureLimit

T = TypeVar("T")


class Guessing:
    """Stands before every route that takes a secret without a credential: login, device code, pairing code.

    Password checks cost memory and time on purpose; one at a time bounds what strangers make it cost.
    """

    def __init__(self, failures: FailureLimit) -> None:
        self._failures = failures
        self._one = asyncio.Lock()

    async def attempt(self, address: str, work: Awaitable[T | None]) -> T | None:
        """Await `work`; None counts as a failure of the address, anything else clears its count.

        Raises ApiError 429 `rate_limited`, without having begun the work.
        """
        try:
            async with self._one:
                self._failures.check(address)
                found = await work
                if found is None:
                    self._failures.failed(address)
                else:
                    self._failures.succeeded(address)
                return found
        finally:
            # Closed where it was never begun: refused, or its caller gone while it waited for its turn.
            if asyncio.iscoroutine(work):
                work.close()
