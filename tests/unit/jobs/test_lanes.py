"""Lanes count who is inside, and say for which kinds there is room."""

import asyncio

import pytest

from bridge_agent.jobs.handlers.base import Done, JobContext, Outcome
from bridge_agent.jobs.lanes import Lanes
from bridge_agent.jobs.server_jobs import Key


class Kind:
    def __init__(self, kind: str, lane: str) -> None:
        self.kind, self.lane = kind, lane

    async def run(self, job: JobContext) -> Outcome:
        return Done({})


def key(number: int) -> Key:
    return Key("server", number, 1)


@pytest.fixture
def lanes() -> Lanes:
    return Lanes([Kind("a.one", "light"), Kind("a.two", "light"), Kind("b.one", "speech")])


@pytest.mark.requirement("R-053", "R-096")
def test_a_full_lane_takes_all_its_kinds_out(lanes: Lanes):
    assert lanes.free_kinds() == ["a.one", "a.two", "b.one"]
    lanes.enter(key(1), "a.one")
    assert lanes.free_kinds() == ["a.one", "a.two", "b.one"]
    lanes.enter(key(2), "a.two")
    assert lanes.free_kinds() == ["b.one"]
    lanes.enter(key(3), "b.one")
    assert lanes.free_kinds() == []
    lanes.leave(key(1))
    assert lanes.free_kinds() == ["a.one", "a.two"]


def test_leaving_twice_frees_one_place_and_tells_once(lanes: Lanes):
    told: list[int] = []
    lanes.on_change = lambda: told.append(1)
    for number in (1, 2, 3):
        lanes.enter(key(number), "a.one")
    lanes.leave(key(1))
    lanes.leave(key(1))
    assert told == [1]
    # Resumed over the limit: with three inside, one leaving makes no room yet.
    assert lanes.free_kinds() == ["b.one"]
    lanes.leave(key(2))
    assert "a.one" in lanes.free_kinds()


def test_an_attempt_is_somebody_else_than_the_one_before(lanes: Lanes):
    lanes.enter(Key("server", 1, 1), "b.one")
    lanes.enter(Key("server", 1, 2), "b.one")
    lanes.leave(Key("server", 1, 1))
    assert "b.one" not in lanes.free_kinds()


def test_an_unnamed_lane_runs_one_job(lanes: Lanes):
    own = Lanes([Kind("x.y", "novel")])
    assert own.view() == [{"name": "novel", "limit": 1, "running": 0, "kinds": ["x.y"]}]


@pytest.mark.requirement("R-096")
def test_who_came_over_the_limit_is_told_when_its_turn_has_come(lanes: Lanes):
    for number in (1, 2, 3, 4):
        lanes.enter(key(number), "a.one")
    assert [lanes.is_over(key(number)) for number in (1, 2, 3, 4)] == [False, False, True, True]
    news = asyncio.Event()
    with lanes.watched(news):
        lanes.leave(key(1))
        assert news.is_set()
    assert [lanes.is_over(key(number)) for number in (2, 3, 4)] == [False, False, True]
    news.clear()
    lanes.leave(key(2))
    assert not news.is_set()
