"""A refused token, an unpairing, another server: what becomes of the jobs."""

import asyncio
from pathlib import Path

import pytest

from bridge_agent.jobs.handlers.base import Failed, JobContext, Outcome
from bridge_agent.link.errors import TokenRefused
from tests.fakes.server import FakeServer, answer_error, drop, until
from tests.wire.bridge_rig import Rig, finals_of, reports_of

OTHER = "99999999-2222-4333-8444-555555555555"


@pytest.fixture
async def server():
    async with FakeServer() as server:
        yield server


async def running_job(rig: Rig, server: FakeServer) -> int:
    await rig.pair(server)
    job = server.offer()
    await until(lambda: len(job.reports) >= 2)
    return job.id


@pytest.mark.requirement("R-086", "R-087")
async def test_a_refusal_stops_the_job_where_it_is_and_its_end_resumes_it(server: FakeServer, tmp_path: Path):
    async with Rig(tmp_path, refused_retry_seconds=0.6) as rig:
        job_id = await running_job(rig, server)
        tokens = server.revoke()
        await rig.comes_to(job_id, "aside")
        assert rig.link.state == "refused"
        assert rig.handler.stopped == [(job_id, 1)]
        await until(lambda: rig.jobs.lanes()[0]["running"] == 0)
        server.calls.clear()
        await server.seen("status")
        assert {call.op for call in server.calls} == {"status"}

        server.tokens = tokens
        await until(lambda: len(rig.handler.began) == 2)
        after_return = [call for call in server.calls if call.op in ("status", "report")]
        assert after_return[-1].op == "report"
        assert reports_of(server, job_id)[0] == {"attempt": 1, "state": "running"}
        assert (await rig.state(job_id)) == "running"
        rig.handler.release[job_id].set()
        await until(lambda: server.jobs[job_id].final)
    assert rig.handler.began == [(job_id, 1), (job_id, 1)]
    assert len(finals_of(server, job_id)) == 1


@pytest.mark.requirement("R-087")
@pytest.mark.parametrize("worded", [True, False])
async def test_a_handler_that_meets_the_refusal_itself_does_not_fail_its_job(
    server: FakeServer, tmp_path: Path, worded: bool
):
    async def asks(job: JobContext) -> Outcome:
        await rig.handler.release[job.job_id].wait()
        try:
            await rig.link.book(1, "A/Book")
        except TokenRefused as error:
            if worded:
                return Failed(error.message)
            raise
        raise AssertionError("the token was taken")

    async with Rig(tmp_path, keepalive_seconds=9.0, claim_wait_seconds=9.0) as rig:
        rig.handler.work = asks
        await rig.pair(server)
        job = server.offer()
        await until(lambda: rig.handler.began and job.reports)
        server.tokens = []
        rig.handler.release[job.id].set()
        await rig.comes_to(job.id, "aside")
        await asyncio.sleep(0.1)
    assert finals_of(server, job.id) == []


@pytest.mark.requirement("R-087")
async def test_work_that_ends_during_a_refusal_is_reported_after_it(server: FakeServer, tmp_path: Path):
    async with Rig(tmp_path, refused_retry_seconds=0.3) as rig:
        await rig.pair(server)
        job = server.offer()
        await until(lambda: len(job.reports) >= 2)
        server.always("report", drop())
        rig.handler.release[job.id].set()
        await rig.comes_to(job.id, "done")
        tokens = server.revoke()
        server.always("report", None)
        await until(lambda: rig.link.state == "refused")
        server.calls.clear()
        await server.seen("status", 2)
        assert finals_of(server, job.id) == []
        server.tokens = tokens
        await until(lambda: job.final)
        assert rig.handler.began == [(job.id, 1)]


@pytest.mark.requirement("R-088")
async def test_a_new_pairing_with_the_same_server_resumes_the_job(server: FakeServer, tmp_path: Path):
    async with Rig(tmp_path) as rig:
        job_id = await running_job(rig, server)
        await rig.link.unpair()
        assert rig.jobs.view()["running"][0]["job_id"] == job_id
        await until(lambda: rig.jobs.view()["running"][0]["state"] == "aside")
        server.calls.clear()
        await rig.pair(server)
        await until(lambda: len(rig.handler.began) == 2)
        assert rig.handler.began == [(job_id, 1), (job_id, 1)]
        assert reports_of(server, job_id)[0]["attempt"] == 1


@pytest.mark.requirement("R-088")
async def test_a_job_that_the_server_took_back_meanwhile_is_dropped_and_claims_go_on(
    server: FakeServer, tmp_path: Path
):
    async with Rig(tmp_path) as rig:
        job_id = await running_job(rig, server)
        await rig.link.unpair()
        server.jobs[job_id].state = "failed"
        await rig.pair(server)
        await rig.comes_to(job_id, "failed")
        assert rig.handler.began == [(job_id, 1)]
        following = server.offer()
        await until(lambda: following.state == "running")
    assert finals_of(server, job_id) == []


