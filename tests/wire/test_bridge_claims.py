"""Claims: answers that get lost, polls that are ended, servers that have nothing or want a heartbeat."""

import asyncio
import sqlite3
from pathlib import Path

import pytest
from aiohttp import web

from tests.fakes.server import Answer, FakeServer, after, answer_error, done_but, drop, until, when
from tests.wire.bridge_rig import Rig, TestHandler


@pytest.fixture
async def server():
    async with FakeServer() as server:
        yield server


def claim_ids(server: FakeServer) -> list[str]:
    return [call.headers["X-Claim-Id"] for call in server.of("next")]


def nothing_at_once() -> Answer:
    async def give(_: web.Request) -> web.StreamResponse:
        return web.Response(status=204)

    return give


async def test_each_poll_that_is_no_retry_has_an_id_of_its_own(server: FakeServer, tmp_path: Path):
    async with Rig(tmp_path, claim_wait_seconds=0.1) as rig:
        await rig.pair(server)
        await server.seen("next", 4)
    assert len(set(claim_ids(server))) == len(claim_ids(server))


async def test_a_lost_claim_answer_brings_the_same_job_under_the_same_attempt(
    server: FakeServer, tmp_path: Path
):
    server.script("next", done_but(drop()), done_but(answer_error(502, "bad_gateway")))
    job = server.offer()
    async with Rig(tmp_path) as rig:
        await rig.pair(server)
        rig.handler.let_all_go()
        await until(lambda: job.final, within=8)
        assert rig.handler.began == [(job.id, 1)]
    assert job.attempt == 1
    assert len(set(claim_ids(server)[:3])) == 1


@pytest.mark.requirement("R-078")
async def test_not_even_a_crash_between_the_claim_and_its_row_strands_a_job(
    server: FakeServer, tmp_path: Path
):
    never = asyncio.Event()
    server.script("next", done_but(when(never)))
    job = server.offer()
    async with Rig(tmp_path) as rig:
        await rig.pair(server)
        await until(lambda: job.state == "claimed")
        await rig.crash()
    async with Rig(tmp_path) as again:
        await until(lambda: again.handler.began)
        assert again.handler.began == [(job.id, 1)]
    assert job.attempt == 1
    assert claim_ids(server)[0] == claim_ids(server)[1]


async def test_a_poll_ended_while_its_answer_travels_strands_nothing(server: FakeServer, tmp_path: Path):
    light, speech = TestHandler(), TestHandler("transcribe.book", "speech")
    async with Rig(tmp_path, light, speech) as rig:
        await rig.pair(server)
        held = server.offer("transcribe.book")
        await until(lambda: speech.began)
        await until(lambda: server.of("next")[-1].values("kind") == ["bridge.verify"])
        polls = len(server.of("next"))
        # The parked poll's answer takes a second; while it travels the speech lane becomes free.
        server.script("next", done_but(after(1.0)))
        parked_job = server.offer()
        await until(lambda: parked_job.state == "running")
        travelling = server.offer(path="A/Travelling")
        await until(lambda: travelling.state == "claimed")
        assert len(server.of("next")) > polls
        speech.release[held.id].set()
        await until(lambda: travelling.state == "running")
        assert travelling.attempt == 1
        assert (travelling.id, 1) in light.began
        ended, repeated = server.of("next")[polls:][:2]
        assert ended.headers["X-Claim-Id"] == repeated.headers["X-Claim-Id"]
        assert repeated.at - ended.at < 0.9


async def test_a_thousand_cancels_at_claim_time_strand_nothing(server: FakeServer, tmp_path: Path):
    handler = TestHandler()
    handler.let_all_go()
    async with Rig(tmp_path, handler, claim_wait_seconds=5.0) as rig:
        await rig.pair(server)
        await server.seen("next")
        ended = 0
        for number in range(100):
            server.offer(path=f"A/{number}")
            # Ten interruptions a job, at whatever point its claim happens to be.
            for turn in range(10):
                rig.jobs._post.claiming = False
                rig.jobs._claims.nudge()
                await asyncio.sleep(0.0005 * ((number + turn) % 5))
                rig.jobs._post.claiming = True
                rig.jobs._claims.nudge()
                await asyncio.sleep(0.0005 * ((number * 3 + turn) % 7))
                ended += 1
        await until(lambda: all(job.final for job in server.jobs.values()), within=30)
    assert ended == 1000
    assert len(claim_ids(server)) - len(set(claim_ids(server))) > 100
    assert len(handler.began) == 100
    assert {job.attempt for job in server.jobs.values()} == {1}


