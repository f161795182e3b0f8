"""Final reports: sent until the server answers, the same each time, the work never done again."""

import asyncio
import itertools
from pathlib import Path

import pytest

from tests.fakes.server import (
    Call,
    FakeServer,
    answer_error,
    answer_json,
    answer_text,
    done_but,
    drop,
    until,
)
from tests.wire.bridge_rig import Rig, finals_of


@pytest.fixture
async def server():
    async with FakeServer() as server:
        yield server


def final_calls(server: FakeServer) -> list[Call]:
    return [c for c in server.of("report") if c.json["state"] in ("done", "failed", "cancelled")]


async def ends_while_reports_fail(rig: Rig, server: FakeServer) -> int:
    """Let a job end whose final report does not arrive; return its id."""
    await rig.pair(server)
    job = server.offer()
    await until(lambda: len(job.reports) >= 2)
    server.always("report", drop())
    rig.handler.release[job.id].set()
    await rig.comes_to(job.id, "done")
    return job.id


@pytest.mark.requirement("R-081")
async def test_a_final_report_is_repeated_in_its_rhythm_with_the_same_body(
    server: FakeServer, tmp_path: Path
):
    async with Rig(tmp_path) as rig:
        job_id = await ends_while_reports_fail(rig, server)
        await until(lambda: len(final_calls(server)) >= 4)
        assert (await rig.rows(job_id))[0]["reported"] is False
        server.always("report", None)
        await until(lambda: server.jobs[job_id].final)
        await asyncio.sleep(0.45)
        assert (await rig.rows(job_id))[0]["reported"] is True
        calls = final_calls(server)
        assert len({call.body for call in calls}) == 1
        between = [later.at - earlier.at for earlier, later in itertools.pairwise(calls)]
        assert all(0.28 <= gap <= 0.45 for gap in between), between
        assert rig.handler.began == [(job_id, 1)]


@pytest.mark.requirement("R-081", "R-078")
async def test_it_survives_a_restart_and_the_work_is_not_redone(server: FakeServer, tmp_path: Path):
    async with Rig(tmp_path) as rig:
        job_id = await ends_while_reports_fail(rig, server)
        await until(lambda: final_calls(server))
        await rig.crash()
    body = final_calls(server)[0].body
    server.always("report", None)
    async with Rig(tmp_path) as again:
        await until(lambda: server.jobs[job_id].final)
        row = await again.comes_to(job_id, "done")
        assert again.handler.began == []
        assert row["attempt"] == 1
        await asyncio.sleep(0.4)
        assert (await again.rows(job_id))[0]["reported"] is True
    assert {call.body for call in final_calls(server)} == {body}


@pytest.mark.requirement("R-081", "R-064")
async def test_a_409_to_a_final_report_closes_the_row_as_done(server: FakeServer, tmp_path: Path):
    async with Rig(tmp_path) as rig:
        job_id = await ends_while_reports_fail(rig, server)
        server.always("report", answer_error(409, "not_held", state="queued"))
        async with asyncio.timeout(3):
            while not (await rig.rows(job_id))[0]["reported"]:
                await asyncio.sleep(0.01)
        told = len(final_calls(server))
        await asyncio.sleep(0.45)
        row = (await rig.rows(job_id))[0]
        assert len(final_calls(server)) == told
    assert (row["state"], row["note"]) == ("done", "the server has moved on")
    assert row["result"] == {"job": job_id, "attempt": 1}


async def test_a_final_report_whose_answer_was_lost_is_closed_without_a_remark(
    server: FakeServer, tmp_path: Path
):
    async with Rig(tmp_path) as rig:
        await rig.pair(server)
        job = server.offer()
        await until(lambda: len(job.reports) >= 2)
        server.always("report", done_but(drop()))
        rig.handler.release[job.id].set()
        await until(lambda: job.final)
        server.always("report", None)
        async with asyncio.timeout(3):
            while not (await rig.rows(job.id))[0]["reported"]:
                await asyncio.sleep(0.01)
        row = (await rig.rows(job.id))[0]
    assert (row["state"], row["note"]) == ("done", None)


@pytest.mark.parametrize(("status", "code"), [(400, "invalid_report"), (413, "result_too_large")])
async def test_a_final_report_that_is_not_taken_is_replaced_by_a_failure(
    server: FakeServer, tmp_path: Path, status: int, code: str
):
    async with Rig(tmp_path) as rig:
        job_id = await ends_while_reports_fail(rig, server)
        server.always("report", None)
        server.script("report", answer_error(status, code, "Too much for me."))
        job = server.jobs[job_id]
        await until(lambda: job.final)
        row = await rig.comes_to(job_id, "failed")
    assert job.final is not None
    assert job.final["state"] == "failed"
    assert "result" not in job.final
    assert "Too much for me." in job.final["error"]
    assert row["error"] == job.final["error"]


async def test_a_server_that_takes_not_even_the_failure_is_not_asked_for_ever(
    server: FakeServer, tmp_path: Path
):
    async with Rig(tmp_path) as rig:
        job_id = await ends_while_reports_fail(rig, server)
        server.always("report", answer_error(400, "invalid_report"))
        async with asyncio.timeout(3):
            while not (await rig.rows(job_id))[0]["reported"]:
                await asyncio.sleep(0.01)
        told = len(server.of("report"))
        await asyncio.sleep(0.45)
        assert len(server.of("report")) == told
        row = (await rig.rows(job_id))[0]
    assert (row["state"], row["note"]) == ("failed", "the server took no report of it")


@pytest.mark.parametrize(
    "between",
    [answer_text(404, "404 page not found", "text/plain"), answer_json(404, {"message": "no route"})],
)
async def test_a_proxys_404_costs_no_result(server: FakeServer, tmp_path: Path, between):
    async with Rig(tmp_path) as rig:
        job_id = await ends_while_reports_fail(rig, server)
        server.always("report", None)
        server.script("report", between, between)
        job = server.jobs[job_id]
        await until(lambda: job.final)
    assert job.final is not None
    assert job.final["state"] == "done"
    assert len({c.body for c in final_calls(server)}) == 1


async def test_steps_that_the_server_never_heard_of_do_not_hold_the_final_report_up(
    server: FakeServer, tmp_path: Path
):
    async with Rig(tmp_path) as rig:
        job_id = await ends_while_reports_fail(rig, server)
        await until(lambda: finals_of(server, job_id))
        await until(lambda: rig.jobs.lanes()[0]["running"] == 0)
