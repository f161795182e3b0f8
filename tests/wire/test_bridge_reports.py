"""What is reported while a job runs: steps, changes, signs of life; and what the answers bring about."""

import asyncio
import contextlib
import itertools
from pathlib import Path

import pytest

from bridge_agent.jobs.errors import Finished
from bridge_agent.jobs.handlers.base import Done, Failed, JobContext, Outcome
from tests.fakes.server import Call, FakeServer, after, answer_error, answer_json, drop, hang, until
from tests.wire.bridge_rig import Rig, finals_of, noting, reports_of, states_of


@pytest.fixture
async def server():
    async with FakeServer() as server:
        yield server


def gaps(calls: list[Call]) -> list[float]:
    return [later.at - earlier.at for earlier, later in itertools.pairwise(calls)]


@pytest.mark.requirement("R-062")
async def test_a_new_step_is_reported_at_once_and_changes_within_it_in_the_rhythm(
    server: FakeServer, tmp_path: Path
):
    stepped_at: list[float] = []

    async def busy(job: JobContext) -> Outcome:
        for count in range(60):
            job.progress("stat", "Comparing the files", count, 60)
            await asyncio.sleep(0.01)
        stepped_at.append(asyncio.get_running_loop().time())
        job.progress("hold", "Holding, as asked", 0, 1)
        await asyncio.Event().wait()
        raise AssertionError

    async with Rig(tmp_path, keepalive_seconds=5.0) as rig:
        rig.handler.work = busy
        await rig.pair(server)
        server.offer()
        await until(lambda: any(r.get("progress", {}).get("step") == "hold" for r in reports_of(server, 1)))
        calls = server.of("report")
    compared = [c for c in calls if c.json.get("progress", {}).get("step") == "stat"]
    assert 3 <= len(compared) <= 5
    assert min(gaps(compared)) >= 0.2
    held = next(c for c in calls if c.json.get("progress", {}).get("step") == "hold")
    assert held.at - stepped_at[0] < 0.15


@pytest.mark.requirement("R-062", "R-063")
async def test_a_silent_handler_is_spoken_for_at_least_every_keepalive(server: FakeServer, tmp_path: Path):
    async with Rig(tmp_path, keepalive_seconds=0.4) as rig:
        await rig.pair(server)
        server.offer()
        calls = await server.seen("report", 8)
    assert max(gaps(calls[2:])) <= 0.45
    assert {tuple(sorted(c.json)) for c in calls[2:]} == {("attempt", "progress", "state")}


@pytest.mark.requirement("R-063")
async def test_a_short_lease_never_lapses_though_connections_drop_and_hang(
    server: FakeServer, tmp_path: Path
):
    lease = 1.2
    taken: list[float] = []
    server.always("report", noting(taken))
    async with Rig(tmp_path, keepalive_seconds=10.0) as rig:
        await rig.pair(server)
        server.offer(lease_seconds=lease)
        for trouble in (drop(), hang(), answer_error(503, "unavailable")):
            server.script("report", trouble)
            so_far = len(taken)
            await until(lambda n=so_far: len(taken) >= n + 2)
        assert server.jobs[1].state == "running"
    assert max(later - earlier for earlier, later in itertools.pairwise(taken)) < lease


@pytest.mark.requirement("R-064")
@pytest.mark.parametrize(
    ("told", "shown", "note"),
    [
        ({}, "lost", "the server no longer counts it as this Bridge’s"),
        ({"state": "queued"}, "lost", "queued again on the server"),
        ({"state": "claimed"}, "lost", "claimed again on the server"),
        ({"state": "cancelled"}, "cancelled", "cancelled on the server"),
        ({"state": "failed"}, "failed", "ended as failed on the server"),
    ],
)
async def test_a_409_stops_the_job_and_nothing_more_is_reported(
    server: FakeServer, tmp_path: Path, told: dict[str, str], shown: str, note: str
):
    async with Rig(tmp_path) as rig:
        await rig.pair(server)
        job = server.offer()
        await until(lambda: len(job.reports) >= 2)
        server.always("report", answer_error(409, "not_held", **told))
        row = await rig.comes_to(job.id, shown)
        assert rig.handler.stopped == [(job.id, 1)]
        reports = len(server.of("report"))
        await asyncio.sleep(0.45)
        assert len(server.of("report")) == reports
        assert row["note"] == note
        assert finals_of(server, job.id) == []
        await until(lambda: rig.jobs.lanes()[0]["running"] == 0)


