"""A whole Bridge against a scripted server: what its page's API tells is what happened on the wire."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from bridge_agent.app.bridge import Bridge
from bridge_agent.base.backoff import token
from bridge_agent.settings import BridgeSettings
from tests.fakes import server as fake
from tests.fakes.server import FakeServer, until

SHORT = {
    "BRIDGE_LISTEN": "127.0.0.1:0",
    "BRIDGE_TOKEN_STORE": "file",
    "BRIDGE_HEARTBEAT_SECONDS": "0.05",
    "BRIDGE_REFUSED_RETRY_SECONDS": "60",
    "BRIDGE_REPORT_SECONDS": "0.02",
    "BRIDGE_KEEPALIVE_SECONDS": "0.05",
}


class Served:
    """A running Bridge, and a client of its page."""

    def __init__(self, folder: Path, **environ: str) -> None:
        self.folder = folder
        self.bridge = Bridge(BridgeSettings.load({**SHORT, **environ}, data_dir=folder))

    async def __aenter__(self) -> "Served":
        await self.bridge.start()
        self.http = aiohttp.ClientSession()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.http.close()
        await self.bridge.stop()

    async def call(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        async with self.http.request(method, self.bridge.url + path, json=body) as answer:
            return answer.status, await answer.json()

    async def pair(self, url: str, code: str = fake.CODE) -> tuple[int, Any]:
        return await self.call("POST", "/api/pair", {"server_url": url, "code": code})

    async def status(self) -> Any:
        return (await self.call("GET", "/api/status"))[1]

    async def comes_to(self, state: str) -> Any:
        """Wait until the page tells of a state of the link; return the status."""
        while True:
            status = await self.status()
            if status["link"]["state"] == state:
                return status
            await asyncio.sleep(0.01)

    async def job(self, job_id: int, state: str) -> Any:
        """Wait until the page tells that a job is in a state; return it."""
        while True:
            code, job = await self.call("GET", f"/api/jobs/{fake.SERVER_ID}/{job_id}")
            if code == 200 and job["state"] == state:
                return job
            await asyncio.sleep(0.01)


@pytest.fixture
async def server() -> AsyncIterator[FakeServer]:
    async with FakeServer() as server:
        yield server


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    async with Served(tmp_path / "bridge") as served:
        yield served


def failed(answer: tuple[int, Any]) -> tuple[int, str]:
    return answer[0], answer[1]["error"]["code"]


# ---- pairing


@pytest.mark.requirement("R-013", "R-014", "R-016")
async def test_pairing_from_the_page_makes_one_call_beats_at_once_and_refuses_a_second(
    served: Served, server: FakeServer
):
    status, body = await served.pair(server.url)
    assert status == 200
    assert body["link"]["server_name"] == "Fake home"
    assert body["link"]["server_id"] == fake.SERVER_ID
    assert body["link"]["server_url"] == server.url
    status = await served.comes_to("online")
    assert status["link"]["online"] is True
    assert status["link"]["last_heartbeat_at"].endswith("Z")
    assert [call.op for call in server.calls][:2] == ["pair", "status"]
    assert failed(await served.pair(server.url)) == (409, "already_paired")
    assert sum(call.op == "pair" for call in server.calls) == 1


@pytest.mark.requirement("R-014", "R-015")
async def test_the_environment_pairs_once_and_the_page_tells_of_it(tmp_path: Path, server: FakeServer):
    environ = {"BRIDGE_SERVER_URL": server.url, "BRIDGE_PAIR_CODE": fake.CODE}
    for _ in range(2):
        async with Served(tmp_path / "bridge", **environ) as served:
            await served.comes_to("online")
    assert sum(call.op == "pair" for call in server.calls) == 1


@pytest.mark.requirement("R-014")
async def test_a_refused_code_of_the_environment_is_told_on_the_page(tmp_path: Path, server: FakeServer):
    environ = {"BRIDGE_SERVER_URL": server.url, "BRIDGE_PAIR_CODE": "ZZZZ-ZZZZ"}
    async with Served(tmp_path / "bridge", **environ) as served:
        while "wrong, used or expired" not in str((await served.status())["link"]["reason"]):
            await asyncio.sleep(0.01)
        async with served.http.get(served.bridge.url + "/") as answer:
            assert "wrong, used or expired" in await answer.text()
        assert (await served.call("GET", "/healthz"))[0] == 200


@pytest.mark.requirement("R-017", "R-018", "R-019", "R-023")
@pytest.mark.parametrize(
    ("answer", "expected", "sentence"),
    [
        (fake.answer_error(401, "invalid_code"), (422, "invalid_code"), "wrong, used or expired"),
        (fake.answer_text(404, "<html>no"), (422, "old_server"), "update"),
        (fake.answer_text(405, "<html>no"), (422, "old_server"), "update"),
        (
            fake.answer_error(403, "no", "Not on a <b>Sunday</b>."),
            (422, "refused"),
            "Not on a <b>Sunday</b>.",
        ),
        (fake.answer_error(429, "rate_limited", "Too many."), (422, "refused"), "Too many."),
        (
            fake.answer_redirect("http://other.example/api/v1/bridge/pair"),
            (502, "redirected"),
            "other.example",
        ),
        (fake.answer_error(500, "internal"), (502, "server_error"), "500"),
        (fake.answer_text(200, "<html>Wi-Fi"), (502, "not_a_server"), "no audiobook server"),
        (fake.drop(), (502, "unreachable"), "can’t be reached"),
    ],
)
async def test_each_failure_has_its_code_and_sentence(
    served: Served, server: FakeServer, answer: fake.Answer, expected: tuple[int, str], sentence: str
):
    server.always("pair", answer)
    told = await served.pair(server.url)
    assert failed(told) == expected
    assert sentence in told[1]["error"]["message"]
    assert (await served.status())["link"]["state"] == "unpaired"


@pytest.mark.requirement("R-020")
async def test_an_untrusted_certificate_advises_the_plain_address_and_sends_nothing(served: Served):
    async with FakeServer(tls=True) as server:
        told = await served.pair(server.url)
        assert failed(told) == (502, "tls_untrusted")
        assert "http://" in told[1]["error"]["message"]
        assert server.calls == []


@pytest.mark.requirement("R-022")
async def test_what_is_no_address_is_400_without_a_call(served: Served, server: FakeServer):
    for wrong in ("server", "ftp://x", "//x", "http:///x", "", f"127.0.0.1:{server.port}", "http://a b"):
        assert failed(await served.pair(wrong)) == (400, "bad_address"), wrong
    assert server.calls == []


@pytest.mark.requirement("R-023")
async def test_a_closed_port_is_502(served: Served, server: FakeServer):
    await server.stop()
    assert failed(await served.pair(server.url)) == (502, "unreachable")


@pytest.mark.requirement("R-012", "R-025")
async def test_unpairing_forgets_the_token_here_and_tells_the_server_nothing(
    served: Served, server: FakeServer
):
    await served.pair(server.url)
    await served.comes_to("online")
    given = server.tokens[0]
    shown = [await served.status()]
    status, body = await served.call("POST", "/api/unpair")
    calls = len(server.calls)
    assert (status, body["link"]["state"], body["libraries"]) == (200, "unpaired", [])
    await asyncio.sleep(0.15)
    assert not [call for call in server.calls[calls:] if call.op in ("status", "pair", "other")]
    assert given not in str(shown)
    for path in served.folder.rglob("*"):
        if path.is_file():
            assert given.encode() not in path.read_bytes(), path


# ---- libraries, link states


@pytest.mark.requirement("R-040")
async def test_the_page_follows_the_servers_list_of_libraries(served: Served, server: FakeServer):
    server.libraries = [
        {"id": 1, "name": "Books", "root": "/srv/books"},
        {"id": 2, "name": "Children", "root": "/srv/kids"},
    ]
    await served.pair(server.url)
    await served.comes_to("online")
    assert [library["name"] for library in (await served.status())["libraries"]] == ["Books", "Children"]
    server.libraries.pop()
    while len((await served.status())["libraries"]) != 1:
        await asyncio.sleep(0.01)


@pytest.mark.requirement("R-035", "R-040")
async def test_a_library_is_mapped_by_its_proposal(served: Served, server: FakeServer, tmp_path: Path):
    books = tmp_path / "media" / "Audiobooks"
    (books / "A" / "Book").mkdir(parents=True)
    (books / "A" / "Book" / "01.mp3").write_bytes(b"12345")
    server.libraries = [{"id": 1, "name": "Books", "root": "/srv/nowhere"}]
    server.add_book(1, "A/Book", [("A/Book/01.mp3", 5)], sample=True)
    await served.pair(server.url)
    await served.comes_to("online")
    status, library = await served.call("PUT", "/api/mappings/1", {"path": str(books)})
    assert status == 200
    assert {key: library[key] for key in ("library_id", "path", "root", "mapped", "ok", "files_matched")} == {
        "library_id": 1,
        "path": str(books),
        "root": "/srv/nowhere",
        "mapped": True,
        "ok": True,
        "files_matched": 1,
    }
    assert {"deepest_existing", "proposals", "readable", "writable", "checked_at"} <= set(library)
    await until(lambda: any(lib["ok"] for lib in (server.heartbeat or {"libraries": []})["libraries"]))
    status, library = await served.call("DELETE", "/api/mappings/1")
    assert (status, library["mapped"], library["ok"], library["path"]) == (200, False, False, "/srv/nowhere")
    status, library = await served.call("POST", "/api/mappings/1/check")
    assert (status, library["ok"]) == (200, False)
    assert failed(await served.call("PUT", "/api/mappings/1", {"path": "books"})) == (400, "bad_path")
    assert failed(await served.call("PUT", "/api/mappings/7", {"path": "/x"})) == (404, "not_found")


@pytest.mark.requirement("R-047", "R-091")
async def test_one_failed_heartbeat_is_offline_and_the_next_good_one_online(
    served: Served, server: FakeServer
):
    await served.pair(server.url)
    await served.comes_to("online")
    server.always("status", fake.answer_error(503, "busy"))
    link = (await served.comes_to("offline"))["link"]
    assert link["online"] is False
    assert link["reason"]
    assert link["next_try_at"].endswith("Z")
    assert (await served.call("GET", "/healthz"))[1] == {"alive": True, "paired": True, "reachable": False}
    server.always("status", None)
    await served.comes_to("online")


@pytest.mark.requirement("R-084", "R-090")
async def test_a_refusal_is_told_with_its_three_causes_and_silence_follows(
    served: Served, server: FakeServer
):
    await served.pair(server.url)
    await served.comes_to("online")
    server.revoke()
    link = (await served.comes_to("refused"))["link"]
    for cause in ("unpaired in the console", "another Bridge was paired", "no longer an enabled admin"):
        assert cause in link["reason"]
    assert link["online"] is False
    await asyncio.sleep(0.05)
    calls = len(server.calls)
    await asyncio.sleep(0.2)
    assert len(server.calls) == calls
    async with served.http.get(served.bridge.url + "/") as answer:
        text = await answer.text()
    assert "another Bridge was paired" in text
    assert "Yes, unpair" in text


# ---- jobs


@pytest.mark.requirement("R-050", "R-077")
async def test_a_job_is_watched_and_cancelled_on_the_page(served: Served, server: FakeServer, tmp_path: Path):
    (tmp_path / "A").mkdir()
    (tmp_path / "A" / "01.mp3").write_bytes(b"12345")
    server.libraries = [{"id": 1, "name": "Books", "root": str(tmp_path)}]
    server.add_book(1, "A", [("A/01.mp3", 5)], sample=True)
    await served.pair(server.url)
    job = server.offer(path="A", params={"hold_seconds": 600})
    shown = await served.job(job.id, "running")
    assert (shown["kind"], shown["path"], shown["attempt"]) == ("bridge.verify", "A", 1)
    await until(lambda: any(r.get("progress", {}).get("step") == "hold" for r in job.reports))
    status = await served.status()
    assert [j["job_id"] for j in status["jobs"]["running"]] == [job.id]
    assert status["lanes"][0]["running"] == 1
    code, _ = await served.call("POST", f"/api/jobs/{fake.SERVER_ID}/{job.id}/cancel")
    assert code == 202
    await served.job(job.id, "cancelled")
    await until(lambda: job.final)
    assert [r["state"] for r in job.reports if r["state"] in fake.ENDED] == ["cancelled"]
    again = await served.call("POST", f"/api/jobs/{fake.SERVER_ID}/{job.id}/cancel")
    assert failed(again) == (409, "finished")
    assert failed(await served.call("POST", f"/api/jobs/{fake.SERVER_ID}/{job.id}/resume")) == (
        409,
        "finished",
    )
    status, listed = await served.call("GET", "/api/jobs?state=cancelled")
    assert [j["job_id"] for j in listed["jobs"]] == [job.id]
    assert failed(await served.call("GET", "/api/jobs?before=nonsense")) == (400, "bad_request")


async def test_the_stream_tells_of_a_job_from_its_beginning_to_its_end(
    served: Served, server: FakeServer, tmp_path: Path
):
    server.libraries = [{"id": 1, "name": "Books", "root": str(tmp_path)}]
    await served.pair(server.url)
    await served.comes_to("online")
    async with served.http.get(served.bridge.url + "/api/events") as stream:
        server.offer(path="A")
        states: list[str] = []
        async with asyncio.timeout(5):
            event = ""
            while not states or states[-1] not in fake.ENDED:
                line = (await stream.content.readline()).decode().strip()
                if line.startswith("event: "):
                    event = line.removeprefix("event: ")
                elif line.startswith("data: ") and event == "job":
                    states.append(json.loads(line.removeprefix("data: "))["state"])
    assert states[0] == "running"
    assert states[-1] == "failed"


async def test_a_second_bridges_token_is_worth_nothing_here(served: Served):
    async with served.http.get(
        served.bridge.url + "/api/status",
        headers={"Authorization": f"Bearer {token('key_')}", "X-Forwarded-For": "10.0.0.9"},
    ) as answer:
        assert answer.status == 401
