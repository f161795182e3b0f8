"""The calls as they go over the wire."""

import asyncio
import hashlib
import socket
import threading

import pytest

from bridge_agent.base.resolver import DaemonResolver
from bridge_agent.link.client import ServerClient
from bridge_agent.link.errors import NotHeld, Rejected, ServerAway
from bridge_agent.link.trust import trust
from bridge_agent.protocol.bridge import Heartbeat, Progress, Report
from tests.fakes.server import FakeServer, answer_json, answer_redirect, answer_text

TOKEN = "brg_" + "t" * 43


@pytest.fixture
async def client(server: FakeServer, clock):
    server.accept(TOKEN)
    server.heartbeat = {"kinds": ["bridge.verify"]}
    client = ServerClient(server.url, TOKEN, clock, await trust(""))
    yield client
    await client.close()


@pytest.mark.requirement("R-053", "R-029")
async def test_a_poll_names_wait_kinds_and_claim_on_a_connection_of_its_own(server, client):
    assert await client.next_job(["bridge.verify", "x.y"], 0, "id-1") is None
    await client.heartbeat(Heartbeat(version="1", kinds=[]))
    await client.next_job(["bridge.verify"], 0.5, "id-2")
    first, second = server.of("next")
    assert first.values("wait") == ["0"]
    assert first.values("kind") == ["bridge.verify", "x.y"]
    assert first.headers["X-Claim-Id"] == "id-1"
    assert first.headers["Connection"] == "close"
    assert second.values("wait") == ["0.5"]
    assert first.headers["Authorization"] == f"Bearer {TOKEN}"
    assert "Connection" not in server.of("status")[0].headers


async def test_a_job_without_lease_seconds_has_a_hundred_and_twenty(server, client):
    server.offer(lease_seconds=None, params={"hold_seconds": 5})
    job = await client.next_job(["bridge.verify"], 25, "c")
    assert (job.lease_seconds, job.params, job.path) == (120.0, {"hold_seconds": 5}, "A/Book")


async def test_a_report_leaves_out_what_it_has_nothing_to_say_of(server, client):
    server.offer()
    job = await client.next_job(["bridge.verify"], 0, "c")
    progress = Progress(step="stat", message="Comparing the files", done=1, total=2)
    answer = await client.report(job.id, Report(attempt=1, state="running", progress=progress))
    assert (answer.state, answer.attempt, answer.cancel_requested) == ("running", 1, False)
    assert server.of("report")[0].json == {
        "attempt": 1,
        "state": "running",
        "progress": {"step": "stat", "message": "Comparing the files", "done": 1, "total": 2},
    }
    with pytest.raises(NotHeld) as caught:
        await client.report(job.id, Report(attempt=7, state="running"))
    assert caught.value.state == "running"


async def test_a_books_path_travels_as_it_is(server, client):
    path = "Jürgen & Söhne/50 % + more? #1"
    server.add_book(3, path, [(f"{path}/a.mp3", 7)], sample=True)
    assert (await client.book(3, path)).files[0].path == f"{path}/a.mp3"
    assert (await client.book(3, None)).path == path
    assert [call.values("path") for call in server.of("book")] == [[path], []]
    with pytest.raises(Rejected) as caught:
        await client.book(3, "other")
    assert caught.value.status == 404


async def test_an_artifact_is_streamed_with_its_sum_and_attempt(server, client, tmp_path):
    job = server.offer()
    await client.next_job(["bridge.verify"], 0, "c")
    content = bytes(range(256)) * 4096
    file = tmp_path / "t.json"
    file.write_bytes(content)
    answer = await client.put_artifact(job.id, 1, "t.json", "application/json", file)
    digest = hashlib.sha256(content).hexdigest()
    assert (answer.name, answer.sha256, answer.size_bytes) == ("t.json", digest, len(content))
    assert server.artifacts[job.id, 1, "t.json"] == (digest, content)
    headers = server.of("artifact")[0].headers
    assert headers["Content-Length"] == str(len(content))
    assert headers["Content-Type"] == "application/json"
    with pytest.raises(NotHeld):
        await client.put_artifact(job.id, 2, "t.json", "application/json", file)
    server.script("artifact", answer_text(405, "<html>no such route"))
    with pytest.raises(Rejected) as caught:
        await client.put_artifact(job.id, 1, "t.json", "application/json", file)
    assert caught.value.status == 405


