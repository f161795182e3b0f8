"""From a job queued at the console to the handler's first line, both halves on loopback, 50 polls parked."""

import asyncio
import dataclasses
import sqlite3
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import aiohttp
from aiohttp import web

from bridge_agent.app import bridge as app_bridge
from bridge_agent.app.bridge import Bridge
from bridge_agent.base.clock import SystemClock
from bridge_agent.home import kinds
from bridge_agent.home.app import HomeServer
from bridge_agent.jobs.handlers.base import Done, JobContext
from bridge_agent.protocol.bridge import VERIFY
from bridge_agent.settings import Address, BridgeSettings, HomeSettings
from tests.benchmarks.table import Row, percentile

PARKED = 50
SAMPLES = 200
IDLE = "bench.idle"
LOCAL = Address("127.0.0.1", 0)


def run() -> list[Row]:
    """Measure the limit and the way through in the same run."""
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
            f"limit: one woken long poll {median(limit.polls) * 1e3:.2f} ms and one durable commit "
            f"{median(limit.commits) * 1e3:.2f} ms, measured in turn with it",
        ),
        Row("the same: 99th percentile", f"{late * 1e3:.1f} ms", "≤ 20 ms", late <= 0.020),
    ]


class _Limit:
    """What can't be beaten: a bare server that wakes one parked poll, and a bare connection that commits."""

    def __init__(self, path: Path) -> None:
        self.polls: list[float] = []
        self.commits: list[float] = []
        self._event = asyncio.Event()
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=FULL")
        self._connection.execute("CREATE TABLE jobs (id INTEGER PRIMARY KEY, body TEXT)")

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
        self._connection.execute("INSERT INTO jobs (body) VALUES (?)", ("x" * 200,))
        self.commits.append(perf_counter() - began)

    async def _poll(self, request: web.Request) -> web.Response:
        await self._event.wait()
        return web.json_response({"job": {"id": 1}})


async def _read(http: aiohttp.ClientSession, url: str) -> Any:
    async with http.get(url) as answer:
        return await answer.json()


class _Stamp:
    """A handler whose first line is a time."""

    lane = "light"

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.started: asyncio.Queue[float] = asyncio.Queue()

    async def run(self, job: JobContext) -> Done:
        self.started.put_nowait(perf_counter())
        return Done({"ok": True})


async def _way_through(folder: Path, limit: _Limit) -> list[float]:
    """Queue one job after another and time each, from before the console's request to the handler."""
    (folder / "books" / "Author" / "Book").mkdir(parents=True)
    samples = Path(app_bridge.__file__).parent.parent / "demo_library" / "Folk Tales" / "Stone Soup"
    await asyncio.to_thread(_copy, samples, folder / "books" / "Author" / "Book")
    kinds.KNOWN[IDLE] = lambda params: params  # type: ignore[index]
    stamp = _Stamp(VERIFY)
    app_bridge.VerifyHandler = lambda *_: stamp  # type: ignore[assignment,misc]
    home = HomeServer(
        dataclasses.replace(
            HomeSettings.load({}, data_dir=folder / "home"), listen=LOCAL, admin_password="bench bench"
        ),
        SystemClock(),
    )
    await home.start()
    settings = dataclasses.replace(
        BridgeSettings.load({}, data_dir=folder / "bridge"),
        listen=LOCAL,
        token_store="file",
        heartbeat_seconds=600.0,
    )
    bridge = Bridge(settings)
    await bridge.start()
    try:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
            return await _sampled(http, home, bridge, stamp, folder / "books", limit)
    finally:
        await bridge.stop()
        await home.stop()


def _copy(source: Path, target: Path) -> None:
    for path in source.iterdir():
        (target / path.name).write_bytes(path.read_bytes())


async def _sampled(
    http: aiohttp.ClientSession,
    home: HomeServer,
    bridge: Bridge,
    stamp: _Stamp,
    books: Path,
    limit: _Limit,
) -> list[float]:
    api = f"{home.url}/api/v1"
    login = await _send(http, "POST", f"{api}/auth/login", {"username": "admin", "password": "bench bench"})
    admin = {"Authorization": f"Bearer {login['token']}"}
    library = await _send(http, "POST", f"{api}/admin/libraries", {"name": "B", "root": str(books)}, admin)
    made = await _send(http, "POST", f"{api}/admin/bridge/pair", {}, admin)
    await _send(http, "POST", f"{bridge.url}/api/pair", {"server_url": home.url, "code": made["code"]})
    while not (await _send(http, "GET", f"{api}/admin/bridge", None, admin))["online"]:
        await asyncio.sleep(0.02)
    await asyncio.sleep(1)
    token = {"Authorization": f"Bearer {await bridge.parts.rooms().vault.load()}"}
    beat = {"version": "1", "kinds": [VERIFY, IDLE], "libraries": [], "workers": [], "ui_url": None}
    await _send(http, "PUT", f"{api}/bridge/status", beat, token)
    parked = [asyncio.ensure_future(_park(http, api, token)) for _ in range(PARKED)]
    await asyncio.sleep(0.5)
    times = []
    body = {"kind": VERIFY, "library_id": library["id"]}
    for _ in range(SAMPLES):
        began = perf_counter()
        job = await _send(http, "POST", f"{api}/admin/bridge/jobs", body, admin)
        times.append(await stamp.started.get() - began)
        while (await _send(http, "GET", f"{api}/admin/bridge/jobs/{job['id']}", None, admin))[
            "state"
        ] != "done":
            await asyncio.sleep(0.002)
        await limit.sample()
        await asyncio.sleep(0.02)
    for poll in parked:
        poll.cancel()
    await asyncio.gather(*parked, return_exceptions=True)
    return times


async def _park(http: aiohttp.ClientSession, api: str, token: dict[str, str]) -> None:
    """Keep one poll parked that no job is for."""
    while True:
        async with http.get(f"{api}/bridge/jobs/next?wait=25&kind={IDLE}", headers=token) as answer:
            assert answer.status == 204, await answer.text()


async def _send(
    http: aiohttp.ClientSession, method: str, url: str, body: Any = None, headers: Any = None
) -> dict[str, Any]:
    async with http.request(method, url, json=body, headers=headers) as answer:
        assert answer.status < 400, await answer.text()
        return dict(await answer.json())
