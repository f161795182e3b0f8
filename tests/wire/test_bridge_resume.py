"""After a stop or a crash: claims are taken up under their own attempt, or found lost."""

import asyncio
from pathlib import Path

import pytest

from bridge_agent.jobs.handlers.base import Done, JobContext, Outcome
from tests.fakes.server import FakeServer, answer_error, until, when
from tests.wire.bridge_rig import Rig, TestHandler, finals_of, reports_of, states_of


@pytest.fixture
async def server():
    async with FakeServer() as server:
        yield server


async def left_running(server: FakeServer, folder: Path, how: str = "crash", **settings: object) -> int:
    """Leave a folder as a Bridge leaves it that ended mid-job; return the job's id."""
    async with Rig(folder, **settings) as rig:
        await rig.pair(server)
        job = server.offer()
        await until(lambda: len(job.reports) >= 2)
        await (rig.crash() if how == "crash" else rig.stop())
    server.calls.clear()
    return job.id


@pytest.mark.requirement("R-078", "R-079", "R-080")
@pytest.mark.parametrize("how", ["crash", "stop"])
async def test_a_running_job_is_resumed_under_its_claim_before_anything_is_claimed(
    server: FakeServer, tmp_path: Path, how: str
):
    job_id = await left_running(server, tmp_path, how)
    async with Rig(tmp_path) as rig:
        row = (await rig.rows(job_id))[0]
        assert (row["state"], row["attempt"]) == ("running", 1)
        await until(lambda: rig.handler.began)
        assert rig.handler.began == [(job_id, 1)]
        ops = [call.op for call in server.calls if call.op != "next"]
        assert ops[:2] == ["status", "report"]
        assert reports_of(server, job_id)[0] == {"attempt": 1, "state": "running"}
        rig.handler.release[job_id].set()
        await until(lambda: server.jobs[job_id].final)
    assert server.jobs[job_id].attempt == 1
    assert finals_of(server, job_id)[0]["attempt"] == 1


@pytest.mark.requirement("R-079")
async def test_the_handler_begins_only_when_the_server_has_confirmed_the_claim(
    server: FakeServer, tmp_path: Path
):
    job_id = await left_running(server, tmp_path)
    answered = asyncio.Event()
    server.script("report", answer_error(503, "unavailable"), when(answered))
    async with Rig(tmp_path, keepalive_seconds=3.0) as rig:
        await server.seen("report", 2)
        assert rig.handler.began == []
        answered.set()
        await until(lambda: rig.handler.began)
        assert rig.handler.began == [(job_id, 1)]


@pytest.mark.requirement("R-080")
async def test_a_lapsed_claim_is_recorded_lost_and_taken_again_as_the_next_attempt(
    server: FakeServer, tmp_path: Path
):
    job_id = await left_running(server, tmp_path)
    server.script("next", when(lost := asyncio.Event()))
    server.take_back(job_id)
    async with Rig(tmp_path) as rig:
        await rig.comes_to(job_id, "lost")
        assert rig.handler.began == []
        lost.set()
        rig.handler.let_all_go()
        await rig.comes_to(job_id, "done")
        rows = await rig.rows(job_id)
    assert [(row["attempt"], row["state"]) for row in rows] == [(2, "done"), (1, "lost")]
    assert states_of(server, job_id).count("running") >= 2
    assert [r["attempt"] for r in finals_of(server, job_id)] == [2]


@pytest.mark.requirement("R-080")
async def test_a_later_attempt_that_is_claimed_first_stops_the_earlier_one(
    server: FakeServer, tmp_path: Path
):
    async with Rig(tmp_path) as rig:
        await rig.pair(server)
        job = server.offer()
        await until(lambda: len(job.reports) >= 2)
        # The server has given the job out again while its answers to reports do not arrive.
        server.always("report", answer_error(503, "unavailable"))
        server.take_back(job.id)
        await until(lambda: rig.handler.began == [(job.id, 1), (job.id, 2)])
        assert rig.handler.stopped == [(job.id, 1)]
        server.always("report", None)
        rig.handler.release[job.id].set()
        await until(lambda: job.final)
        rows = await rig.rows(job.id)
    assert [(row["attempt"], row["state"]) for row in rows] == [(2, "done"), (1, "lost")]
    assert [r["attempt"] for r in finals_of(server, job.id)] == [2]


@pytest.mark.requirement("R-082")
@pytest.mark.parametrize("disabled", [True, False])
async def test_a_job_of_a_kind_that_is_no_longer_run_is_failed(
    server: FakeServer, tmp_path: Path, disabled: bool
):
    job_id = await left_running(server, tmp_path)
    handler = TestHandler() if disabled else TestHandler("other.kind")
    switched_off = ("bridge.verify",) if disabled else ()
    async with Rig(tmp_path, handler, disabled_kinds=switched_off) as rig:
        await until(lambda: server.jobs[job_id].final)
        await rig.comes_to(job_id, "failed")
        assert handler.began == []
        assert rig.jobs.kinds == ([] if disabled else ["other.kind"])
    final = server.jobs[job_id].final
    assert final is not None
    assert (final["attempt"], final["state"]) == (1, "failed")
    assert ("BRIDGE_DISABLED_KINDS" in final["error"]) is disabled


@pytest.mark.requirement("R-096")
async def test_resumed_jobs_count_in_their_lane_even_over_its_limit(server: FakeServer, tmp_path: Path):
    async with Rig(tmp_path) as rig:
        await rig.pair(server)
        jobs = [server.offer(path=f"A/{n}") for n in range(2)]
        await until(lambda: len(rig.handler.began) == 2)
        await rig.crash()
    third = server.offer(path="A/2")
    server.calls.clear()
    async with Rig(tmp_path) as rig:
        await until(lambda: len(rig.handler.began) == 2)
        await asyncio.sleep(0.2)
        assert server.of("next") == []
        assert third.state == "queued"
        rig.handler.release[jobs[0].id].set()
        await until(lambda: third.state == "running")


@pytest.mark.requirement("R-078")
async def test_a_stop_ends_the_parked_poll_and_the_handlers_at_once(server: FakeServer, tmp_path: Path):
    async with Rig(tmp_path) as rig:
        await rig.pair(server)
        job = server.offer()
        await until(lambda: job.reports and len(server.of("next")) == 2)
        began = asyncio.get_running_loop().time()
        await rig.stop()
        assert asyncio.get_running_loop().time() - began < 1.0
        assert rig.handler.stopped == [(job.id, 1)]
        assert len(rig.tasks) == 0
    assert finals_of(server, job.id) == []


async def test_work_that_is_done_when_the_bridge_stops_is_written_down(server: FakeServer, tmp_path: Path):
    stopping = asyncio.Event()

    async def finishes_instead(_: JobContext) -> Outcome:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            stopping.set()
        return Done({"kept": True})

    async with Rig(tmp_path) as rig:
        rig.handler.work = finishes_instead
        await rig.pair(server)
        job = server.offer()
        await until(lambda: rig.handler.began)
        await rig.stop()
    assert stopping.is_set()
    async with Rig(tmp_path) as again:
        await until(lambda: job.final)
        assert again.handler.began == []
    assert job.final is not None
    assert job.final["result"] == {"kept": True}