async def test_a_redirect_is_never_followed_so_the_token_goes_nowhere_else(server, client):
    async with FakeServer() as elsewhere:
        server.script("status", answer_redirect(f"{elsewhere.url}/api/v1/bridge/status", 307))
        with pytest.raises(ServerAway) as caught:
            await client.heartbeat(Heartbeat(version="1", kinds=[]))
        assert caught.value.kind == "redirected"
        assert elsewhere.calls == []


async def test_fields_of_a_newer_server_are_ignored(server, client):
    libraries = [{"id": 1, "name": "B", "root": "/b", "colour": "red"}]
    server.script("status", answer_json(200, {"libraries": libraries, "motd": "hello"}))
    answer = await client.heartbeat(Heartbeat(version="1", kinds=[]))
    assert answer.libraries[0].root == "/b"


async def test_an_endless_answer_is_cut_off(server, client, monkeypatch):
    monkeypatch.setattr("bridge_agent.link.client._MOST_BYTES", 1000)
    server.script("status", answer_text(200, "x" * 2000, "application/json"))
    with pytest.raises(ServerAway) as caught:
        await client.heartbeat(Heartbeat(version="1", kinds=[]))
    assert caught.value.kind == "not_a_server"


async def test_a_closed_client_calls_nobody(server, client):
    await client.close()
    with pytest.raises(ServerAway):
        await client.heartbeat(Heartbeat(version="1", kinds=[]))
    assert server.calls == []


async def test_names_are_looked_up_and_unknown_ones_are_told(clock):
    found = await DaemonResolver().resolve("localhost", 80)
    assert {entry["host"] for entry in found} & {"127.0.0.1", "::1"}
    client = ServerClient("http://no-such-host.invalid:1", None, clock, await trust(""))
    with pytest.raises(ServerAway) as caught:
        await client.heartbeat(Heartbeat(version="1", kinds=[]))
    assert "name is not known" in caught.value.message
    await client.close()


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (
            b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"lib',
            "unreachable",
        ),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "not_a_server"),
        (b"", "unreachable"),
    ],
)
@pytest.mark.requirement("R-023")
async def test_an_answer_that_breaks_off_is_none_and_another_protocols_is_no_servers(clock, raw, kind):
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(raw)
        writer.close()

    listener = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    client = ServerClient(f"http://127.0.0.1:{port}", None, clock, await trust(""))
    with pytest.raises(ServerAway) as caught:
        await client.heartbeat(Heartbeat(version="1", kinds=[]))
    assert caught.value.kind == kind
    await client.close()
    listener.close()


async def test_a_sleep_while_the_servers_name_is_looked_up_ends_the_call_and_nothing_else(
    clock, monkeypatch: pytest.MonkeyPatch
):
    looking, release = threading.Event(), threading.Event()

    def stuck(*_: object) -> object:
        looking.set()
        release.wait()
        raise OSError("nobody waits any more")

    monkeypatch.setattr(socket, "getaddrinfo", stuck)
    client = ServerClient("http://maple.test:13390", TOKEN, clock, await trust(""))
    calls = [
        asyncio.create_task(client.next_job(["bridge.verify"], 25, "c")),
        asyncio.create_task(client.heartbeat(Heartbeat(version="1", kinds=[]))),
    ]
    try:
        while not looking.is_set():
            await asyncio.sleep(0.001)
        await client.drop_connections()
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
    finally:
        release.set()
        await client.close()
    assert [type(outcome) for outcome in outcomes] == [ServerAway, ServerAway]
