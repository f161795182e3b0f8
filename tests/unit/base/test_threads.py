"""Calls in threads: a call over its limit is left behind and never holds anything up."""

import asyncio
import threading

import pytest

from bridge_agent.base.threads import ThreadCalls, TooManyStuck


async def test_results_and_errors_come_back():
    calls = ThreadCalls("test")
    assert await calls.call(5, lambda a, b: a + b, 2, b=3) == 5
    with pytest.raises(KeyError):
        await calls.call(5, {}.__getitem__, "x")


async def test_a_stuck_call_ends_for_its_caller_and_too_many_are_refused():
    calls = ThreadCalls("test", most_stuck=2)
    release = threading.Event()
    for _ in range(2):
        with pytest.raises(TimeoutError):
            await calls.call(0.01, release.wait)
    assert calls.stuck == 2
    with pytest.raises(TooManyStuck):
        await calls.call(5, lambda: 1)
    release.set()
    while calls.stuck:
        await asyncio.sleep(0.001)
    assert await calls.call(5, lambda: 1) == 1
