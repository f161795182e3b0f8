"""One run of one step: what is no work, what is a failure, and whose result counts."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

import pytest

from bridge_agent.base.clock import later, to_text
from bridge_agent.base.errors import BridgeError
from bridge_agent.base.tasks import Tasks
from bridge_agent.store.database import StoreFull, open_inline
from bridge_agent.transcription.pipeline import recordings, tasks
from bridge_agent.transcription.pipeline.desk import Desk
from bridge_agent.transcription.pipeline.opening import SCHEMA
from bridge_agent.transcription.pipeline.policy import Retries, Step
from bridge_agent.transcription.pipeline.recordings import Asker
from bridge_agent.transcription.pipeline.signs import NoWork, Poll
from bridge_agent.transcription.pipeline.stepper import Stepper, Verdict, Waiting
from bridge_agent.transcription.pipeline.tasks import NewTask, Task
from bridge_agent.transcription.pipeline.troubles import Trouble
from tests.fakes.clock import FakeClock
from tests.fakes.full_disk import Filling
from tests.fakes.pipeline import SETTINGS

STEP = Step("convert", "created", 60.0)


class Bench:
    """A desk over a store in memory, and steps that a test scripts."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.db = open_inline(":memory:", SCHEMA)
        self.desk = Desk(self.db, clock, Retries(most_tries=3, first_pause_s=5, longest_pause_s=300))
        self.worked: list[Task] = []
        self.tasks = Tasks("bench")

    async def plant(self, count: int = 1) -> None:
        now = to_text(self.clock.now())
        recording = await self.db.write(
            lambda c: recordings.begin(c, Asker("server", None), "T", "A", SETTINGS, now)
        )
        parts = [NewTask(number=n, part_key=f"k{n}", samples=1) for n in range(count)]
        await self.db.write(lambda c: tasks.replace(c, recording.id, parts, (), now))

    async def poll(self, poll: Poll) -> Task:
        return await self.desk.poll(poll, STEP, "local/1", {1})

    def stepper(
        self,
        work: Callable[[Task], Awaitable[Task | None]] | None = None,
        poll: Callable[[Poll], Awaitable[Task]] | None = None,
    ) -> Stepper:
        return Stepper("convert", self.desk, self.tasks, poll or self.poll, work or self.succeed)

    async def succeed(self, task: Task) -> Task | None:
        self.worked.append(task)
        return await self.desk.converted(task.claim, "sum", 1)

    async def fail(self, task: Task) -> Task | None:
        self.worked.append(task)
        raise BridgeError("It broke; mend it.")

    async def task(self, id_: int = 1) -> Task:
        found = await self.db.read(lambda c: tasks.one(c, id_))
        assert found is not None
        return found


@pytest.fixture
async def bench(clock: FakeClock):
    made = Bench(clock)
    yield made
    await made.db.close()