@pytest.mark.requirement("R-059")
async def test_a_server_without_our_heartbeat_gets_one_and_is_asked_again(server: FakeServer, tmp_path: Path):
    async with Rig(tmp_path) as rig:
        server.script("next", answer_error(409, "no_heartbeat", "Send a heartbeat first."))
        await rig.pair(server)
        job = server.offer()
        await until(lambda: job.state == "running", within=3)
    assert [call.op for call in server.calls if call.op in ("status", "next")][:4] == [
        "status",
        "next",
        "status",
        "next",
    ]


async def test_an_early_empty_answer_is_waited_out_unless_a_heartbeat_brings_news(
    server: FakeServer, tmp_path: Path
):
    server.always("next", nothing_at_once())
    async with Rig(tmp_path, claim_wait_seconds=25.0) as rig:
        await rig.pair(server)
        await server.seen("next", 2)
        rig.link.beat_now()
        await server.seen("status", 2)
        await asyncio.sleep(0.2)
        assert len(server.of("next")) == 2
        server.libraries.append({"id": 2, "name": "More", "root": "/srv/more"})
        rig.link.beat_now()
        await until(lambda: len(server.of("next")) == 3, within=1.0)
    (first, second, third) = (call.at for call in server.of("next"))
    assert 0.95 <= second - first <= 1.5
    assert third - second < 1.5


@pytest.mark.requirement("R-058")
async def test_a_stopping_servers_empty_answer_is_no_error(server: FakeServer, tmp_path: Path):
    async with Rig(tmp_path, heartbeat_seconds=0.3) as rig:
        await rig.pair(server)
        await server.seen("next")
        await server.stop()
        await server.restart()
        job = server.offer()
        await until(lambda: job.state == "running")
        assert rig.loops.healthy


async def test_a_job_that_can_not_be_written_down_is_not_run_and_comes_again(
    server: FakeServer, tmp_path: Path
):
    async with Rig(tmp_path) as rig:
        await rig.pair(server)
        await server.seen("next")
        await rig.db.write(
            lambda c: c.execute(
                "CREATE TRIGGER full BEFORE INSERT ON server_jobs BEGIN SELECT RAISE(ABORT, 'full'); END"
            )
        )
        job = server.offer()
        await until(lambda: job.state == "claimed")
        await server.seen("next", 2)
        assert rig.handler.began == []
        await rig.db.write(lambda c: c.execute("DROP TRIGGER full"))
        await until(lambda: job.state == "running")
    assert job.attempt == 1


async def test_nothing_is_claimed_while_an_id_can_not_be_kept(server: FakeServer, tmp_path: Path):
    async with Rig(tmp_path, claim_wait_seconds=0.2) as rig:
        await rig.db.write(
            lambda c: c.execute(
                "CREATE TRIGGER full BEFORE INSERT ON meta WHEN new.name = 'claim' "
                "BEGIN SELECT RAISE(ABORT, 'full'); END"
            )
        )
        await rig.pair(server)
        await asyncio.sleep(0.3)
        assert server.of("next") == []
        await rig.db.write(lambda c: c.execute("DROP TRIGGER full"))
        await server.seen("next", within=3)


async def test_a_server_whose_data_was_set_back_may_give_an_ended_attempt_anew(
    server: FakeServer, tmp_path: Path
):
    async with Rig(tmp_path) as rig:
        await rig.pair(server)
        rig.handler.let_all_go()
        job = server.offer()
        await until(lambda: job.final)
        async with asyncio.timeout(3):
            while not (await rig.rows(job.id))[0]["reported"]:
                await asyncio.sleep(0.01)
        job.state, job.attempt, job.reports = "queued", 0, []
        server.offer(path="A/Next")
        await until(lambda: job.final and server.jobs[2].final)
        assert rig.handler.began.count((job.id, 1)) == 2


async def test_the_id_on_disk_goes_with_the_row_that_answers_it(server: FakeServer, tmp_path: Path):
    def kept(c: sqlite3.Connection) -> int:
        return int(c.execute("SELECT count(*) FROM meta WHERE name = 'claim'").fetchone()[0])

    async with Rig(tmp_path) as rig:
        await rig.pair(server)
        await server.seen("next")
        assert await rig.db.read(kept) == 1
        server.offer(path="A/1")
        server.offer(path="A/2")
        await until(lambda: len(rig.handler.began) == 2)
        assert await rig.db.read(kept) == 0