@pytest.mark.requirement("R-066")
async def test_texts_are_cut_to_their_limits_at_a_characters_edge(server: FakeServer, tmp_path: Path):
    async def wordy(job: JobContext) -> Outcome:
        job.progress("ß" * 100, "𝄞" * 400)
        return Failed("x" + "𝄞" * 400)

    async with Rig(tmp_path) as rig:
        rig.handler.work = wordy
        await rig.pair(server)
        job = server.offer()
        await until(lambda: job.final)
    final = job.final
    assert final is not None
    assert final["progress"]["step"] == "ß" * 64
    assert final["progress"]["message"] == "𝄞" * 256
    assert final["error"] == "x" + "𝄞" * 255


@pytest.mark.requirement("R-066")
@pytest.mark.parametrize("result", [{"text": "x" * (256 * 1024)}, {"text": object()}])
async def test_a_result_that_does_not_fit_fails_the_job_with_a_reason(
    server: FakeServer, tmp_path: Path, result: dict[str, object]
):
    async def large(_: JobContext) -> Outcome:
        return Done(result)

    async with Rig(tmp_path) as rig:
        rig.handler.work = large
        await rig.pair(server)
        job = server.offer()
        await until(lambda: job.final)
        row = await rig.comes_to(job.id, "failed")
    assert job.final is not None
    assert job.final["state"] == "failed"
    assert "result" not in job.final
    assert job.final["error"].startswith("The result ")
    assert row["result"] is None


@pytest.mark.requirement("R-073")
async def test_a_cancel_in_an_answer_stops_the_job_with_exactly_one_final_report(
    server: FakeServer, tmp_path: Path
):
    async with Rig(tmp_path) as rig:
        await rig.pair(server)
        job = server.offer()
        await until(lambda: rig.handler.began)
        job.cancel_requested = True
        row = await rig.comes_to(job.id, "cancelled")
        await asyncio.sleep(0.45)
        assert rig.handler.stopped == [(job.id, 1)]
    assert states_of(server, job.id)[-1] == "cancelled"
    assert len(finals_of(server, job.id)) == 1
    assert row["error"] is None


async def test_a_cancel_does_not_wait_until_every_step_is_told(server: FakeServer, tmp_path: Path):
    async def hasty(job: JobContext) -> Outcome:
        for number in range(100):
            job.progress(f"step {number}", "Hurrying")
        await asyncio.Event().wait()
        raise AssertionError

    server.always("report", after(0.05))
    async with Rig(tmp_path) as rig:
        rig.handler.work = hasty
        await rig.pair(server)
        job = server.offer()
        await until(lambda: len(job.reports) >= 3)
        await rig.jobs.cancel(server.server_id, job.id)
        await until(lambda: job.final, within=1.0)
    assert len(job.reports) < 20


async def test_a_handler_that_tidies_up_after_a_cancel_is_told_only_once(server: FakeServer, tmp_path: Path):
    tidied: list[str] = []

    async def careful(job: JobContext) -> Outcome:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.8)
            tidied.append("all of it")
        raise AssertionError

    async with Rig(tmp_path) as rig:
        rig.handler.work = careful
        await rig.pair(server)
        job = server.offer()
        await until(lambda: rig.handler.began)
        job.cancel_requested = True
        await until(lambda: job.final)
    assert tidied == ["all of it"]
    # The lease was kept meanwhile.
    assert states_of(server, job.id).count("running") >= 3


