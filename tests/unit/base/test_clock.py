"""Times as text, and the clock that a test moves."""

import asyncio
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge_agent.base.clock import SystemClock, from_text, to_text


def test_a_moment_is_written_in_utc_with_milliseconds():
    moment = datetime(2026, 7, 1, 14, 5, 6, 789999, tzinfo=timezone(timedelta(hours=2)))
    assert to_text(moment) == "2026-07-01T12:05:06.789Z"


@given(st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(2200, 1, 1)))
def test_text_sorts_as_time_does_and_reads_back(naive):
    moment = naive.replace(tzinfo=UTC)
    read = from_text(to_text(moment))
    assert timedelta(0) <= moment - read < timedelta(milliseconds=1)
    assert to_text(moment + timedelta(milliseconds=1)) > to_text(moment)


def test_a_time_without_an_offset_is_refused():
    with pytest.raises(ValueError, match="without an offset"):
        from_text("2026-07-01T12:05:06")


async def test_waiting_ends_with_the_event_or_with_the_time(clock):
    event = asyncio.Event()
    waiting = asyncio.create_task(clock.wait(event, 10))
    await clock.advance(9)
    assert not waiting.done()
    await clock.advance(2)
    assert await waiting is False
    waiting = asyncio.create_task(clock.wait(event, 10))
    await clock.advance(1)
    event.set()
    assert await waiting is True


async def test_the_system_clock_waits_for_real_and_never_goes_back():
    clock = SystemClock()
    first = clock.monotonic()
    assert await clock.wait(asyncio.Event(), 0.001) is False
    assert clock.monotonic() >= first
    assert clock.now().tzinfo is UTC
