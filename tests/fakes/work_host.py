"""A Bridge's pipeline with its worker listener in a test's process, worker processes, and a cable to pull."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from bridge_agent.base.clock import SystemClock
from bridge_agent.base.tasks import Tasks
from bridge_agent.settings import Address, BridgeSettings
from bridge_agent.transcription import assembly
from bridge_agent.transcription.formats.documents import documents
from bridge_agent.transcription.pipeline.opening import Transcription, open_transcription
from bridge_agent.transcription.pipeline.order import Order
from bridge_agent.worker_api.coordinator_v1.opening import CoordinatorRooms, open_coordinator
from bridge_agent.worker_api.opening import Invitation, Workers, open_members, open_workers


class Host:
    """The rooms of a Bridge that workers need, opened as it opens them."""

    def __init__(self, folder: Path, **more: Any) -> None:
        wanted = {"worker_listen": Address("127.0.0.1", 0), "worker_max_pause_seconds": 1.0, **more}
        self.settings = replace(BridgeSettings(data_dir=folder), **wanted)
        self.tasks = Tasks("host")
        self.rooms: Transcription
        self.workers: Workers
        self.coordinator: CoordinatorRooms

    async def open(self) -> None:
        clock = SystemClock()
        self.settings.data_dir.mkdir(parents=True, exist_ok=True)
        members = await open_members(self.settings, clock)
        self.rooms = await open_transcription(self.settings, clock, self.tasks, elsewhere=members.executors)
        self.workers = open_workers(self.settings, clock, self.tasks, self.rooms.pipeline, members)
        self.coordinator = await open_coordinator(
            self.settings, clock, self.tasks, self.workers.gate, self.workers.service, self.rooms.pipeline
        )
        self.workers.more_routes.append(self.coordinator.add_routes)
        await self.coordinator.tidy()
        await self.workers.start()
        await self.coordinator.start()

    async def close(self) -> None:
        await self.workers.listener.stop()
        await self.tasks.cancel()
        await self.coordinator.close()
        await self.workers.stop()
        await self.rooms.close()

    async def transcribe(self, wanted: Order) -> tuple[dict[str, bytes], dict[str, int]]:
        """Transcribe a book; return its documents, and who heard how many parts."""
        recording = await self.rooms.pipeline.begin(wanted)
        await self.rooms.pipeline.run(recording)
        results = await self.rooms.pipeline.results(recording)
        parts = {part.result.number: part.result for part in results.parts}
        transcript = assembly.transcript(results.plan, parts, wanted.title, wanted.author)
        made: dict[str, int] = {}
        for part in results.parts:
            made[part.made_by] = made.get(part.made_by, 0) + 1
        await self.rooms.pipeline.close(recording)
        return {document.name: document.content for document in documents(transcript)}, made


@contextlib.asynccontextmanager
async def host(folder: Path, **more: Any) -> AsyncIterator[Host]:
    """Give a host that listens."""
    found = Host(folder, **more)
    await found.open()
    try:
        yield found
    finally:
        await found.close()


class WorkerProcess:
    """`bridge-agent worker` as a process."""

    def __init__(self, folder: Path, invited: Invitation, url: str | None = None, **environ: str) -> None:
        self.folder = folder
        self.log = folder.with_suffix(".log")
        self._environ = {
            "BRIDGE_WORKER_URL": url or invited.url,
            "BRIDGE_WORKER_TOKEN": invited.token,
            "BRIDGE_WORKER_DATA_DIR": str(folder),
            "BRIDGE_WORKER_POLL_SECONDS": "0.3",
            "BRIDGE_SPEECH_PROCESSES": "1",
            **({"BRIDGE_WORKER_FINGERPRINT": invited.fingerprint} if invited.fingerprint else {}),
            **environ,
        }
        self.process: asyncio.subprocess.Process

    async def start(self, *words: str) -> "WorkerProcess":
        clean = {name: value for name, value in os.environ.items() if not name.startswith("BRIDGE_")}
        with self.log.open("ab") as out:
            self.process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "bridge_agent", "worker", *words,
                env={**clean, **self._environ}, stdin=asyncio.subprocess.DEVNULL, stdout=out, stderr=out,
            )  # fmt: skip
        return self

    @property
    def said(self) -> str:
        return self.log.read_text("utf-8")

    async def until_said(self, words: str, patience: float = 30.0) -> None:
        async with asyncio.timeout(patience):
            while words not in (self.said if self.log.exists() else ""):
                await asyncio.sleep(0.02)

    async def ends(self, patience: float = 30.0) -> int:
        async with asyncio.timeout(patience):
            return await self.process.wait()

    async def kill(self) -> None:
        if self.process.returncode is None:
            self.process.kill()
            await self.process.wait()


class Proxy:
    """A TCP proxy that can swallow everything without a word, as a pulled cable does."""

    def __init__(self, port: int) -> None:
        self.port = 0
        self._to = port
        self._open = asyncio.Event()
        self._open.set()
        self._server: asyncio.Server | None = None
        self._pumps: set[asyncio.Task[None]] = set()

    async def start(self) -> "Proxy":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def black_hole(self) -> None:
        """Pass nothing on from now; connections stay open."""
        self._open.clear()

    def mend(self) -> None:
        """Pass everything on again."""
        self._open.set()

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        for pump in list(self._pumps):
            pump.cancel()
        await asyncio.gather(*self._pumps, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, away = await asyncio.open_connection("127.0.0.1", self._to)
        for source, target in ((reader, away), (there, writer)):
            pump = asyncio.create_task(self._pump(source, target))
            self._pumps.add(pump)
            pump.add_done_callback(self._pumps.discard)

    async def _pump(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        try:
            while piece := await source.read(1 << 16):
                await self._open.wait()
                target.write(piece)
                await target.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            target.close()
