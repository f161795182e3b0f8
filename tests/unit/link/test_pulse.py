"""The rhythm by itself: due times, requests in between, sleeps and clocks that are set."""

import asyncio

import pytest

from bridge_agent.base.clock import SystemClock
from bridge_agent.link.pulse import SLICE_S, Pulse
from tests.fakes.clock import settle


class Rhythm:
    """A pulse that writes down when it beat."""

    def __init__(self, clock, beat_after_jump: bool = True, takes: float = 0.0, every: float = 30.0) -> None:
        self.clock = clock
        self.moments: list[float] = []
        self.jumps = 0
        self.looks = 0
        self.takes = takes
        self.every: float | None = every
        self.beat_after_jump = beat_after_jump
        self.pulse = Pulse(clock, self.beat, self.jumped, self.look)

    async def beat(self) -> float | None:
        self.moments.append(self.clock.monotonic() - 1000)
        if self.takes:
            await self.clock.sleep(self.takes)
        return self.every

    async def jumped(self) -> bool:
        self.jumps += 1
        return self.beat_after_jump

    def look(self) -> None:
        self.looks += 1


@pytest.fixture
async def rhythm(clock):
    rhythm = Rhythm(clock)
    running = asyncio.ensure_future(rhythm.pulse.run())
    yield rhythm
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_it_rests_until_asked_and_then_keeps_its_rhythm(rhythm, clock):
    await clock.advance(100)
    assert rhythm.moments == []
    assert rhythm.pulse.next_at is None
    rhythm.pulse.now()
    await clock.advance(60)
    assert rhythm.moments == [100, 130, 160]
    assert (rhythm.pulse.next_at - clock.now()).total_seconds() == 30
    assert rhythm.looks >= 60 / SLICE_S
    rhythm.pulse.rest()
    await clock.advance(100)
    assert len(rhythm.moments) == 3


async def test_the_time_a_beat_takes_does_not_shift_the_rhythm(rhythm, clock):
    rhythm.takes = 7
    rhythm.pulse.now()
    await clock.advance(60)
    assert rhythm.moments == [0, 30, 60]


async def test_a_beat_that_asks_for_rest_gets_it_and_one_asked_for_meanwhile_still_comes(rhythm, clock):
    rhythm.takes, rhythm.every = 7, None
    rhythm.pulse.now()
    await clock.advance(1)
    rhythm.pulse.now()
    await clock.advance(100)
    assert rhythm.moments == [0, 7]


@pytest.mark.parametrize("seconds", [3600, -3600])
async def test_a_wall_clock_that_was_set_is_a_jump_once(rhythm, clock, seconds):
    rhythm.pulse.now()
    await clock.advance(10)
    clock.set_wall(seconds)
    await clock.advance(5)
    assert (rhythm.jumps, rhythm.moments) == (1, [0, 15])
    await clock.advance(29)
    assert rhythm.jumps == 1


async def test_a_wait_that_took_longer_than_it_should_was_a_sleep(rhythm, clock):
    rhythm.beat_after_jump = False
    rhythm.pulse.after(5000)
    await settle()
    # The machine sleeps: time has gone on, but the timer rings only now.
    clock._passed += 1000
    await clock.advance(0)
    assert rhythm.jumps == 1
    assert rhythm.moments == []
    rhythm.beat_after_jump = True
    clock._passed += 1000
    await clock.advance(0)
    assert rhythm.moments == [2000]


async def test_a_clock_that_drifts_a_little_is_no_jump(rhythm, clock):
    rhythm.pulse.now()
    for shift in (2, 4, 2, 0):
        await clock.advance(5)
        clock.set_wall(shift)
    assert rhythm.jumps == 0


@pytest.mark.slow
@pytest.mark.timeout(150)
@pytest.mark.requirement("R-034")
async def test_the_rhythm_holds_on_the_real_clock():
    clock = SystemClock()
    rhythm = Rhythm(clock)
    running = asyncio.ensure_future(rhythm.pulse.run())
    rhythm.pulse.now()
    await clock.sleep(91)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    first, *rest = rhythm.moments
    assert [moment - first for moment in rest] == pytest.approx([30, 60, 90], abs=2)
    assert rhythm.jumps == 0
