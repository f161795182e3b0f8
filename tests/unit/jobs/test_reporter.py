"""The reporter's rhythm, to the second, on a clock that a test moves."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from bridge_agent.base.tasks import Tasks
from bridge_agent.jobs.reporter import MOST_WAITING, Reporter, Rhythm
from bridge_agent.link.errors import NotHeld, Rejected, ServerAway, TokenRefused
from bridge_agent.protocol.bridge import Progress, Report, ReportAnswer
from bridge_agent.protocol.states import RunState
from tests.fakes.clock import FakeClock, settle

Respond = Callable[[Report], Awaitable[ReportAnswer]]


class Server:
    """Takes reports and notes when; answers what the test says."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.lease = 120.0
        self.taken: list[tuple[float, Report]] = []
        self.tried: list[float] = []
        self.trouble: BaseException | None = None
        self.takes_s = 0.0

    async def __call__(self, report: Report) -> ReportAnswer:
        self.tried.append(self.clock.monotonic() - 1000.0)
        if self.takes_s:
            await self.clock.sleep(self.takes_s)
        if self.trouble is not None:
            raise self.trouble
        self.taken.append((self.tried[-1], report))
        return ReportAnswer(
            id=1,
            state=report.state,
            attempt=report.attempt,
            cancel_requested=False,
            lease_expires_at=None,
            lease_seconds=self.lease,
        )

    @property
    def times(self) -> list[float]:
        return [round(at, 1) for at, _ in self.taken]

    @property
    def steps(self) -> list[str | None]:
        return [None if r.progress is None else r.progress.step for _, r in self.taken]


@pytest.fixture
def server(clock: FakeClock) -> Server:
    return Server(clock)


@pytest.fixture
async def reporter(clock: FakeClock, server: Server) -> AsyncIterator[Reporter]:
    tasks = Tasks("test")
    reporter = Reporter(3, server, clock, Rhythm(2.0, 10.0), lambda _: None)
    reporter.task = tasks.spawn(reporter.run(), "reporter")  # type: ignore[attr-defined]
    await settle()
    yield reporter
    await tasks.cancel()


def tell(reporter: Reporter, step: str, message: str = "", done: float | None = None) -> None:
    reporter.record(Progress(step=step, message=message or step, done=done))


@pytest.mark.requirement("R-062")
async def test_the_first_report_goes_out_at_once_and_says_running(server: Server, reporter: Reporter):
    assert server.times == [0.0]
    assert server.taken[0][1] == Report(attempt=3, state="running")


@pytest.mark.requirement("R-062")
async def test_with_nothing_new_there_is_a_keepalive_within_ten_seconds(
    clock: FakeClock, server: Server, reporter: Reporter
):
    await clock.advance(60)
    assert server.times == [0.0, 9.5, 19.0, 28.5, 38.0, 47.5, 57.0]


@pytest.mark.requirement("R-062")
async def test_changes_within_a_step_go_out_every_two_seconds_at_most(
    clock: FakeClock, server: Server, reporter: Reporter
):
    for count in range(500):
        tell(reporter, "stat", done=count)
        await clock.advance(0.02)
    assert server.times == [0.0, 0.0, 2.0, 4.0, 6.0, 8.0]
    assert server.taken[-1][1].progress == Progress(step="stat", message="stat", done=400)
    await clock.advance(2)
    assert server.taken[-1][1].progress == Progress(step="stat", message="stat", done=499)
    await clock.advance(5)
    assert server.times[-1] == 10.0


@pytest.mark.requirement("R-062")
async def test_the_two_seconds_count_from_the_answer_so_that_a_slow_way_never_shortens_them(
    clock: FakeClock, server: Server, reporter: Reporter
):
    server.takes_s = 1.5
    tell(reporter, "stat", done=0)
    for count in range(1, 200):
        await clock.advance(0.05)
        tell(reporter, "stat", done=count)
    assert server.times == [0.0, 0.0, 3.5, 7.0]


@pytest.mark.requirement("R-062")
async def test_steps_that_pass_faster_than_a_report_takes_are_each_told_in_order(
    clock: FakeClock, server: Server, reporter: Reporter
):
    server.takes_s = 0.5
    for step in ("mapping", "lookup", "stat"):
        tell(reporter, step)
    tell(reporter, "stat", done=7)
    tell(reporter, "writable")
    await clock.advance(3)
    assert server.steps == [None, "mapping", "lookup", "stat", "writable"]
    assert server.taken[3][1].progress == Progress(step="stat", message="stat", done=7)
    assert server.times == [0.0, 0.0, 0.5, 1.0, 1.5]


