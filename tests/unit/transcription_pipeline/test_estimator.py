"""The time left: settled within two minutes, then never off by more than a quarter (or one part)."""

import heapq
import random
from dataclasses import dataclass

import pytest

from bridge_agent.transcription.model import RATE
from bridge_agent.transcription.pipeline.estimator import Estimator
from bridge_agent.transcription.pipeline.executor import worth_taking
from bridge_agent.transcription.pipeline.live import duration, message

PART = 150 * RATE


@dataclass
class Simulated:
    """A run played out: estimates as they were made, beside what came to pass."""

    estimates: list[tuple[float, float | None]]
    took: float

    def worst(self, after: float, slack: float) -> float:
        """Return by which share of the truth the estimate was off at worst, apart from `slack` seconds."""
        found = 0.0
        for at, left in self.estimates:
            truth = self.took - at
            if at >= after and truth > 0:
                assert left is not None, f"nothing is known after {at:.0f} s"
                found = max(found, max(0.0, abs(left - truth) - slack) / truth)
        return found


def simulate(
    hours: float,
    speeds: dict[str, list[float]],
    noise: float,
    seed: int,
    words_a_second: float = 2.6,
    slower_later: float = 1.0,
) -> Simulated:
    """Play a book out: each executor's places take parts at their speeds, more or less."""
    chance = random.Random(seed)
    samples = [int(PART * chance.uniform(0.85, 1.15)) for _ in range(max(2, round(hours * 24)))]
    places = {name: len(each) for name, each in speeds.items()}
    estimator = Estimator()
    free = [
        (0.0, n, name, speed) for n, (name, speed) in enumerate((k, s) for k, v in speeds.items() for s in v)
    ]
    heapq.heapify(free)
    waiting = list(range(len(samples)))
    running: dict[int, tuple[float, float]] = {}
    ends: list[tuple[float, int, int, str, float]] = []
    estimates: list[tuple[float, float | None]] = []
    now, tick = 0.0, 0.0
    while waiting or running:
        while waiting and free and free[0][0] <= now:
            _, n, name, speed = heapq.heappop(free)
            part = waiting.pop(0)
            pace = speed * chance.uniform(1 - noise, 1 + noise)
            if part > len(samples) // 2:
                pace *= slower_later
            end = now + samples[part] / RATE / pace
            running[part] = (now, end)
            estimator.began(part, name, samples[part], now)
            heapq.heappush(ends, (end, n, part, name, speed))
        following = ends[0][0]
        while tick < following:
            for part, (began, end) in running.items():
                # Words come in pieces, as an engine hears window after window.
                share = int((tick - began) / (end - began) * 5) / 5
                estimator.heard(part, int(max(0, share) * samples[part] / RATE * words_a_second), tick)
            left = estimator.left_s([samples[p] for p in waiting], places, tick)
            estimates.append((tick, left))
            tick += 5.0
        now, n, part, name, speed = heapq.heappop(ends)
        del running[part]
        estimator.ended(part, now, done=True, words=int(samples[part] / RATE * words_a_second))
        heapq.heappush(free, (now, n, name, speed))
    return Simulated(estimates, now)


CASES = {
    "one quick child": {"a": [12.0]},
    "one slow child": {"a": [1.5]},
    "four children": {"a": [6.0] * 4},
    "a child and two workers": {"a": [6.0], "b": [12.0, 12.0]},
    "a quick worker beside a slow one": {"a": [20.0], "b": [3.0]},
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", range(12))
def test_the_time_left_is_right_by_a_quarter_from_the_second_minute_on(case, seed):
    speeds = CASES[case]
    played = simulate(10, speeds, noise=0.15, seed=seed)
    slowest = min(speed for each in speeds.values() for speed in each)
    assert played.worst(after=120, slack=PART / RATE / slowest) <= 0.25


@pytest.mark.parametrize("seed", range(3))
def test_a_machine_that_gets_slower_is_noticed(seed):
    played = simulate(10, {"a": [8.0, 8.0]}, noise=0.1, seed=seed, slower_later=0.7)
    half = played.took * 0.6
    assert played.worst(after=half, slack=20) <= 0.25


@pytest.mark.parametrize("pace", [2.0, 2.6, 3.2])
def test_before_the_first_part_is_done_its_words_tell_roughly_how_fast_it_goes(pace):
    played = simulate(10, {"a": [0.9]}, noise=0.0, seed=1, words_a_second=pace)
    first = [left for at, left in played.estimates if 110 <= at <= 130]
    assert all(left is not None and abs(left - played.took) / played.took <= 0.35 for left in first)


def test_nothing_is_told_while_nothing_is_known():
    estimator = Estimator()
    assert estimator.left_s([PART], {"a": 1}, 0.0) is None
    estimator.began(0, "a", PART, 0.0)
    assert estimator.left_s([PART], {"a": 1}, 10.0) is None
    assert message(0.0, None) == "Transcribing"


def test_what_was_seen_at_earlier_books_is_known_from_the_start():
    estimator = Estimator({"a": 10.0})
    assert estimator.left_s([PART, PART], {"a": 1}, 0.0) == pytest.approx(30.0)
    assert estimator.left_s([PART, PART], {"a": 2}, 0.0) == pytest.approx(15.0)


def test_a_part_that_failed_teaches_nothing():
    estimator = Estimator()
    estimator.began(0, "a", PART, 0.0)
    estimator.ended(0, 1.0, done=False)
    assert estimator.known() == {}


def test_a_slow_executor_leaves_the_last_parts_to_faster_ones():
    assert worth_taking(mine=0.0, others=10.0, part_s=150, left_s=150)
    assert worth_taking(mine=10.0, others=0.0, part_s=150, left_s=150)
    assert worth_taking(mine=2.0, others=10.0, part_s=150, left_s=3000)
    assert not worth_taking(mine=2.0, others=10.0, part_s=150, left_s=300)


def test_times_are_said_as_people_say_them():
    assert [duration(s) for s in (5, 50, 400, 3600, 7500)] == [
        "less than a minute",
        "about 1 min",
        "about 7 min",
        "about 1 h 0 min",
        "about 2 h 5 min",
    ]


def test_a_part_that_is_fetched_ahead_is_no_second_place_and_waits_for_its_turn():
    estimator = Estimator({"gpu": 10.0})
    estimator.began(0, "gpu", PART, 0.0)
    estimator.began(1, "gpu", PART, 0.0, ahead=True)
    assert estimator.left_s([PART] * 18, {"gpu": 1}, 0.0) == pytest.approx(300.0)
    assert estimator.done_s(6.0) == pytest.approx(60.0)
    assert estimator.at_work() == {"gpu": 1}
    assert (estimator.hears(0), estimator.hears(1), estimator.hears(2)) == (True, False, False)
    assert estimator.rest_s(1, 6.0) == pytest.approx(24.0)


def test_of_a_worker_that_hears_two_at_once_its_speed_is_that_of_both_together():
    estimator = Estimator()
    for turn in range(4):
        estimator.began(2 * turn, "gpu", PART, 15.0 * turn)
        estimator.began(2 * turn + 1, "gpu", PART, 15.0 * turn, ahead=True)
        estimator.ended(2 * turn + 1, 15.0 * turn + 15, done=True)
        estimator.ended(2 * turn, 15.0 * turn + 15, done=True)
    assert estimator.speed_of("gpu") == pytest.approx(20.0, rel=0.15)
