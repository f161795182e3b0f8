"""Parked polls, on a clock that stands still."""

import asyncio
from collections.abc import Callable

import pytest

from bridge_agent.base.tasks import Tasks
from bridge_agent.home.job import Job
from bridge_agent.home.waits import Ask, Nothing, Outcome, Waits
from tests.fakes.clock import FakeClock, settle
from tests.unit.home.store import add_job, open_store

ASK = Ask("hash", None, None)
NAMED = Ask("hash", None, "claim")


class Shop:
    """Hands out what lies on its counter, one a poll, and remembers what came back."""

    def __init__(self, clock: FakeClock) -> None:
        self.counter: list[Job] = []
        self.rounds: list[int] = []
        self.returned: list[Job] = []
        self.gate: asyncio.Event | None = None
        self.error: Exception | None = None
        self.waits = Waits(clock, Tasks("test"), self.serve, self.give_back)

    async def serve(self, asks: list[Ask]) -> list[Outcome]:
        self.rounds.append(len(asks))
        if self.error is not None:
            raise self.error
        outcomes: list[Outcome] = [self.counter.pop(0) if self.counter else Nothing.YET for _ in asks]
        if self.gate is not None:
            await self.gate.wait()
        return outcomes

    async def give_back(self, job: Job) -> None:
        self.returned.append(job)

    def poll(
        self, seconds: float = 25, ask: Ask = ASK, alive: Callable[[], bool] = lambda: True
    ) -> "asyncio.Task[Outcome]":
        return asyncio.ensure_future(self.waits.next(ask, seconds, alive))


@pytest.fixture
def shop(clock: FakeClock) -> Shop:
    return Shop(clock)


def job() -> Job:
    connection = open_store()
    add_job(connection, "Book")
    return Job.of(connection.execute("SELECT * FROM bridge_jobs").fetchone())


async def test_what_is_there_is_given_at_once(shop: Shop):
    shop.counter = [job()]
    assert isinstance(await shop.poll(0), Job)
    assert len(shop.waits) == 0


async def test_a_poll_without_patience_is_told_that_there_is_nothing(shop: Shop):
    assert await shop.poll(0) is Nothing.YET


async def test_a_poll_waits_its_time(shop: Shop, clock: FakeClock):
    poll = shop.poll(10)
    await clock.advance(9)
    assert not poll.done()
    await clock.advance(1)
    assert await poll is Nothing.YET


async def test_news_ask_for_all_in_one_round_and_those_that_came_first_win(shop: Shop):
    polls = [shop.poll() for _ in range(3)]
    await settle()
    shop.counter = [job(), job()]
    shop.waits.news()
    await settle()
    assert [poll.done() for poll in polls] == [True, True, False]
    assert shop.rounds == [3, 3]
    shop.waits.close()
    assert await polls[2] is Nothing.YET


async def test_news_during_a_round_are_not_lost(shop: Shop):
    shop.gate = asyncio.Event()
    poll = shop.poll()
    await settle()
    shop.counter = [job()]
    shop.waits.news()
    shop.gate.set()
    assert isinstance(await poll, Job)


async def test_a_poller_that_is_gone_is_not_asked_for(shop: Shop):
    live = True
    poll = shop.poll(25, ASK, lambda: live)
    await settle()
    live = False
    shop.counter = [job()]
    shop.waits.news()
    assert await poll is Nothing.YET
    assert len(shop.counter) == 1


async def test_a_poller_that_goes_during_its_round_gives_its_job_back(shop: Shop):
    shop.gate, shop.counter = asyncio.Event(), [job()]
    poll = shop.poll()
    await settle()
    poll.cancel()
    await settle()
    shop.gate.set()
    await settle()
    assert len(shop.returned) == 1
    with pytest.raises(asyncio.CancelledError):
        await poll


async def test_a_poller_that_goes_between_its_round_and_its_answer_gives_its_job_back(shop: Shop):
    poll = shop.poll()
    await settle()
    shop.counter = [job()]
    shop.waits.news()
    # The round has settled the poll, which has not run on since.
    while not shop.rounds[1:]:
        await asyncio.sleep(0)
    poll.cancel()
    await asyncio.gather(poll, return_exceptions=True)
    await settle()
    assert len(shop.returned) == 1


async def test_one_that_named_a_claim_id_keeps_its_job_for_when_it_asks_again(shop: Shop):
    shop.gate, shop.counter = asyncio.Event(), [job()]
    poll = shop.poll(25, NAMED)
    await settle()
    poll.cancel()
    shop.gate.set()
    await settle()
    assert shop.returned == []


async def test_time_that_ends_during_a_round_waits_for_its_outcome(shop: Shop, clock: FakeClock):
    poll = shop.poll(5)
    await settle()
    shop.gate, shop.counter = asyncio.Event(), [job()]
    shop.waits.news()
    await clock.advance(6)
    assert not poll.done()
    shop.gate.set()
    assert isinstance(await poll, Job)


async def test_a_close_during_a_round_still_delivers_its_job(shop: Shop):
    shop.gate, shop.counter = asyncio.Event(), [job()]
    winner, loser = shop.poll(), shop.poll()
    await settle()
    shop.waits.close()
    shop.gate.set()
    assert isinstance(await winner, Job)
    assert await loser is Nothing.YET
    assert await shop.poll() is Nothing.YET


async def test_a_failure_of_the_store_reaches_those_who_asked_and_the_next_round_runs(shop: Shop):
    shop.error = RuntimeError("full")
    with pytest.raises(RuntimeError, match="full"):
        await shop.poll()
    shop.error, shop.counter = None, [job()]
    assert isinstance(await shop.poll(), Job)