@pytest.mark.requirement("R-077")
async def test_a_cancel_on_the_page_is_reported_as_the_admins_is(server: FakeServer, tmp_path: Path):
    async with Rig(tmp_path) as rig:
        await rig.pair(server)
        job = server.offer()
        await until(lambda: rig.handler.began)
        await rig.jobs.cancel(server.server_id, job.id)
        await until(lambda: job.final)
        await rig.comes_to(job.id, "cancelled")
    assert job.final is not None
    assert job.final["state"] == "cancelled"
    assert len(finals_of(server, job.id)) == 1


@pytest.mark.parametrize("delay", [0.0, 0.001, 0.003, 0.01, 0.03])
async def test_a_cancel_that_races_the_end_leaves_one_final_report(
    server: FakeServer, tmp_path: Path, delay: float
):
    async with Rig(tmp_path) as rig:
        await rig.pair(server)
        job = server.offer()
        await until(lambda: rig.handler.began)
        rig.handler.release[job.id].set()
        await asyncio.sleep(delay)
        job.cancel_requested = True
        with contextlib.suppress(Finished):
            await rig.jobs.cancel(server.server_id, job.id)
        await until(lambda: job.final)
        await asyncio.sleep(0.35)
        row = (await rig.rows(job.id))[0]
    assert len(finals_of(server, job.id)) == 1
    assert job.final is not None
    assert row["state"] == job.final["state"]
    assert row["reported"]


async def test_a_handler_that_crashes_fails_its_job_in_plain_words(server: FakeServer, tmp_path: Path):
    async def broken(_: JobContext) -> Outcome:
        raise ZeroDivisionError("secret inside")

    async with Rig(tmp_path) as rig:
        rig.handler.work = broken
        await rig.pair(server)
        job = server.offer()
        await until(lambda: job.final)
    assert job.final is not None
    assert job.final["state"] == "failed"
    assert "secret" not in job.final["error"]
    assert job.final["error"].endswith("queue the job anew.")


async def test_while_the_server_is_away_the_work_goes_on_and_its_return_renews_the_claim(
    server: FakeServer, tmp_path: Path
):
    counted: list[int] = []

    async def count(job: JobContext) -> Outcome:
        for number in range(200):
            counted.append(number)
            job.progress("count", "Counting", number)
            await asyncio.sleep(0.01)
        return Done({})

    async with Rig(tmp_path) as rig:
        rig.handler.work = count
        await rig.pair(server)
        job = server.offer(lease_seconds=0.6)
        await until(lambda: len(job.reports) >= 2)
        server.everywhere(drop())
        before = len(counted)
        await asyncio.sleep(0.8)
        assert len(counted) > before + 20
        assert (await rig.state(job.id)) == "running"
        server.everywhere(None)
        await until(lambda: job.final)
        assert rig.handler.began == [(job.id, 1)]


@pytest.mark.requirement("R-091")
async def test_a_503_is_not_a_refusal(server: FakeServer, tmp_path: Path):
    busy = answer_error(503, "unavailable", headers={"Retry-After": "1"})
    async with Rig(tmp_path, heartbeat_seconds=0.2) as rig:
        await rig.pair(server)
        job = server.offer()
        await until(lambda: rig.handler.began)
        for op in ("status", "report", "next"):
            server.script(op, busy, busy, busy)
        told = len(job.reports)
        await until(lambda: len(job.reports) > told + 2)
        assert rig.link.state != "refused"
        assert rig.handler.stopped == []
        rig.handler.release[job.id].set()
        await until(lambda: job.final)
        assert {row["state"] for row in rig.seen} == {"running", "done"}


async def test_a_report_that_is_not_taken_does_not_end_the_job(server: FakeServer, tmp_path: Path):
    async with Rig(tmp_path) as rig:
        await rig.pair(server)
        server.script(
            "report", answer_error(400, "invalid_report"), answer_json(404, {"message": "no route"})
        )
        job = server.offer()
        await until(lambda: len(job.reports) >= 2)
        rig.handler.release[job.id].set()
        await until(lambda: job.final)
    assert job.final is not None
    assert job.final["state"] == "done"
