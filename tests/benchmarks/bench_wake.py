"""From a job queued at the console to the handler's first line: two processes, 50 polls parked."""

import asyncio
import os
import shutil
import sqlite3
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import aiohttp
from aiohttp import web

from bridge_agent.store import migrations
from tests.benchmarks.table import Row, percentile
from tests.fakes.processes import Household

PARKED = 50
SAMPLES = 200
BOOK = "Author/Book"
SOURCE = Path(__file__).parent.parent.parent / "bridge_agent" / "demo_library" / "Folk Tales" / "Stone Soup"
_JOB = """INSERT INTO bridge_jobs (kind, library_id, path, params, state, created_at, updated_at)
VALUES ('bridge.verify', 1, ?, '{}', 'queued', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z')"""


def run() -> list[Row]:
    """Measure the limit and the way through in turn, in the same run."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_measure(Path(folder)))


async def _measure(folder: Path) -> list[Row]:
    async with _Limit(folder / "limit.sqlite3") as limit:
        times = await _way_through(folder, limit)
    floor = median(limit.polls) + median(limit.commits)
    ratio, late = median(times) / floor, percentile(times, 0.99)
    return [
        Row(
            f"queued at the console to the handler's first line, {PARKED} polls parked: median",
            f"{median(times) * 1e3:.2f} ms, {ratio:.2f} × the limit",
            f"≤ 3 × {floor * 1e3:.2f} ms",
            ratio <= 3,
            f"limit: one woken long poll {median(limit.polls) * 1e3:.2f} ms and one durable commit of a job "
            f"{median(limit.commits) * 1e3:.2f} ms, measured in turn with it",
        ),
        Row("the same: 99th percentile", f"{late * 1e3:.1f} ms", "≤ 20 ms", late <= 0.020),
    ]


class _Limit:
    """What can't be beaten: a bare server that wakes one poll, a bare connection that commits one job."""

    def __init__(self, path: Path) -> None:
        self.polls: list[float] = []
        self.commits: list[float] = []
        self._event = asyncio.Event()
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=FULL")
        migrations.apply(self._connection, "bridge_agent.home.schema")

    async def __aenter__(self) -> "_Limit":
        app = web.Application()
        app.router.add_get("/next", self._poll)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self._url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/next"
        self._http = aiohttp.ClientSession()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.close()
        await self._runner.cleanup()
        self._connection.close()

    async def sample(self) -> None:
        """Measure both once."""
        self._event.clear()
        asked = asyncio.ensure_future(_read(self._http, self._url))
        await asyncio.sleep(0.02)
        began = perf_counter()
        self._event.set()
        await asked
        self.polls.append(perf_counter() - began)
        await asyncio.sleep(0.02)
        began = perf_counter()
        self._connection.execute(_JOB, (f"Author/Book {len(self.commits)}",))
        self.commits.append(perf_counter() - began)

    async def _poll(self, request: web.Request) -> web.Response:
        await self._event.wait()
        return web.json_response({"job": {"id": 1}})


async def _read(http: aiohttp.ClientSession, url: str) -> Any:
    async with http.get(url) as answer:
        return await answer.json()


async def _way_through(folder: Path, limit: _Limit) -> list[float]:
    """Queue one job after another and time each, from before the console's request to the handler."""
    await asyncio.to_thread(shutil.copytree, SOURCE, folder / "books" / BOOK)
    async with Household(folder) as home:
        await home.start_home()
        library = await home.add_library("Books", folder / "books")
        stamping = await _start_stamping(home)
        try:
            await home.answers(f"{home.bridge_url}/api/status")
            await home.pair()
            await asyncio.sleep(1)
            return await _sampled(home, library, stamping, limit)
        finally:
            stamping.terminate()
            await stamping.wait()


async def _start_stamping(home: Household) -> asyncio.subprocess.Process:
    environ = {**os.environ, **home.bridge.environ, "BRIDGE_HEARTBEAT_SECONDS": "600"}
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.benchmarks.stamping_bridge",
        env=environ,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )


async def _sampled(
    home: Household, library: int, stamping: asyncio.subprocess.Process, limit: _Limit
) -> list[float]:
    assert stamping.stdout is not None
    body = {"kind": "bridge.verify", "library_id": library, "path": BOOK}
    times = []
    async with _Parked(home):
        for _ in range(SAMPLES):
            began = perf_counter()
            job = await home.api("POST", "/admin/bridge/jobs", body)
            started = float(await stamping.stdout.readline())
            times.append(started - began)
            await home.job_in(job["id"], "done")
            await limit.sample()
            await asyncio.sleep(0.02)
    return times


class _Parked:
    """Keeps polls parked that no job is for: they ask for transcriptions, of which none is queued."""

    def __init__(self, home: Household) -> None:
        self._home = home
        self._polls: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> None:
        from bridge_agent.base.clock import SystemClock
        from bridge_agent.settings import BridgeSettings
        from bridge_agent.vault import open_vault

        data = self._home.folder / "bridge"
        settings = BridgeSettings.load(self._home.bridge.environ)
        token = await (await open_vault(settings, data, SystemClock())).load()
        headers = {"Authorization": f"Bearer {token}"}
        self._http = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), headers=headers)
        self._polls = [asyncio.ensure_future(self._park()) for _ in range(PARKED)]
        await asyncio.sleep(0.5)

    async def __aexit__(self, *_: object) -> None:
        for poll in self._polls:
            poll.cancel()
        await asyncio.gather(*self._polls, return_exceptions=True)
        await self._http.close()

    async def _park(self) -> None:
        url = f"{self._home.home_url}/api/v1/bridge/jobs/next?wait=25&kind=transcribe.book"
        while True:
            async with self._http.get(url) as answer:
                assert answer.status == 204, await answer.text()
