"""The outbox's rhythm, to the second, on a clock that a test moves."""

from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from bridge_agent.base.errors import BridgeError
from bridge_agent.base.loops import Loops
from bridge_agent.base.tasks import Tasks
from bridge_agent.jobs import server_jobs
from bridge_agent.jobs.board import Board
from bridge_agent.jobs.outbox import Outbox
from bridge_agent.jobs.post import Post
from bridge_agent.jobs.server_jobs import End, Key, Row
from bridge_agent.link.errors import Rejected, ServerAway, TokenRefused
from bridge_agent.protocol.bridge import Report, ReportAnswer, encode
from bridge_agent.protocol.states import RunState
from bridge_agent.store.database import open_inline
from tests.fakes.clock import FakeClock, settle
from tests.unit.jobs.test_server_jobs import NOW, claimed


class Link:
    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.server_id = "s"
        self.trouble: BridgeError | None = ServerAway()
        self.sent: list[tuple[float, bytes]] = []

    async def report(self, job_id: int, report: Report) -> ReportAnswer:
        self.sent.append((round(self.clock.monotonic() - 1000.0, 1), encode(report)))
        if self.trouble is not None:
            raise self.trouble
        return ReportAnswer(
            id=job_id, state=report.state, attempt=1, cancel_requested=False, lease_expires_at=None
        )

    @property
    def times(self) -> list[float]:
        return [at for at, _ in self.sent]


class Desk:
    def __init__(self, clock: FakeClock) -> None:
        self.link = Link(clock)
        self.post = Post(cast(Any, self.link))
        self.db = open_inline(":memory:", "bridge_agent.store.bridge_schema")
        self.tasks = Tasks("test")
        self.outbox = Outbox(self.db, clock, self.post, Board(), 30.0, Loops(clock), self.tasks)

    async def ended(self, job_id: int = 1) -> Row:
        """Write down a job that is done."""
        key, end = Key("s", job_id, 1), End(state=RunState.DONE, result={"n": job_id})
        await self.db.write(lambda c: server_jobs.begin(c, "s", claimed(id=job_id), NOW))
        row = await self.db.write(lambda c: server_jobs.finish(c, key, end, None, NOW))
        assert row is not None
        return row

    async def stored(self, job_id: int = 1) -> Row:
        return (await self.db.read(lambda c: server_jobs.attempts(c, "s", job_id)))[0]


@pytest.fixture
async def desk(clock: FakeClock) -> AsyncIterator[Desk]:
    desk = Desk(clock)
    desk.post.open("s")
    desk.tasks.spawn(desk.outbox.run(), "outbox")
    yield desk
    await desk.tasks.cancel()
    await desk.db.close()


@pytest.mark.requirement("R-081")
async def test_tried_at_once_then_every_30_seconds_with_one_body(clock: FakeClock, desk: Desk):
    await desk.outbox.send(await desk.ended())
    await clock.advance(125)
    assert desk.link.times == [0.0, 30.0, 60.0, 90.0, 120.0]
    desk.link.trouble = None
    await clock.advance(100)
    assert desk.link.times[-1] == 150.0
    assert len({body for _, body in desk.link.sent}) == 1
    assert (await desk.stored()).reported


@pytest.mark.requirement("R-081")
async def test_each_row_keeps_its_own_rhythm(clock: FakeClock, desk: Desk):
    await desk.outbox.send(await desk.ended(1))
    await clock.advance(10)
    await desk.outbox.send(await desk.ended(2))
    await clock.advance(55)
    assert desk.link.times == [0.0, 10.0, 30.0, 40.0, 60.0]


@pytest.mark.requirement("R-087")
async def test_nothing_goes_out_while_the_way_is_shut_and_all_at_once_when_it_opens(
    clock: FakeClock, desk: Desk
):
    desk.link.trouble = TokenRefused()
    await desk.outbox.send(await desk.ended())
    desk.post.close()
    await clock.advance(400)
    assert desk.link.times == [0.0]
    desk.link.trouble = None
    desk.post.open("s")
    await desk.outbox.open("s")
    await settle()
    assert desk.link.times == [0.0, 400.0]
    assert (await desk.stored()).reported


async def test_a_proxys_refusals_are_borne_for_a_day_then_the_row_becomes_a_failure(
    clock: FakeClock, desk: Desk
):
    desk.link.trouble = Rejected(404, "not_found", "404 page not found")
    await desk.outbox.send(await desk.ended())
    for _ in range(23):
        await clock.advance(3600)
    assert (await desk.stored()).state == "done"
    for _ in range(2):
        await clock.advance(3600)
    row = await desk.stored()
    assert (row.state, row.reported) == ("failed", True)


async def test_what_was_left_unsent_is_taken_up_when_the_way_opens(clock: FakeClock, desk: Desk):
    desk.link.trouble = None
    await desk.ended(1)
    await desk.ended(2)
    await desk.outbox.open("s")
    await settle()
    assert len(desk.link.sent) == 2
    assert (await desk.stored(2)).reported
