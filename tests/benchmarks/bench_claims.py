"""Claim and final report over HTTP against the raw rate of the store, and the claim among a million rows."""

import asyncio
import json
import sqlite3
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import aiohttp

from tests.benchmarks.table import Row, percentile
from tests.fakes.processes import Household

CLAIMANTS = 10
CYCLES = 1500
RAW = 1500


def run() -> list[Row]:
    """Measure throughput, then the claim at 1,000 and at 1,000,000 finished rows."""
    with tempfile.TemporaryDirectory() as folder:
        raw = raw_rate(Path(folder) / "raw.sqlite3")
        cycles, busy = asyncio.run(_cycles(Path(folder), CYCLES))
    rows = [
        Row(
            f"claim and final report over HTTP, {CLAIMANTS} claimants, FULL",
            f"{cycles:.0f} cycles/s",
            "≥ 250 /s",
            cycles >= 250,
            f"{cycles / raw:.2f} of the raw UPDATE … RETURNING rate, {raw:.0f}/s; the server's process "
            f"at {busy:.0f} % of a core, so Python's HTTP bounds it, not the disk",
        )
    ]
    few, many = asyncio.run(_claims_among(1_000)), asyncio.run(_claims_among(1_000_000))
    ratio = many / few
    rows.append(
        Row(
            "claim at 1,000,000 finished rows against 1,000",
            f"{ratio:.2f}",
            "≤ 1.5",
            ratio <= 1.5,
            f"{many * 1e3:.2f} ms against {few * 1e3:.2f} ms, median",
        )
    )
    return rows


def raw_rate(path: Path) -> float:
    """Return how many `UPDATE … RETURNING` a second plain sqlite3 commits with FULL."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE jobs (id INTEGER PRIMARY KEY, state TEXT, attempt INTEGER, body TEXT)")
    connection.execute("BEGIN")
    connection.executemany(
        "INSERT INTO jobs (state, attempt, body) VALUES ('queued', 0, ?)", [("x" * 200,)] * RAW
    )
    connection.execute("COMMIT")
    began = perf_counter()
    for number in range(1, RAW + 1):
        connection.execute(
            "UPDATE jobs SET state = 'claimed', attempt = attempt + 1 WHERE id = ? RETURNING id", (number,)
        ).fetchone()
    seconds = perf_counter() - began
    connection.close()
    return RAW / seconds


async def _cycles(folder: Path, count: int) -> tuple[float, float]:
    import psutil

    async with Household(folder) as home:
        auth = await _stranger(home, {"queued": count})
        server = psutil.Process(home.home.pid)
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector, headers=auth) as http:
            before, began = sum(server.cpu_times()[:2]), perf_counter()
            done = await asyncio.gather(*(_work(http, home.home_url) for _ in range(CLAIMANTS)))
            seconds = perf_counter() - began
            busy = (sum(server.cpu_times()[:2]) - before) / seconds * 100
        assert sum(done) == count, (done, count)
        return count / seconds, busy


async def _work(http: aiohttp.ClientSession, url: str) -> int:
    done = 0
    while True:
        async with http.get(f"{url}/api/v1/bridge/jobs/next") as answer:
            if answer.status == 204:
                return done
            job = (await answer.json())["job"]
        body = {"attempt": job["attempt"], "state": "done", "result": {"ok": True}}
        async with http.patch(f"{url}/api/v1/bridge/jobs/{job['id']}", json=body) as answer:
            assert answer.status == 200, await answer.text()
        done += 1


async def _claims_among(finished: int) -> float:
    """Return the median seconds of a claim over HTTP beside that many finished rows."""
    with tempfile.TemporaryDirectory() as folder:
        async with Household(Path(folder)) as home:
            auth = await _stranger(home, {"queued": 300, "done": finished})
            times = []
            async with aiohttp.ClientSession(headers=auth) as http:
                for _ in range(300):
                    began = perf_counter()
                    async with http.get(f"{home.home_url}/api/v1/bridge/jobs/next") as answer:
                        assert answer.status == 200
                        await answer.read()
                    times.append(perf_counter() - began)
            assert percentile(times, 0.99) < 5
            return median(times[20:])


async def _stranger(home: Household, counts: dict[str, int]) -> dict[str, str]:
    """Start a server whose store already holds jobs; return the credential of a Bridge paired with it."""
    await home.start_home()
    made = await home.api("POST", "/admin/bridge/pair", {})
    paired = await home.send("POST", f"{home.home_url}/api/v1/bridge/pair", {"code": made["code"]})
    auth = {"Authorization": f"Bearer {paired['token']}"}
    beat = {"version": "1", "kinds": ["bridge.verify"], "libraries": [], "workers": [], "ui_url": None}
    await home.send("PUT", f"{home.home_url}/api/v1/bridge/status", beat, auth)
    library = await home.add_library("Empty", _empty(home.folder / "books"))
    await home.home.stop()
    await asyncio.to_thread(_fill, home.folder / "home" / "home.sqlite3", library, counts)
    await home.start_home()
    return auth


def _empty(folder: Path) -> Path:
    (folder / "Author" / "Book").mkdir(parents=True, exist_ok=True)
    return folder


def _fill(path: Path, library: int, counts: dict[str, int]) -> None:
    """Write jobs as the server itself would have left them."""
    connection = sqlite3.connect(path)
    columns = [row[1] for row in connection.execute("PRAGMA table_info(bridge_jobs)")]
    number = 0
    for state, count in counts.items():
        values = [_job(columns, state, library, number + n) for n in range(count)]
        number += count
        marks = ", ".join("?" * len(columns))
        connection.executemany(f"INSERT INTO bridge_jobs ({', '.join(columns)}) VALUES ({marks})", values)
    connection.commit()
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def _job(columns: list[str], state: str, library: int, number: int) -> list[Any]:
    ended = state in ("done", "failed", "cancelled")
    now = "2026-01-01T00:00:00.000Z"
    known: dict[str, Any] = {
        "id": number + 1,
        "kind": "bridge.verify",
        "library_id": library,
        "path": f"Author/Book {number}",
        "params": "{}",
        "state": state,
        "priority": 0,
        "attempts": 1 if ended else 0,
        "attempt": 1 if ended else 0,
        "tries": 1 if ended else 0,
        "cancel_requested": 0,
        "result": json.dumps({"ok": True}) if ended else None,
        "created_at": now,
        "updated_at": now,
        "finished_at": now if ended else None,
    }
    return [known.get(column) for column in columns]
