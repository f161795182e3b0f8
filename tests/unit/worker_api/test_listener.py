"""The second listener: off until a worker is invited, https by its own certificate, no start fails for it."""

import asyncio
import hashlib
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import aiohttp
import pytest
from cryptography import x509

from bridge_agent.base.errors import BridgeError
from bridge_agent.base.tasks import Tasks
from bridge_agent.settings import Address, BridgeSettings
from bridge_agent.transcription.pipeline.executor import Together
from bridge_agent.worker_api.opening import Members, Workers, open_members, open_workers
from bridge_agent.worker_api.tokens import NameTaken
from tests.fakes.clock import FakeClock
from tests.unit.worker_api.rig import STALE, WorkRig, heard

Open = Callable[..., "asyncio.Future[Workers]"]


@pytest.fixture
async def opened(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Open]:
    tasks, all_of_them = Tasks("test"), []

    async def open_(**settings: object) -> Workers:
        chosen = BridgeSettings(
            data_dir=tmp_path,
            **{"worker_listen": Address("127.0.0.1", 0), **settings},  # type: ignore[arg-type]
        )
        members = await open_members(chosen, clock)
        rig = WorkRig(tmp_path, clock, settings=chosen)
        rig.executors = Together([], members.executors)  # type: ignore[assignment]
        workers = open_workers(chosen, clock, tasks, rig.pipeline, members)
        await workers.start()
        all_of_them.append(workers)
        return workers

    yield open_  # type: ignore[misc]
    for workers in all_of_them:
        await workers.stop()
    await tasks.cancel()


async def _get(url: str, tls: ssl.SSLContext | aiohttp.Fingerprint | bool = True) -> tuple[int, object]:
    async with aiohttp.ClientSession() as session, session.get(f"{url}/worker/v1/jobs/x", ssl=tls) as answer:
        return answer.status, await answer.json()


async def test_nothing_listens_before_somebody_is_invited(opened: Open, clock: FakeClock) -> None:
    workers = await opened()
    await clock.advance(60)
    assert not workers.listener.on
    invitation = await workers.invite("gpu", "small")
    assert workers.listener.on
    assert invitation.url == workers.listener.url == f"http://127.0.0.1:{workers.listener.port}"
    assert invitation.fingerprint is None
    assert await _get(invitation.url) == (401, {"error": "missing_worker_token"})
    second = await workers.invite("cpu")
    assert second.url == invitation.url
    with pytest.raises(NameTaken):
        await workers.invite("cpu")


async def test_it_listens_again_after_a_restart_with_the_same_certificate(
    opened: Open, clock: FakeClock, tmp_path: Path
) -> None:
    first = await opened(worker_tls="on")
    invitation = await first.invite("gpu")
    assert invitation.url.startswith("https://127.0.0.1:")
    assert invitation.fingerprint is not None
    pin = aiohttp.Fingerprint(bytes.fromhex(invitation.fingerprint))
    assert (await _get(invitation.url, pin))[0] == 401
    key = tmp_path / "worker-listener" / "key.pem"
    assert key.stat().st_mode & 0o077 == 0
    await first.stop()

    again = await opened(worker_tls="on")
    while not again.listener.on:
        await asyncio.sleep(0.01)
    assert again.listener.fingerprint == invitation.fingerprint
    trusting = ssl.create_default_context(cafile=str(tmp_path / "worker-listener" / "certificate.pem"))
    assert (await _get(again.listener.url, trusting))[0] == 401
    der = ssl.PEM_cert_to_DER_cert((tmp_path / "worker-listener" / "certificate.pem").read_text())
    assert hashlib.sha256(der).hexdigest() == again.listener.fingerprint


@pytest.mark.parametrize(
    ("url", "host"),
    [("https://bridge.maple.home/x", "bridge.maple.home"), ("http://192.0.2.7:9", "192.0.2.7")],
)
async def test_the_certificate_is_good_for_the_address_that_workers_are_given(
    opened: Open, tmp_path: Path, url: str, host: str
) -> None:
    await (await opened(worker_tls="on", public_url=url)).invite("gpu")
    certificate = tmp_path / "worker-listener" / "certificate.pem"
    found = x509.load_pem_x509_certificate(certificate.read_bytes())
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    listed = {str(each.value) for each in names}
    assert host in listed
    assert "localhost" in listed


