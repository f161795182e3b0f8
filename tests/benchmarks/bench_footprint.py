"""The Bridge at rest, its start and its stop: memory, processor, seconds."""

import asyncio
import tempfile
from pathlib import Path
from time import perf_counter

import aiohttp
import psutil

from tests.benchmarks.table import Row
from tests.fakes.processes import Household

REST_S = 30.0
POLLS, STREAMS = 50, 5


def run() -> list[Row]:
    """Measure on whole processes."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_measure(Path(folder)))


async def _measure(folder: Path) -> list[Row]:
    async with Household(folder) as home:
        await home.start_home()
        began = perf_counter()
        await home.start_bridge()
        started = perf_counter() - began
        await home.pair()
        rows = [
            Row("start to a page that answers", f"{started:.2f} s", "≤ 1.2 s", started <= 1.2),
            *await _at_rest(home),
        ]
        rows.append(await _stopped(home, "SIGTERM to exit, the Bridge, 5 event streams", "bridge"))
        await home.start_bridge()
        rows.append(await _stopped(home, "SIGTERM to exit, home server, 50 parked polls, 5 streams", "home"))
        return rows


async def _at_rest(home: Household) -> list[Row]:
    await asyncio.sleep(3)
    process = psutil.Process(home.bridge.pid)
    before = process.cpu_times()
    await asyncio.sleep(REST_S)
    after = process.cpu_times()
    share = (after.user + after.system - before.user - before.system) / REST_S * 100
    memory = process.memory_info().rss / (1 << 20)
    return [
        Row("the Bridge at rest, paired: memory", f"{memory:.1f} MiB", "≤ 60 MiB", memory <= 60),
        Row("the Bridge at rest, paired: processor", f"{share:.2f} % of a core", "≤ 0.1 %", share <= 0.1),
    ]


async def _stopped(home: Household, what: str, half: str) -> Row:
    url = f"{home.bridge_url}/api/events" if half == "bridge" else f"{home.home_url}/console/events"
    headers = {} if half == "bridge" else home.admin
    timeout = aiohttp.ClientTimeout(total=None)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(timeout=timeout, connector=connector) as http:
        streams = [await http.get(url, headers=headers) for _ in range(STREAMS)]
        assert all(stream.status == 200 for stream in streams), [s.status for s in streams]
        polls = []
        if half == "home":
            await home.bridge.stop()
            token = await _stranger(home)
            for _ in range(POLLS):
                polls.append(asyncio.ensure_future(_poll(http, home.home_url, token)))
            await asyncio.sleep(1.0)
        process = home.bridge if half == "bridge" else home.home
        began = perf_counter()
        code = await process.stop()
        seconds = perf_counter() - began
        answers = await asyncio.gather(*polls)
        for stream in streams:
            stream.close()
    good = seconds <= 2 and code == 0 and all(status == 204 for status in answers)
    return Row(what, f"{seconds:.2f} s", "≤ 2 s", good, f"exit code {code}")


async def _stranger(home: Household) -> str:
    """Pair a Bridge made of plain requests, so that as many polls can be parked as wanted."""
    made = await home.api("POST", "/admin/bridge/pair", {})
    paired = await home.send("POST", f"{home.home_url}/api/v1/bridge/pair", {"code": made["code"]})
    token = str(paired["token"])
    beat = {"version": "1", "kinds": ["bridge.verify"], "libraries": [], "workers": [], "ui_url": None}
    headers = {"Authorization": f"Bearer {token}"}
    await home.send("PUT", f"{home.home_url}/api/v1/bridge/status", beat, headers)
    return token


async def _poll(http: aiohttp.ClientSession, url: str, token: str) -> int:
    headers = {"Authorization": f"Bearer {token}"}
    async with http.get(f"{url}/api/v1/bridge/jobs/next?wait=25", headers=headers) as response:
        return response.status
