"""Jobs that only a person can help on: they wait, keep their lease, leave their lane, and try again."""

import asyncio
from pathlib import Path

import pytest

from bridge_agent.jobs.errors import Finished, NoSuchJob, NotWaiting
from bridge_agent.jobs.handlers.base import AttentionNeeded, Done, JobContext, NeedsAttention, Outcome
from tests.fakes.server import FakeServer, until
from tests.wire.bridge_rig import Rig, finals_of, states_of


@pytest.fixture
async def server():
    async with FakeServer() as server:
        yield server


class Mending:
    """Work that needs a person until it is mended."""

    def __init__(self, raises: bool = False) -> None:
        self.mended = False
        self.raises = raises

    async def __call__(self, job: JobContext) -> Outcome:
        job.progress("mapping", "Finding the library")
        if self.mended:
            return Done({})
        if self.raises:
            raise AttentionNeeded("Connect the drive and press “Try again”.")
        return NeedsAttention("Connect the drive and press “Try again”.")


@pytest.mark.parametrize("raises", [False, True])
async def test_it_waits_outside_its_lane_keeps_its_lease_and_tries_again_when_told(
    server: FakeServer, tmp_path: Path, raises: bool
):
    async with Rig(tmp_path) as rig:
        work = rig.handler.work = Mending(raises)
        await rig.pair(server)
        job = server.offer()
        row = await rig.comes_to(job.id, "needs_attention")
        assert row["error"] == "Connect the drive and press “Try again”."
        await until(lambda: rig.jobs.lanes()[0]["running"] == 0)
        await until(lambda: states_of(server, job.id).count("needs_attention") >= 3)
        assert job.reports[-1]["error"] == row["error"]

        work.mended = True
        await rig.jobs.resume(server.server_id, job.id)
        await until(lambda: job.final)
        assert rig.handler.began == [(job.id, 1)] * 2
        done = await rig.comes_to(job.id, "done")
    assert done["error"] is None
    assert states_of(server, job.id)[-1] == "done"
    assert "running" in states_of(server, job.id)[3:]


async def test_the_log_says_once_that_it_waits_and_once_that_it_goes_on(
    server: FakeServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    caplog.set_level("INFO", "bridge_agent.jobs.runner")
    async with Rig(tmp_path) as rig:
        work = rig.handler.work = Mending()
        await rig.pair(server)
        job = server.offer()
        await rig.comes_to(job.id, "needs_attention")
        await until(lambda: states_of(server, job.id).count("needs_attention") >= 3)
        work.mended = True
        await rig.jobs.resume(server.server_id, job.id)
        await until(lambda: job.final)
    said = [(each.levelname, each.message) for each in caplog.records if each.message.startswith("Job")]
    assert said == [
        ("WARNING", f"Job {job.id} needs you: Connect the drive and press “Try again”."),
        ("INFO", f"Job {job.id} goes on."),
    ]


async def test_it_can_be_cancelled_on_the_page(server: FakeServer, tmp_path: Path):
    async with Rig(tmp_path) as rig:
        rig.handler.work = Mending()
        await rig.pair(server)
        job = server.offer()
        await rig.comes_to(job.id, "needs_attention")
        await rig.jobs.cancel(server.server_id, job.id)
        await until(lambda: job.final)
        row = await rig.comes_to(job.id, "cancelled")
    assert [r["state"] for r in finals_of(server, job.id)] == ["cancelled"]
    assert row["error"] is None


async def test_a_cancel_on_the_server_is_shown_by_its_name(server: FakeServer, tmp_path: Path):
    async with Rig(tmp_path) as rig:
        rig.handler.work = Mending()
        await rig.pair(server)
        job = server.offer()
        await until(lambda: job.state == "needs_attention")
        job.state = "cancelled"
        row = await rig.comes_to(job.id, "cancelled")
    assert row["note"] == "cancelled on the server"
    assert finals_of(server, job.id) == []


async def test_after_a_restart_it_tries_again_by_itself(server: FakeServer, tmp_path: Path):
    async with Rig(tmp_path) as rig:
        rig.handler.work = Mending()
        await rig.pair(server)
        job = server.offer()
        await until(lambda: job.state == "needs_attention")
        await rig.crash()
    async with Rig(tmp_path) as rig:
        rig.handler.let_all_go()
        await until(lambda: job.final)
        assert rig.handler.began == [(job.id, 1)]


async def test_what_can_not_be_done_is_said(server: FakeServer, tmp_path: Path):
    async with Rig(tmp_path) as rig:
        await rig.pair(server)
        job = server.offer()
        await until(lambda: rig.handler.began)
        with pytest.raises(NotWaiting):
            await rig.jobs.resume(server.server_id, job.id)
        with pytest.raises(NoSuchJob):
            await rig.jobs.cancel(server.server_id, 77)
        with pytest.raises(NoSuchJob):
            await rig.jobs.resume("another server", job.id)
        rig.handler.release[job.id].set()
        await rig.comes_to(job.id, "done")
        with pytest.raises(Finished):
            await rig.jobs.cancel(server.server_id, job.id)
        with pytest.raises(Finished):
            await rig.jobs.resume(server.server_id, job.id)
        assert await rig.jobs.get(server.server_id, 77) is None
        await asyncio.sleep(0)