@pytest.mark.parametrize(
    ("tls", "host", "wanted"),
    [
        ("auto", "127.0.0.1", False),
        ("auto", "0.0.0.0", True),
        ("on", "127.0.0.1", True),
        ("off", "0.0.0.0", False),
    ],
)
async def test_https_is_spoken_as_set_or_wherever_others_can_listen_in(
    opened: Open, tls: str, host: str, wanted: bool
) -> None:
    workers = await opened(worker_tls=tls, worker_listen=Address(host, 0))
    assert workers.listener.tls is wanted
    assert workers.listener.url.startswith("https://" if wanted else "http://")


async def test_the_address_that_is_shown_is_one_that_others_reach(opened: Open) -> None:
    workers = await opened(worker_listen=Address("0.0.0.0", 1234), public_url="https://bridge.lan/x")
    assert workers.listener.url == "https://bridge.lan:1234"
    other = await opened(worker_listen=Address("0.0.0.0", 1234))
    assert "0.0.0.0" not in other.listener.url


async def test_a_port_that_is_taken_stops_no_start_and_is_tried_again(opened: Open, clock: FakeClock) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        first = await opened(worker_listen=Address("127.0.0.1", port))
        with pytest.raises(BridgeError, match="BRIDGE_WORKER_LISTEN"):
            await first.invite("gpu")
        await first.tokens.add("gpu")
        await first.stop()
        workers = await opened(worker_listen=Address("127.0.0.1", port))
        while workers.listener.problem is None:
            await asyncio.sleep(0.01)
        assert "BRIDGE_WORKER_LISTEN" in workers.listener.problem
        assert not workers.listener.on
    await clock.advance(30)
    while not workers.listener.on:
        await asyncio.sleep(0.01)
    assert workers.listener.problem is None


async def test_a_certificate_that_can_not_be_used_is_told_with_what_to_do(
    opened: Open, tmp_path: Path
) -> None:
    workers = await opened(worker_tls="on")
    (tmp_path / "worker-listener").write_text("in the way")
    with pytest.raises(BridgeError, match="worker-listener"):
        await workers.invite("gpu")
    assert workers.tokens.members() == []


async def test_another_wires_routes_stand_beside_and_what_is_nowhere_is_json(opened: Open) -> None:
    from aiohttp import web

    async def health(request: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    workers = await opened()
    workers.more_routes.append(lambda app: app.router.add_get("/health", health) and None)
    url = (await workers.invite("gpu")).url
    async with aiohttp.ClientSession() as session:
        async with session.get(f"{url}/health") as answer:
            assert await answer.json() == {"status": "ok"}
        async with session.get(f"{url}/login") as answer:
            assert (answer.status, answer.content_type) == (404, "application/json")


async def test_the_heartbeat_tells_of_each_worker(rig: WorkRig) -> None:
    members = Members(rig.workers_db, rig.tokens, rig.work_executors)
    workers = open_workers(rig.settings, rig.clock, rig.tasks, rig.pipeline, members)
    await workers.start()
    gpu = await rig.worker("gpu")
    await rig.worker("away", seen=False)
    id_, running = await rig.start(rig.order(rig.book("ab"), job="server/42"))
    await rig.until(lambda: len(rig.decoder.cuts) == 2)
    first = await workers.service.claim(gpu, STALE)
    assert first is not None
    await workers.service.complete(first.ref, STALE, gpu, heard())
    await workers.service.claim(gpu, STALE)
    told = {status.name: status for status in workers.statuses()}
    assert (told["gpu"].state, told["gpu"].job_id) == ("working", 42)
    assert (told["gpu"].engine, told["gpu"].device) == ("fake", "cuda")
    assert (told["away"].state, told["away"].job_id, told["away"].engine) == ("offline", None, None)
    await rig.pipeline.cancel(id_)
    await rig.finish(running)