def told(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.requirement("P-001", "P-002")
async def test_no_work_counts_nothing_and_says_nothing(bench: Bench, caplog):
    stepper = bench.stepper()
    assert [await stepper.run_once() for _ in range(5)] == [False] * 5
    assert not bench.desk.work
    assert told(caplog) == []
    await bench.plant()
    failing = bench.stepper(bench.fail)
    assert await failing.run_once()
    assert bench.desk.work == {("convert", "failure"): 1}
    assert told(caplog)


@pytest.mark.requirement("P-003")
async def test_no_work_is_known_through_explanations_of_any_depth(bench: Bench, caplog):
    async def explained(poll: Poll) -> Task:
        try:
            return await bench.poll(poll)
        except NoWork as nothing:
            raise LookupError("the queue has nothing") from nothing

    async def twice(poll: Poll) -> Task:
        try:
            return await explained(poll)
        except LookupError as error:
            raise RuntimeError("the middle layer found the queue empty") from error

    stepper = bench.stepper(poll=twice)
    assert not await stepper.run_once()
    assert not bench.desk.work
    assert told(caplog) == []


@pytest.mark.requirement("P-004")
async def test_an_inner_search_that_finds_nothing_is_a_failure(bench: Bench, caplog):
    await bench.plant()

    async def searches(task: Task) -> Task | None:
        return await bench.desk.poll(Poll(), Step("other", "converted", 1.0), "local/1", {1})

    assert await bench.stepper(searches).run_once()
    assert bench.desk.work == {("convert", "failure"): 1}
    assert told(caplog)
    assert (await bench.task()).next_run_at is not None


@pytest.mark.requirement("P-005")
@pytest.mark.parametrize("kept", ["cause", "context", "none"])
async def test_a_failure_that_grew_from_another_empty_poll_is_a_failure(bench: Bench, caplog, kept):
    await bench.plant()

    async def asks_elsewhere(task: Task) -> Task | None:
        try:
            return await bench.desk.poll(Poll(), Step("other", "converted", 1.0), "local/1", {1})
        except NoWork as nothing:
            if kept == "cause":
                raise BridgeError("The shelf is empty; fill it.") from nothing
            if kept == "context":
                raise BridgeError("The shelf is empty; fill it.")  # noqa: B904 - that is the point
            raise BridgeError("The shelf is empty; fill it.") from None

    assert await bench.stepper(asks_elsewhere).run_once()
    assert bench.desk.work == {("convert", "failure"): 1}
    assert told(caplog)


@pytest.mark.requirement("P-005")
async def test_a_poll_that_broke_on_another_s_empty_answer_is_a_failure(bench: Bench, caplog):
    async def broken(poll: Poll) -> Task:
        raise RuntimeError("no lamp") from Poll().nothing()

    assert not await bench.stepper(poll=broken).run_once()
    assert bench.desk.work == {("convert", "failure"): 1}
    assert told(caplog)


@pytest.mark.requirement("P-006", "P-008")
async def test_a_failed_step_is_told_at_least_once_and_counted(bench: Bench, caplog):
    await bench.plant()
    await bench.stepper(bench.fail).run_once()
    # How often, and at which level, is not fixed.
    assert len(told(caplog)) >= 1
    assert "It broke; mend it." in caplog.text
    assert bench.desk.work["convert", "failure"] == 1


@pytest.mark.requirement("P-007")
async def test_a_step_that_did_its_work_is_counted_as_that(bench: Bench, caplog):
    await bench.plant()
    assert await bench.stepper().run_once()
    assert bench.desk.work == {("convert", "success"): 1}
    assert told(caplog) == []


@pytest.mark.requirement("P-020", "P-021")
async def test_a_step_whose_claim_went_to_another_ends_without_a_result(bench: Bench):
    await bench.plant()
    went_on = asyncio.Event()

    async def slow(task: Task) -> Task | None:
        await went_on.wait()
        return await bench.desk.converted(task.claim, "slow", 1)

    first = asyncio.create_task(bench.stepper(slow).run_once())
    await bench.clock.advance(61)
    other = await bench.desk.poll(Poll(), STEP, "local/2", {1})
    went_on.set()
    await first
    assert await bench.task() == other
    assert not bench.desk.work
    assert await bench.desk.converted(other.claim, "other", 1) is not None
    assert (await bench.task()).sha256 == "other"


async def test_a_claim_that_nobody_can_take_over_lives_on(bench: Bench):
    await bench.plant()
    held = await bench.poll(Poll())
    with pytest.raises(NoWork):
        await bench.desk.poll(Poll(), Step("other", "converted", 60.0), "local/2", {1}, held.claim)
    assert await bench.task() == held
    taken = await bench.desk.poll(Poll(), STEP, "local/2", {1}, held.claim)
    assert (taken.holder, taken.attempt, taken.tries) == ("local/2", 2, 1)


@pytest.mark.requirement("P-040", "P-042")
async def test_a_step_that_fails_each_time_is_given_the_part_so_often_and_no_oftener(bench: Bench):
    await bench.plant()
    stepper = bench.stepper(bench.fail)
    for _ in range(10):
        await stepper.run_once()
        await bench.clock.advance(301)
    assert [task.tries for task in bench.worked] == [1, 2, 3]
    assert (await bench.task()).state == "dead"
    over = await bench.db.read(lambda c: c.execute("SELECT state FROM tasks WHERE tries > 3").fetchall())
    assert [row["state"] for row in over] == ["dead"]


@pytest.mark.requirement("P-050")
async def test_a_failed_part_waits_longer_each_time(bench: Bench):
    await bench.plant()
    stepper = bench.stepper(bench.fail)
    for pause in (5, 10):
        assert await stepper.run_once()
        await bench.clock.advance(pause - 0.01)
        assert not await stepper.run_once()
        await bench.clock.advance(0.01)
    assert await stepper.run_once()
    assert len(bench.worked) == 3


@pytest.mark.requirement("P-051")
async def test_waiting_for_something_foreign_takes_the_same_time_always_and_no_try(bench: Bench, caplog):
    await bench.plant()

    async def waits(task: Task) -> Task | None:
        bench.worked.append(task)
        raise Waiting("The speech server is busy; it is asked again.", 15.0)

    stepper = bench.stepper(waits)
    for number in range(5):
        now = bench.clock.now()
        assert await stepper.run_once()
        task = await bench.task()
        assert (task.next_run_at, task.tries, task.attempt) == (to_text(later(now, 15.0)), 0, number + 1)
        await bench.clock.advance(14.9)
        assert not await stepper.run_once()
        await bench.clock.advance(0.1)
    assert [task.tries for task in bench.worked] == [1] * 5
    assert bench.desk.work == {("convert", "success"): 5}
    assert told(caplog) == []


@pytest.mark.requirement("P-045")
async def test_a_verdict_is_final(bench: Bench):
    await bench.plant()

    async def judges(task: Task) -> Task | None:
        raise Verdict("The model does not know that language; choose another.")

    await bench.stepper(judges).run_once()
    task = await bench.task()
    assert (task.state, task.error) == ("failed", "The model does not know that language; choose another.")
    assert bench.desk.work == {("convert", "failure"): 1}


async def test_a_trouble_gives_the_claim_back_and_is_passed_on(bench: Bench):
    await bench.plant()

    async def never() -> bool:
        return False

    async def troubled(task: Task) -> Task | None:
        raise Trouble("The disk is full; free some space.", never)

    with pytest.raises(Trouble):
        await bench.stepper(troubled).run_once()
    task = await bench.task()
    assert (task.state, task.tries, task.attempt, task.holder) == ("created", 0, 1, None)


async def test_a_claim_whose_failure_the_store_had_no_room_for_is_given_back_once_it_has(bench: Bench):
    await bench.plant()
    bench.desk._db = store = Filling(bench.db)

    async def fails(task: Task) -> Task | None:
        store.full = True
        raise BridgeError("It broke; mend it.")

    with pytest.raises(StoreFull):
        await bench.stepper(fails).run_once()
    with pytest.raises(StoreFull):
        await bench.desk.settle()
    assert (await bench.task()).holder == "local/1"
    store.full = False
    await bench.desk.settle()
    task = await bench.task()
    assert (task.state, task.holder, task.attempt) == ("created", None, 1)


async def test_a_claim_whose_asker_was_cancelled_is_given_back_at_once(bench: Bench):
    await bench.plant()
    claimed, go_on = asyncio.Event(), asyncio.Event()

    async def slow_store(poll: Poll) -> Task:
        task = await bench.poll(poll)
        claimed.set()
        await go_on.wait()
        return task

    run = asyncio.create_task(bench.stepper(poll=slow_store).run_once())
    await claimed.wait()
    run.cancel()
    go_on.set()
    await asyncio.gather(run, return_exceptions=True)
    task = await bench.task()
    assert (task.holder, task.tries, task.attempt) == (None, 0, 1)


async def test_a_cancelled_step_gives_its_claim_back(bench: Bench):
    await bench.plant()
    run = asyncio.create_task(bench.stepper(lambda task: asyncio.Event().wait()).run_once())
    await asyncio.sleep(0.01)
    assert (await bench.task()).holder == "local/1"
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)
    task = await bench.task()
    assert (task.holder, task.tries, task.attempt) == (None, 0, 1)
