"""The fake server itself: that what the rooms are tested against keeps the protocol."""

import asyncio

import aiohttp
import pytest

from tests.fakes.server import CODE, FakeServer, answer_error, drop, until


async def paired(server: FakeServer, http: aiohttp.ClientSession) -> dict[str, str]:
    async with http.post(f"{server.url}/api/v1/bridge/pair", json={"code": CODE}) as answer:
        assert answer.status == 200
        body = await answer.json()
    return {"Authorization": f"Bearer {body['token']}"}


async def test_a_job_is_handed_out_reported_and_ended_under_its_attempt():
    async with FakeServer() as server, aiohttp.ClientSession() as http:
        auth = await paired(server, http)
        next_url = f"{server.url}/api/v1/bridge/jobs/next?wait=5&kind=bridge.verify"
        async with http.get(next_url, headers=auth) as answer:
            assert (answer.status, (await answer.json())["error"]["code"]) == (409, "no_heartbeat")
        beat = {"version": "1", "kinds": ["bridge.verify"], "libraries": [], "workers": [], "ui_url": None}
        async with http.put(f"{server.url}/api/v1/bridge/status", json=beat, headers=auth) as answer:
            assert (await answer.json())["libraries"] == server.libraries

        async def poll() -> dict[str, object]:
            async with http.get(next_url, headers={**auth, "X-Claim-Id": "c1"}) as answer:
                return (await answer.json())["job"]

        parked = asyncio.create_task(poll())
        await server.seen("next", 2)
        job = server.offer()
        first = await parked
        assert (first["id"], first["attempt"]) == (job.id, 1)
        repeated = await poll()
        assert (repeated["id"], repeated["attempt"]) == (job.id, 1)

        report_url = f"{server.url}/api/v1/bridge/jobs/{job.id}"
        job.cancel_requested = True
        async with http.patch(report_url, json={"attempt": 1, "state": "running"}, headers=auth) as answer:
            assert (await answer.json())["cancel_requested"] is True
        async with http.patch(report_url, json={"attempt": 1, "state": "cancelled"}, headers=auth) as answer:
            assert answer.status == 200
        async with http.patch(report_url, json={"attempt": 1, "state": "running"}, headers=auth) as answer:
            error = (await answer.json())["error"]
            assert (answer.status, error["code"], error["state"]) == (409, "not_held", "cancelled")


async def test_scripted_answers_go_first_and_every_call_is_recorded():
    async with FakeServer(base_path="/books") as server, aiohttp.ClientSession() as http:
        server.script("pair", answer_error(503, "busy", headers={"Retry-After": "7"}), drop())
        url = f"{server.url}/api/v1/bridge/pair"
        async with http.post(url, json={"code": CODE}) as answer:
            assert (answer.status, answer.headers["Retry-After"]) == (503, "7")
        with pytest.raises(aiohttp.ClientError):
            await http.post(url, json={"code": CODE})
        await paired(server, http)
        assert [call.json["code"] for call in server.of("pair")] == [CODE] * 3
        assert server.of("pair")[0].path == "/books/api/v1/bridge/pair"


async def test_a_stopping_server_ends_a_parked_poll_with_204():
    async with FakeServer() as server, aiohttp.ClientSession() as http:
        auth = await paired(server, http)
        server.heartbeat = {"kinds": ["bridge.verify"]}

        async def poll() -> int:
            async with http.get(f"{server.url}/api/v1/bridge/jobs/next?wait=25", headers=auth) as answer:
                return answer.status

        parked = asyncio.create_task(poll())
        await until(lambda: server.of("next"))
        await server.stop()
        assert await parked == 204