@pytest.mark.requirement("R-089", "R-088")
async def test_paired_with_another_server_the_job_is_lost_and_that_server_never_hears_of_it(
    server: FakeServer, tmp_path: Path
):
    async with FakeServer(server_id=OTHER) as other, Rig(tmp_path) as rig:
        job_id = await running_job(rig, server)
        await rig.link.unpair()
        await rig.pair(other)
        mine = other.offer()
        await until(lambda: mine.state == "running")
        row = await rig.jobs.get(server.server_id, job_id)
        assert row is not None
        assert row["state"] == "lost"
        assert row["note"] == "this Bridge was paired with another server"
        assert mine.id == job_id
        assert (await rig.jobs.get(OTHER, mine.id) or {})["state"] == "running"
        # Both carry the same number; each server heard of its own alone.
        assert len(finals_of(server, job_id)) == 0
        assert all(call.json["attempt"] == 1 for call in other.of("report"))
        assert len(rig.handler.began) == 2


@pytest.mark.requirement("R-089")
async def test_an_unsent_final_report_of_another_server_waits_for_that_server(
    server: FakeServer, tmp_path: Path
):
    async with FakeServer(server_id=OTHER) as other, Rig(tmp_path) as rig:
        await rig.pair(server)
        job = server.offer()
        await until(lambda: len(job.reports) >= 2)
        server.always("report", drop())
        rig.handler.release[job.id].set()
        await rig.comes_to(job.id, "done")
        await rig.link.unpair()
        server.always("report", None)
        await rig.pair(other)
        await asyncio.sleep(0.4)
        row = await rig.jobs.get(server.server_id, job.id)
        assert row is not None
        assert (row["state"], row["reported"]) == ("done", False)
        assert row["note"] == "its server is no longer paired"
        assert other.of("report") == []
        await rig.link.unpair()
        await rig.pair(server)
        await until(lambda: job.final)


@pytest.mark.requirement("R-087")
async def test_a_refusal_found_at_the_start_puts_what_was_left_aside(server: FakeServer, tmp_path: Path):
    async with Rig(tmp_path) as rig:
        job_id = await running_job(rig, server)
        await rig.crash()
    tokens = server.revoke()
    server.calls.clear()
    async with Rig(tmp_path) as rig:
        await rig.comes_to(job_id, "aside")
        assert server.of("report") == []
        await rig.jobs.cancel(server.server_id, job_id)
        assert (await rig.state(job_id)) == "cancelled"
        server.tokens = tokens
        await until(lambda: server.jobs[job_id].final)
    assert [r["state"] for r in finals_of(server, job_id)] == ["cancelled"]
    assert rig.handler.began == []


async def test_many_refusals_and_returns_run_each_job_once_at_a_time(server: FakeServer, tmp_path: Path):
    at_once: list[int] = []
    inside = 0

    async def counted(job: JobContext) -> Outcome:
        nonlocal inside
        inside += 1
        at_once.append(inside)
        try:
            await asyncio.Event().wait()
        finally:
            # Longer than until the link is back.
            await asyncio.sleep(0.06)
            inside -= 1
        raise AssertionError

    async with Rig(tmp_path, refused_retry_seconds=0.02, keepalive_seconds=0.05) as rig:
        rig.handler.work = counted
        await rig.pair(server)
        job = server.offer()
        for round in range(1, 8):
            await until(lambda n=round: len(rig.handler.began) == n)
            tokens = server.revoke()
            await until(lambda: rig.link.state == "refused")
            server.tokens = tokens
        await until(lambda: len(rig.handler.began) == 8)
        assert set(at_once) == {1}
        server.script("report", answer_error(409, "not_held"))
        await rig.comes_to(job.id, "lost")


async def test_news_that_was_overtaken_starts_nothing(server: FakeServer, tmp_path: Path):
    async with Rig(tmp_path) as rig:
        job_id = await running_job(rig, server)
        rig.jobs.link_down("refused")
        rig.jobs.link_ready(server.server_id)
        rig.jobs.link_down("refused")
        await rig.comes_to(job_id, "aside")
        server.calls.clear()
        await asyncio.sleep(0.3)
        assert server.calls == []
        assert rig.handler.began == [(job_id, 1)]
        rig.jobs.link_ready(server.server_id)
        await until(lambda: len(rig.handler.began) == 2)


async def test_hearing_twice_that_the_link_is_ready_runs_nothing_twice(server: FakeServer, tmp_path: Path):
    async with Rig(tmp_path) as rig:
        job_id = await running_job(rig, server)
        rig.jobs.link_ready(server.server_id)
        await asyncio.sleep(0.2)
        assert rig.handler.began == [(job_id, 1)]
        second = server.offer()
        await until(lambda: second.state == "running")


@pytest.mark.requirement("R-088")
async def test_when_an_unpairing_has_settled_the_rows_say_aside(server: FakeServer, tmp_path: Path):
    async with Rig(tmp_path) as rig:
        await rig.pair(server)
        job = server.offer()
        await until(lambda: rig.handler.began)
        await rig.link.unpair()
        await rig.jobs.settled()
        row = await rig.jobs.get(server.server_id, job.id)
        assert row is not None
        assert row["state"] == "aside"
