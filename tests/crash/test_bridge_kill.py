"""A Bridge that is killed, really, at any moment: no job is stranded, redone or reported twice."""

import asyncio
import random
import sqlite3
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.fakes.server import FakeServer, answer_error, until

pytestmark = pytest.mark.slow


async def spawn(folder: Path, server: FakeServer) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.crash.bridge_child",
        str(folder),
        server.url,
        cwd=Path(__file__).parents[2],
    )


async def kill(process: asyncio.subprocess.Process) -> None:
    process.kill()
    await process.wait()


def begun(folder: Path) -> list[tuple[int, int]]:
    lines = (folder / "diary.txt").read_text().split("\n")
    return [(int(job), int(attempt)) for job, attempt in (line.split() for line in lines if line)]


def rows(folder: Path) -> list[tuple[int, int, str, int]]:
    connection = sqlite3.connect(folder / "bridge.sqlite3")
    try:
        query = "SELECT job_id, attempt, state, reported FROM server_jobs ORDER BY job_id, attempt"
        return list(connection.execute(query))
    finally:
        connection.close()


@pytest.mark.requirement("R-078", "R-079", "R-080")
async def test_a_job_that_was_running_at_the_kill_goes_on_under_its_claim(tmp_path: Path):
    async with FakeServer() as server:
        job = server.offer(params={"hold_seconds": 0.5})
        process = await spawn(tmp_path, server)
        await until(lambda: len(job.reports) >= 2, within=20)
        await kill(process)
        assert rows(tmp_path) == [(job.id, 1, "running", 0)]
        server.calls.clear()
        process = await spawn(tmp_path, server)
        await until(lambda: job.final, within=20)
        await until(lambda: rows(tmp_path) == [(job.id, 1, "done", 1)])
        await kill(process)
    assert begun(tmp_path) == [(job.id, 1)] * 2
    assert [c.op for c in server.calls if c.op in ("status", "report")][:2] == ["status", "report"]
    assert job.attempt == 1


@pytest.mark.requirement("R-081")
async def test_a_final_report_that_was_due_at_the_kill_is_sent_and_the_work_not_redone(tmp_path: Path):
    async with FakeServer() as server:
        job = server.offer(params={"hold_seconds": 0.1})
        server.always("report", answer_error(500, "internal"))
        process = await spawn(tmp_path, server)
        await until(lambda: any(c.json["state"] == "done" for c in server.of("report")), within=20)
        await kill(process)
        assert rows(tmp_path) == [(job.id, 1, "done", 0)]
        server.always("report", None)
        process = await spawn(tmp_path, server)
        await until(lambda: job.final, within=20)
        await kill(process)
    assert begun(tmp_path) == [(job.id, 1)]
    finals = {c.body for c in server.of("report") if c.json["state"] == "done"}
    assert len(finals) == 1


@pytest.mark.requirement("R-078", "R-079", "R-081")
async def test_kills_at_any_moment_strand_nothing_and_use_no_attempt_up(tmp_path: Path):
    # This server never lets a lease lapse: a claim that got lost would stay claimed for ever.
    chance = random.Random(13)
    async with FakeServer() as server:
        for number in range(24):
            server.offer(path=f"A/{number}", params={"hold_seconds": round(chance.uniform(0, 0.15), 3)})
        kills = 0
        while not all(job.final for job in server.jobs.values()):
            calls = len(server.calls)
            process = await spawn(tmp_path, server)
            await until(lambda n=calls: len(server.calls) > n, within=20)
            await asyncio.sleep(chance.uniform(0.0, 0.25))
            await kill(process)
            kills += 1
            assert kills < 60
        process = await spawn(tmp_path, server)
        await until(lambda: all(reported for *_, reported in rows(tmp_path)), within=20)
        await kill(process)
    assert kills >= 5
    assert {job.attempt for job in server.jobs.values()} == {1}
    assert [(state, reported) for *_, state, reported in rows(tmp_path)] == [("done", 1)] * 24
    taken = Counter(job.id for job in server.jobs.values() for r in job.reports if r["state"] == "done")
    assert set(taken.values()) == {1}
