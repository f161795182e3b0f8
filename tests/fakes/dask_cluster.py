"""A real Dask scheduler with its workers as processes on 127.0.0.1, and a Bridge's pipeline that uses it."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from bridge_agent.base.clock import SystemClock
from bridge_agent.base.tasks import Tasks
from bridge_agent.settings import BridgeSettings
from bridge_agent.transcription import assembly
from bridge_agent.transcription.cluster.opening import Cluster, open_cluster
from bridge_agent.transcription.formats.documents import documents
from bridge_agent.transcription.pipeline.opening import Transcription, open_transcription
from bridge_agent.transcription.pipeline.order import Order
from tests.fakes.processes import free_port


class DaskCluster:
    """A scheduler on a port of its own; it and each worker can be killed alone."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.url = f"tcp://127.0.0.1:{self.port}"
        self.scheduler: asyncio.subprocess.Process
        self.workers: dict[str, asyncio.subprocess.Process] = {}

    async def start_scheduler(self) -> None:
        words = ["--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard", "--no-show"]
        self.scheduler = await self._start("scheduler", "distributed.cli.dask_scheduler", words)

    async def start_worker(self, name: str, resources: str = "speech=1", **environ: str) -> None:
        words = [self.url, "--host", "127.0.0.1", "--nthreads", "1", "--no-dashboard", "--no-nanny"]
        words += ["--name", name, "--memory-limit", "0", "--local-directory", str(self.folder / "dask")]
        words += ["--death-timeout", "60", *(["--resources", resources] if resources else [])]
        data = {"BRIDGE_WORKER_DATA_DIR": str(self.folder / name)}
        self.workers[name] = await self._start(
            name, "distributed.cli.dask_worker", words, **{**data, **environ}
        )

    async def kill(self, name: str) -> None:
        await _killed(self.workers.pop(name))

    async def kill_scheduler(self) -> None:
        await _killed(self.scheduler)

    async def close(self) -> None:
        for process in [*self.workers.values(), self.scheduler]:
            await _killed(process)

    def said(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")

    async def _start(
        self, name: str, module: str, words: list[str], **environ: str
    ) -> asyncio.subprocess.Process:
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("BRIDGE_", "DASK_"))}
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / f"{name}.log").open("ab") as out:
            return await asyncio.create_subprocess_exec(
                sys.executable, "-m", module, *words,
                env={**clean, **environ}, cwd=self.folder,
                stdin=asyncio.subprocess.DEVNULL, stdout=out, stderr=out,
            )  # fmt: skip


async def _killed(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.kill()
    await process.wait()


@contextlib.asynccontextmanager
async def dask_cluster(folder: Path, *workers: str, **environ: str) -> AsyncIterator[DaskCluster]:
    """Give a cluster with these workers on their way."""
    cluster = DaskCluster(folder)
    await cluster.start_scheduler()
    try:
        for name in workers:
            await cluster.start_worker(name, **environ)
        yield cluster
    finally:
        await cluster.close()


class ClusterHost:
    """The rooms of a Bridge that leaves its speech to a cluster."""

    def __init__(self, rooms: Transcription, cluster: Cluster) -> None:
        self.rooms = rooms
        self.cluster = cluster
        self.recording = 0

    async def has_places(self, count: int) -> None:
        await until(lambda: self.cluster.executor.places == count)

    async def run(self, wanted: Order) -> None:
        self.recording = await self.rooms.pipeline.begin(wanted)
        await self.rooms.pipeline.run(self.recording)

    async def made(self, wanted: Order) -> tuple[dict[str, bytes], dict[str, int]]:
        """Return a finished book's documents, and who heard how many parts."""
        results = await self.rooms.pipeline.results(self.recording)
        parts = {part.result.number: part.result for part in results.parts}
        transcript = assembly.transcript(results.plan, parts, wanted.title, wanted.author)
        made: dict[str, int] = {}
        for part in results.parts:
            made[part.made_by] = made.get(part.made_by, 0) + 1
        return {document.name: document.content for document in documents(transcript)}, made

    async def parts(self, state: str) -> int:
        sql = "SELECT count(*) FROM tasks WHERE state = ?"
        return int(await self.rooms.db.read(lambda c: c.execute(sql, (state,)).fetchone()[0]))


@contextlib.asynccontextmanager
async def cluster_host(folder: Path, url: str, **more: Any) -> AsyncIterator[ClusterHost]:
    """Give a Bridge's rooms with a cluster as their only executor, unless `more` says otherwise."""
    wanted = {"cluster": url, "speech_processes": 0, "worker_max_pause_seconds": 1.0, **more}
    settings = replace(BridgeSettings(data_dir=folder), **wanted)
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    clock, tasks = SystemClock(), Tasks("host")
    cluster = open_cluster(settings, clock, tasks)
    assert cluster is not None
    rooms = await open_transcription(settings, clock, tasks, elsewhere=[cluster.executor])
    try:
        yield ClusterHost(rooms, cluster)
    finally:
        await cluster.close()
        await tasks.cancel()
        await rooms.close()


async def until(there: Callable[[], bool], patience: float = 60.0) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(patience):
        while not there():
            await asyncio.sleep(0.05)