async def test_a_short_lease_quickens_the_signs_of_life(clock: FakeClock, server: Server, reporter: Reporter):
    server.lease = 12.0
    await clock.advance(9.5)
    before = len(server.taken)
    await clock.advance(24)
    assert [
        round(b - a, 2) for a, b in zip(server.times[before:], server.times[before + 1 :], strict=False)
    ] == [4.0] * 5


@pytest.mark.requirement("R-063")
async def test_a_server_that_is_away_is_tried_within_the_keepalives_rhythm(
    clock: FakeClock, server: Server, reporter: Reporter
):
    server.trouble = ServerAway()
    tell(reporter, "mapping")
    await settle()
    tell(reporter, "lookup")
    await clock.advance(100)
    tries = server.tried[1:]
    assert len(tries) >= 100 / 9.5
    assert max(b - a for a, b in itertools.pairwise(tries)) <= 9.5
    assert not reporter.trusted() or server.times == [0.0]
    server.trouble = None
    await clock.advance(9.5)
    assert server.steps == [None, "mapping", "lookup"]


async def test_past_the_trust_window_the_lease_is_not_believed_in_until_an_answer_renews_it(
    clock: FakeClock, server: Server, reporter: Reporter
):
    assert reporter.trusted()
    server.trouble = ServerAway()
    await clock.advance(109)
    assert reporter.trusted()
    await clock.advance(2)
    assert not reporter.trusted()
    server.trouble = None
    await clock.advance(10)
    assert reporter.trusted()


async def test_how_long_the_server_asks_to_be_left_alone_counts_within_the_rhythm(
    clock: FakeClock, server: Server, reporter: Reporter
):
    server.trouble = ServerAway(retry_after=6.0)
    tell(reporter, "mapping")
    await clock.advance(5.9)
    assert len(server.tried) == 2
    server.trouble = ServerAway(retry_after=600.0)
    await clock.advance(0.2)
    assert len(server.tried) == 3
    await clock.advance(9.6)
    assert len(server.tried) == 4


async def test_closed_it_tells_the_steps_that_wait_and_ends(
    clock: FakeClock, server: Server, reporter: Reporter
):
    server.takes_s = 0.5
    tell(reporter, "mapping")
    tell(reporter, "lookup")
    reporter.close(drain=True)
    await clock.advance(2)
    assert server.steps == [None, "mapping", "lookup"]
    assert reporter.task.done()  # type: ignore[attr-defined]


async def test_closed_without_draining_it_tells_nothing_more(
    clock: FakeClock, server: Server, reporter: Reporter
):
    tell(reporter, "mapping")
    reporter.close(drain=False)
    await settle()
    assert server.steps == [None]
    assert reporter.task.done()  # type: ignore[attr-defined]


async def test_closed_while_the_server_is_away_it_does_not_wait_for_it(
    clock: FakeClock, server: Server, reporter: Reporter
):
    server.trouble = ServerAway()
    tell(reporter, "mapping")
    await settle()
    reporter.close(drain=True)
    await settle()
    assert reporter.task.done()  # type: ignore[attr-defined]


@pytest.mark.requirement("R-064")
@pytest.mark.parametrize("ends_it", [NotHeld("queued"), TokenRefused()])
async def test_what_ends_the_claim_ends_the_reports(
    clock: FakeClock, server: Server, reporter: Reporter, ends_it: Exception
):
    server.trouble = ends_it
    tell(reporter, "mapping")
    await settle()
    task: asyncio.Task[None] = reporter.task  # type: ignore[attr-defined]
    assert task.exception() is ends_it
    await clock.advance(60)
    assert len(server.tried) == 2


async def test_a_report_that_is_rejected_is_not_repeated_as_it_was(
    clock: FakeClock, server: Server, reporter: Reporter
):
    server.trouble = Rejected(400, "invalid_report", "No.")
    tell(reporter, "mapping")
    await settle()
    server.trouble = None
    tell(reporter, "lookup")
    await clock.advance(10)
    assert server.steps == [None, "lookup"]


async def test_a_change_of_state_is_told_at_once(clock: FakeClock, server: Server, reporter: Reporter):
    tell(reporter, "mapping")
    reporter.say(RunState.NEEDS_ATTENTION, "Connect the drive.")
    await settle()
    assert server.taken[-1][1] == Report(
        attempt=3,
        state="needs_attention",
        progress=Progress(step="mapping", message="mapping"),
        error="Connect the drive.",
    )
    await clock.advance(9.6)
    assert server.taken[-1][1].state == "needs_attention"
    assert server.times[-1] == 9.5


async def test_steps_without_end_do_not_fill_the_memory_of_a_bridge_whose_server_is_away(
    clock: FakeClock, server: Server, reporter: Reporter
):
    server.trouble = ServerAway()
    for number in range(MOST_WAITING * 3):
        tell(reporter, f"step {number}")
    assert len(reporter._waiting) == MOST_WAITING
    assert reporter._waiting[-1].progress == reporter.latest
