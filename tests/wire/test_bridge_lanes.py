"""Lanes: what is claimed while they have room, and what is not."""

import asyncio
from pathlib import Path

import pytest
from aiohttp import web

from tests.fakes.server import Answer, FakeServer, until
from tests.wire.bridge_rig import Rig, TestHandler, finals_of


@pytest.fixture
async def server():
    async with FakeServer() as server:
        yield server


@pytest.mark.requirement("R-096", "R-053")
async def test_a_third_job_is_not_claimed_until_one_of_two_has_ended(server: FakeServer, tmp_path: Path):
    async with Rig(tmp_path) as rig:
        await rig.pair(server)
        first, second, third = (server.offer(path=f"A/{n}") for n in range(3))
        await until(lambda: len(rig.handler.began) == 2)
        polls = len(server.of("next"))
        await asyncio.sleep(0.4)
        assert len(server.of("next")) == polls
        assert third.state == "queued"
        assert rig.jobs.lanes() == [{"name": "light", "limit": 2, "running": 2, "kinds": ["bridge.verify"]}]

        rig.handler.release[first.id].set()
        await until(lambda: third.state == "running")
        assert first.state == "done"
        assert second.state == "running"
        ended_at = next(c.at for c in server.of("report") if c.json["state"] == "done")
        assert server.of("next")[polls].at > ended_at


@pytest.mark.requirement("R-096")
async def test_a_claimed_kind_that_nothing_runs_is_failed_with_a_reason(server: FakeServer, tmp_path: Path):
    async with Rig(tmp_path) as rig:
        # A server that hands out what was not asked for.
        job = server.offer("nobody.knows")
        server.always("next", _hand_out(server, "nobody.knows"))
        await rig.pair(server)
        await until(lambda: job.final)
        server.always("next", None)
        row = await rig.comes_to(job.id, "failed")
    assert job.final is not None
    assert "nobody.knows" in job.final["error"]
    assert row["error"] == job.final["error"]
    assert len(finals_of(server, job.id)) == 1


@pytest.mark.requirement("R-096")
async def test_a_job_over_the_limit_that_was_not_asked_for_waits_its_turn(server: FakeServer, tmp_path: Path):
    light, speech = TestHandler(), TestHandler("transcribe.book", "speech")
    async with Rig(tmp_path, light, speech) as rig:
        # A server that looks at no kinds.
        server.always("next", _hand_out(server, "bridge.verify"))
        first, second, third = (server.offer(path=f"V/{number}") for number in range(3))
        await rig.pair(server)
        await until(lambda: len(light.began) == 2)
        await until(lambda: third.state == "claimed")
        assert rig.jobs.lanes()[0]["running"] == 2
        # Its lease is kept, by a keepalive.
        await until(lambda: third.state == "running")
        assert [number for number, _ in light.began] == [first.id, second.id]
        assert third.final is None
        light.release[first.id].set()
        await until(lambda: len(light.began) == 3)
        light.release[third.id].set()
        await rig.comes_to(third.id, "done")


async def test_a_job_that_waits_its_turn_can_be_cancelled(server: FakeServer, tmp_path: Path):
    light, speech = TestHandler(), TestHandler("transcribe.book", "speech")
    async with Rig(tmp_path, light, speech) as rig:
        server.always("next", _hand_out(server, "bridge.verify"))
        _, _, third = (server.offer(path=f"V/{number}") for number in range(3))
        await rig.pair(server)
        await until(lambda: third.state == "claimed" and rig.jobs.view()["running"][0]["job_id"] == third.id)
        await rig.jobs.cancel(server.server_id, third.id)
        await rig.comes_to(third.id, "cancelled")
        await until(lambda: third.final)
        assert len(finals_of(server, third.id)) == 1
        assert len(light.began) == 2


async def test_a_free_lane_ends_a_parked_poll_and_its_kinds_are_asked_for_under_the_same_id(
    server: FakeServer, tmp_path: Path
):
    light, speech = TestHandler(), TestHandler("transcribe.book", "speech")
    async with Rig(tmp_path, light, speech) as rig:
        await rig.pair(server)
        held = server.offer("transcribe.book")
        await until(lambda: speech.began)
        await until(lambda: server.of("next")[-1].values("kind") == ["bridge.verify"])
        parked = server.of("next")[-1]

        speech.release[held.id].set()
        await until(lambda: server.of("next")[-1].values("kind") == ["bridge.verify", "transcribe.book"])
        asked_anew = server.of("next")[-1]
        assert asked_anew.headers["X-Claim-Id"] == parked.headers["X-Claim-Id"]

        again = server.offer("transcribe.book")
        await until(lambda: again.state == "running")
        await until(lambda: server.of("next")[-1] is not asked_anew)
        assert server.of("next")[-1].headers["X-Claim-Id"] != parked.headers["X-Claim-Id"]


async def test_both_lanes_fill_and_then_nothing_is_asked_for(server: FakeServer, tmp_path: Path):
    light, speech = TestHandler(), TestHandler("transcribe.book", "speech")
    async with Rig(tmp_path, light, speech) as rig:
        await rig.pair(server)
        for number in range(3):
            server.offer("bridge.verify", path=f"V/{number}")
            server.offer("transcribe.book", path=f"T/{number}")
        await until(lambda: len(light.began) == 2 and len(speech.began) == 1)
        polls = len(server.of("next"))
        await asyncio.sleep(0.3)
        assert len(server.of("next")) == polls
        assert sorted(job.state for job in server.jobs.values()) == ["queued"] * 3 + ["running"] * 3


def _hand_out(server: FakeServer, kind: str) -> Answer:
    async def give(request: web.Request) -> web.StreamResponse:
        job = server._claim([kind], request.headers["X-Claim-Id"])
        if job is None:
            return web.Response(status=204)
        return web.json_response({"job": server._job_wire(job)})

    return give
