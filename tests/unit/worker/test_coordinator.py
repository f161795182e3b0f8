"""The worker's questions themselves: where they go, and what they end with."""

import asyncio
import errno
import hashlib
import io
import socket
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from bridge_agent.protocol import coordinator as wire
from bridge_agent.worker.coordinator import Coordinator, Limits
from bridge_agent.worker.errors import BridgeAway, NotTaken, Unfit
from bridge_agent.worker.gate import Gate
from tests.fakes.clock import FakeClock
from tests.fakes.coordinator import TOKEN
from tests.unit.worker.rig import Rig

CONTENT = b"a part's audio"
GIVEN = wire.Input(uri="/tasks/t/input", sha256=hashlib.sha256(CONTENT).hexdigest())


class Behind:
    """A Bridge behind a proxy that has it below a path; everything asked of it is noted."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.url = ""
        self._runner = web.AppRunner(self._app(), access_log=None, shutdown_timeout=0.1)

    async def open(self) -> None:
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def close(self) -> None:
        await self._runner.cleanup()

    def _app(self) -> web.Application:
        app = web.Application()
        app.router.add_get("/{path:.*}", self._answer)
        return app

    async def _answer(self, request: web.Request) -> web.Response:
        self.asked.append(request.path)
        if request.path != "/bridge/tasks/t/input":
            return web.Response(status=404, text="<html>")
        return web.Response(body=CONTENT)


@pytest.fixture
async def behind() -> AsyncIterator[Behind]:
    found = Behind()
    await found.open()
    yield found
    await found.close()


@pytest.mark.parametrize(
    "uri",
    [
        "/tasks/t/input",
        "tasks/t/input",
        "/bridge/tasks/t/input",
        "{url}/bridge/tasks/t/input",
    ],
)
async def test_a_bridge_behind_a_path_gives_its_audio(
    behind: Behind, clock: FakeClock, tmp_path: Path, uri: str
):
    client = Coordinator(f"{behind.url}/bridge", TOKEN, True, clock, Gate(clock, 60.0))
    given = wire.Input(uri=uri.format(url=behind.url), sha256=GIVEN.sha256)
    try:
        await client.fetch(given, tmp_path / "part.flac")
    finally:
        await client.close()
    assert (tmp_path / "part.flac").read_bytes() == CONTENT
    assert behind.asked == ["/bridge/tasks/t/input"]


@pytest.mark.parametrize(
    "uri",
    [
        "{url}/tasks/t/input",
        "//{host}/tasks/t/input",
        "/\t/{host}/tasks/t/input",
        " //{host}/tasks/t/input",
        "http://[/tasks/t/input",
    ],
)
@pytest.mark.parametrize("prefix", ["", "/bridge"])
async def test_audio_of_another_origin_is_not_asked_for(
    behind: Behind, clock: FakeClock, tmp_path: Path, uri: str, prefix: str
):
    client = Coordinator(f"http://127.0.0.1:1{prefix}", TOKEN, True, clock, Gate(clock, 60.0))
    named = uri.format(url=behind.url, host=behind.url.removeprefix("http://"))
    try:
        with pytest.raises((NotTaken, BridgeAway)):
            await client.fetch(wire.Input(uri=named, sha256=GIVEN.sha256), tmp_path / "part.flac")
    finally:
        await client.close()
    assert behind.asked == []


class FullDisk(io.RawIOBase):
    """A file on a disk that has no room left."""

    def writable(self) -> bool:
        return True

    def write(self, piece: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


async def test_a_disk_that_is_full_at_a_part_s_last_bytes_is_told_as_any_full_disk(
    behind: Behind, clock: FakeClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    loop_thread = threading.get_ident()
    closed_by: list[int] = []

    class Buffered(io.BufferedWriter):
        def close(self) -> None:
            if not self.closed:
                closed_by.append(threading.get_ident())
            super().close()

    monkeypatch.setattr(Path, "open", lambda *_: Buffered(FullDisk()))
    client = Coordinator(f"{behind.url}/bridge", TOKEN, True, clock, Gate(clock, 60.0))
    try:
        with pytest.raises(Unfit, match="No space left on device"):
            await client.fetch(GIVEN, tmp_path / "part.flac")
    finally:
        await client.close()
    assert closed_by
    assert loop_thread not in closed_by


class TestDropped:
    """Connections that are cut while a question is under way."""

    async def test_a_question_whose_name_is_being_looked_up_is_asked_again_later(
        self, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
    ):
        looking, release = threading.Event(), threading.Event()

        def stuck(*_: object) -> list[Any]:
            looking.set()
            release.wait()
            return []

        monkeypatch.setattr(socket, "getaddrinfo", stuck)
        client = Coordinator("http://bridge.test:1", TOKEN, True, clock, Gate(clock, 60.0))
        claiming = asyncio.create_task(client.claim("w", ["transcribe"]))
        try:
            while not looking.is_set():
                await asyncio.sleep(0.001)
            await client.drop_connections()
            with pytest.raises(BridgeAway):
                await claiming
        finally:
            release.set()
            await client.close()

    async def test_a_question_on_a_used_connection_is_asked_again_later(self, rig: Rig, tmp_path: Path):
        client = Coordinator(rig.bridge.url, TOKEN, True, rig.clock, Gate(rig.clock, 60.0), short=Limits())
        arrived = asyncio.Event()

        async def silent(request: web.Request) -> None:
            if request.path.endswith("/input"):
                arrived.set()
                await asyncio.sleep(60)

        rig.bridge.instead = silent
        await client.register(wire.Registration(name="w", capabilities=["transcribe"]))
        fetching = asyncio.create_task(client.fetch(GIVEN, tmp_path / "part.flac"))
        try:
            await arrived.wait()
            await client.drop_connections()
            with pytest.raises(BridgeAway):
                await fetching
        finally:
            await client.close()
