"""Waiting for a library's futures, which may end as if whoever waits had been cancelled."""

import asyncio
import concurrent.futures
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


class Lost(Exception):
    """What was waited for has been given up by the library, or what it needs is gone."""


async def foreign(work: Awaitable[T]) -> T:
    """Await a library's future; raises Lost where it was cancelled, though nobody cancelled us."""
    try:
        return await work
    except (asyncio.CancelledError, concurrent.futures.CancelledError) as cancelled:
        me = asyncio.current_task()
        if me is not None and me.cancelling():
            raise
        raise Lost from cancelled
