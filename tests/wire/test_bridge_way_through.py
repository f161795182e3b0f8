"""From the claim to the final report, against a fake server over real HTTP."""

import asyncio
from pathlib import Path

import pytest

from bridge_agent.jobs.handlers.base import Done, JobContext, Outcome
from tests.fakes.server import FakeServer, after, until
from tests.wire.bridge_rig import Rig, finals_of, reports_of, states_of


@pytest.fixture
async def server():
    async with FakeServer() as server:
        yield server


@pytest.mark.requirement("R-050", "R-053")
async def test_a_job_is_claimed_run_reported_and_written_down(server: FakeServer, tmp_path: Path):
    async with Rig(tmp_path) as rig:
        await rig.pair(server)
        rig.handler.let_all_go()
        job = server.offer(path="A/Book", params={"hold_seconds": 1})
        row = await rig.comes_to(job.id, "done")
        await until(lambda: job.final)
    assert states_of(server, job.id) == ["running", "running", "done"]
    assert reports_of(server, job.id)[1]["progress"]["step"] == "hold"
    assert job.final == {
        "attempt": 1,
        "state": "done",
        "progress": {"step": "hold", "message": "Holding, as asked", "done": 0, "total": 10},
        "result": {"job": job.id, "attempt": 1},
    }
    assert row["params"] == {"hold_seconds": 1}
    assert (row["path"], row["library_id"], row["attempt"]) == ("A/Book", 1, 1)


@pytest.mark.requirement("R-053")
async def test_the_poll_waits_at_the_server_and_names_each_free_kind_once(server: FakeServer, tmp_path: Path):
    async with Rig(tmp_path, claim_wait_seconds=25.0) as rig:
        await rig.pair(server)
        (poll,) = await server.seen("next")
        await asyncio.sleep(0.1)
        assert len(server.of("next")) == 1
    assert poll.query == [("wait", "25"), ("kind", "bridge.verify")]
    assert len(poll.headers["X-Claim-Id"]) == 36


async def test_every_step_is_reported_in_order_before_the_end(server: FakeServer, tmp_path: Path):
    async def hurried(job: JobContext) -> Outcome:
        for step in ("mapping", "lookup", "stat", "writable"):
            job.progress(step, f"Doing {step}")
        return Done({})

    server.always("report", after(0.05))
    async with Rig(tmp_path) as rig:
        rig.handler.work = hurried
        await rig.pair(server)
        job = server.offer()
        await until(lambda: job.final)
    steps = [r.get("progress", {}).get("step") for r in reports_of(server, job.id)]
    assert steps == [None, "mapping", "lookup", "stat", "writable", "writable"]
    assert len(finals_of(server, job.id)) == 1
