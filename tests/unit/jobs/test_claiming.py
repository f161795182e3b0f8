"""When the server is asked for a job, on a clock that a test moves."""

import itertools
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bridge_agent.base.errors import BridgeError
from bridge_agent.base.loops import Loops
from bridge_agent.base.tasks import Tasks
from bridge_agent.jobs.claiming import ClaimLoop
from bridge_agent.jobs.lanes import Lanes
from bridge_agent.jobs.post import Post
from bridge_agent.link.errors import NoHeartbeat, Rejected, ServerAway
from bridge_agent.protocol.bridge import ClaimedJob, Library
from bridge_agent.store.database import open_inline
from tests.fakes.clock import FakeClock, settle
from tests.unit.jobs.test_lanes import Kind, key


class Link:
    """A link whose server answers every poll as the test says."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.server_id = "s"
        self.state = "online"
        self.libraries: list[Library] = []
        self.last_heartbeat_at: datetime | None = None
        self.answer: BridgeError | OverflowError | None = None
        self.takes_s = 0.0
        self.asked: list[tuple[float, tuple[str, ...], str]] = []
        self.beats = 0

    async def next_job(self, kinds: Sequence[str], wait: float, claim_id: str) -> ClaimedJob | None:
        self.asked.append((round(self.clock.monotonic() - 1000.0, 1), tuple(kinds), claim_id))
        await self.clock.sleep(min(self.takes_s, wait))
        if self.answer is not None:
            raise self.answer
        return None

    def beat_now(self) -> None:
        self.beats += 1

    @property
    def times(self) -> list[float]:
        return [at for at, *_ in self.asked]


class House:
    def __init__(self, clock: FakeClock) -> None:
        self.link = Link(clock)
        self.lanes = Lanes([Kind("a.one", "light"), Kind("b.one", "speech")])
        self.post = Post(cast(Any, self.link))
        self.db = open_inline(":memory:", "bridge_agent.store.bridge_schema")
        self.tasks = Tasks("test")
        self.loops = Loops(clock)
        self.claims = ClaimLoop(
            self.db,
            clock,
            cast(Any, self.link),
            self.post,
            self.lanes,
            cast(Any, SimpleNamespace()),
            25.0,
            self.loops,
            self.tasks,
        )
        self.lanes.on_change = self.claims.nudge
        self.claims.link_changed()

    def open(self) -> None:
        self.post.open("s")
        self.post.claiming = True
        self.claims.nudge()


@pytest.fixture
async def house(clock: FakeClock) -> AsyncIterator[House]:
    house = House(clock)
    house.tasks.spawn(house.claims.run(), "claims")
    yield house
    await house.tasks.cancel()
    await house.db.close()


@pytest.mark.requirement("R-048")
async def test_nothing_is_asked_before_what_was_held_is_resumed(clock: FakeClock, house: House):
    house.post.open("s")
    await clock.advance(60)
    assert house.link.asked == []
    house.open()
    await settle()
    assert len(house.link.asked) == 1


async def test_full_length_polls_follow_each_other_at_once(clock: FakeClock, house: House):
    house.link.takes_s = 25.0
    house.open()
    await clock.advance(80)
    assert house.link.times == [0.0, 25.0, 50.0, 75.0]
    assert len({claim_id for *_, claim_id in house.link.asked}) == 4


async def test_early_empty_answers_are_waited_out_from_1_to_15_seconds(clock: FakeClock, house: House):
    house.open()
    await clock.advance(62)
    assert house.link.times == [0.0, 1.0, 3.0, 7.0, 15.0, 30.0, 45.0, 60.0]


async def test_a_poll_that_waited_makes_the_next_early_one_the_first_again(clock: FakeClock, house: House):
    house.open()
    await clock.advance(3.5)
    house.link.takes_s = 25.0
    await clock.advance(3.6)
    house.link.takes_s = 0.0
    await clock.advance(27)
    assert house.link.times == [0.0, 1.0, 3.0, 7.0, 32.0, 33.0]


async def test_news_of_the_link_end_a_pause_and_a_heartbeat_without_news_does_not(
    clock: FakeClock, house: House
):
    house.open()
    await clock.advance(8)
    house.link.last_heartbeat_at = clock.now()
    house.claims.link_changed()
    await clock.advance(1)
    assert len(house.link.asked) == 4
    house.link.libraries = [Library(id=1, name="Books", root="/srv")]
    house.claims.link_changed()
    await clock.advance(0.1)
    assert len(house.link.asked) == 5
    await clock.advance(1.0)
    assert len(house.link.asked) == 6


async def test_a_lane_that_frees_new_kinds_does_not_wait_a_pause_out(clock: FakeClock, house: House):
    house.lanes.enter(key(1), "b.one")
    house.open()
    await clock.advance(8)
    asked = len(house.link.asked)
    house.lanes.leave(key(1))
    await settle()
    assert house.link.asked[asked:]
    assert house.link.asked[-1][1] == ("a.one", "b.one")


async def test_a_server_that_is_away_is_asked_again_with_the_same_id_in_growing_pauses(
    clock: FakeClock, house: House
):
    house.link.answer = ServerAway()
    house.open()
    await clock.advance(120)
    times = house.link.times
    pauses = [round(b - a, 1) for a, b in itertools.pairwise(times)]
    assert 0.5 <= pauses[0] <= 1.1
    assert max(pauses) <= 15.1
    assert min(pauses[5:]) >= 7.5
    assert len({claim_id for *_, claim_id in house.link.asked}) == 1


async def test_how_long_a_server_asks_to_be_left_alone_is_respected(clock: FakeClock, house: House):
    house.link.answer = ServerAway(retry_after=40.0)
    house.open()
    await clock.advance(39.9)
    assert len(house.link.asked) == 1
    await clock.advance(0.2)
    assert len(house.link.asked) == 2


@pytest.mark.requirement("R-059")
async def test_no_heartbeat_makes_one_and_the_claim_follows_it_at_once(clock: FakeClock, house: House):
    house.link.answer = NoHeartbeat()
    house.open()
    await settle()
    assert (len(house.link.asked), house.link.beats) == (1, 1)
    house.link.last_heartbeat_at = clock.now()
    house.claims.link_changed()
    await settle()
    assert (len(house.link.asked), house.link.beats) == (2, 2)
    # Once: a server that never takes the heartbeat in is not asked in a circle.
    house.link.last_heartbeat_at = datetime.max
    house.claims.link_changed()
    await settle()
    assert len(house.link.asked) == 2


async def test_a_refusal_of_a_fresh_poll_needs_no_repeated_id(clock: FakeClock, house: House):
    house.link.answer = Rejected(400, "bad_request", "No.")
    house.open()
    await clock.advance(3)
    ids = [claim_id for *_, claim_id in house.link.asked]
    assert len(ids) >= 2
    assert len(set(ids)) == len(ids)


async def test_an_unforeseen_failure_does_not_end_the_claiming(clock: FakeClock, house: House):
    house.link.answer = OverflowError("a number beyond all bounds")
    house.open()
    await clock.advance(3)
    house.link.answer = None
    asked = len(house.link.asked)
    await clock.advance(16)
    assert len(house.link.asked) > asked
    assert house.loops.healthy
