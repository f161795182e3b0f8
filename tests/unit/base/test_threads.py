"""Calls in threads: a call over its limit is left behind and never holds anything up."""

import asyncio
import threading

import pytest

from bridge_agent.base.tasks import cancel_and_wait
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


async def test_a_call_without_a_limit_that_nobody_waits_for_any_more_is_not_stuck():
    calls = ThreadCalls("test", most_stuck=2)
    release = threading.Event()
    left = [asyncio.create_task(calls.call(None, release.wait)) for _ in range(3)]
    await asyncio.sleep(0)
    await cancel_and_wait(*left)
    assert all(task.cancelled() for task in left)
    assert calls.stuck == 0
    assert await calls.call(5, lambda: 1) == 1
    release.set()


async def test_a_call_with_a_limit_that_nobody_waits_for_any_more_may_hang_and_counts():
    calls = ThreadCalls("test", most_stuck=1)
    release = threading.Event()
    left = asyncio.create_task(calls.call(60, release.wait))
    await asyncio.sleep(0)
    await cancel_and_wait(left)
    assert calls.stuck == 1
    with pytest.raises(TooManyStuck):
        await calls.call(5, lambda: 1)
    release.set()


async def test_calls_in_a_row_are_done_by_one_thread_and_calls_at_once_by_several():
    calls = ThreadCalls("test")
    in_a_row = {await calls.call(5, threading.get_ident) for _ in range(20)}
    assert len(in_a_row) == 1
    together = threading.Barrier(3)

    def meet() -> int:
        together.wait(5)
        return threading.get_ident()

    assert len(set(await asyncio.gather(*(calls.call(5, meet) for _ in range(3))))) == 3


async def test_a_stuck_call_keeps_its_thread_to_itself():
    calls = ThreadCalls("test")
    release = threading.Event()
    with pytest.raises(TimeoutError):
        await calls.call(0.01, release.wait)
    assert await calls.call(5, lambda: "done") == "done"
    assert calls.stuck == 1
    release.set()


async def test_threads_without_a_call_end_and_the_next_call_has_a_new_one():
    calls = ThreadCalls("test that ends", idle_s=0.0)
    for number in range(5):
        assert await calls.call(5, lambda given=number: given) == number
    while any(thread.name == "test that ends" for thread in threading.enumerate()):
        await asyncio.sleep(0.001)
    assert await calls.call(5, threading.get_ident) != threading.get_ident()
