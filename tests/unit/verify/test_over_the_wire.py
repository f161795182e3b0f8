"""From the server's job to the verified book, over real HTTP: link, jobs, mappings and handler together."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bridge_agent.base.clock import SystemClock
from bridge_agent.base.loops import Loops
from bridge_agent.base.tasks import Tasks
from bridge_agent.jobs.handlers.verify import VerifyHandler
from bridge_agent.jobs.jobs import Jobs
from bridge_agent.link.link import Link
from bridge_agent.mapping.mappings import Mappings
from bridge_agent.mapping.proposals import Search
from bridge_agent.protocol.bridge import Heartbeat
from bridge_agent.settings import BridgeSettings
from bridge_agent.store import open_database
from bridge_agent.vault import open_vault
from tests.fakes.server import CODE, FakeServer, answer_error, until
from tests.unit.mapping.trees import plant, tree_hash

BOOK = {"A/Book/1.mp3": 100, "A/Book/2.mp3": 200}


class HastyClock(SystemClock):
    """The machine's clock, with sleeps a hundred times shorter."""

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds / 100)


@dataclass
class House:
    """A paired Bridge without a page, and the server it is paired with."""

    server: FakeServer
    link: Link
    mappings: Mappings
    jobs: Jobs

    async def final(self, job: Any) -> dict[str, Any]:
        await until(lambda: job.final)
        return dict(job.final)


@contextlib.asynccontextmanager
async def household(folder: Path, root: Path) -> AsyncIterator[House]:
    clock, tasks = SystemClock(), Tasks("test")
    settings = BridgeSettings(
        data_dir=folder,
        token_store="file",
        report_seconds=0.05,
        keepalive_seconds=0.2,
        claim_wait_seconds=5.0,
    )
    folder.mkdir()
    async with FakeServer() as server:
        server.libraries = [{"id": 1, "name": "Books", "root": str(root)}]
        server.add_book(1, "A/Book", list(BOOK.items()), sample=True)
        opened = await open_database(folder / "bridge.sqlite3", "bridge_agent.store.bridge_schema")
        loops = Loops(clock)
        link = Link(settings, clock, opened.database, await open_vault(settings, folder, clock), loops, tasks)
        search = Search(lambda: [], folder / "home")
        mappings = Mappings(settings, clock, opened.database, link, tasks, search)
        handlers = [VerifyHandler(mappings, link, HastyClock())]
        jobs = Jobs(settings, clock, opened.database, link, handlers, loops, tasks)
        link.heartbeat_parts = lambda: Heartbeat(version="0", kinds=jobs.kinds, libraries=mappings.checks())
        await mappings.start()
        await jobs.start()
        await link.start()
        try:
            await link.pair(server.url, CODE)
            yield House(server, link, mappings, jobs)
        finally:
            await jobs.stop()
            await link.stop()
            await tasks.cancel()
            await opened.database.close()


@pytest.mark.requirement("R-100", "R-101", "R-102", "R-103", "R-104", "R-105", "R-106", "R-099")
async def test_a_good_book_is_verified_and_reported_to_the_letter(tmp_path: Path) -> None:
    root = tmp_path / "library"
    plant(root, BOOK)
    before = tree_hash(root)
    async with household(tmp_path / "data", root) as house:
        job = house.server.offer(params={"hold_seconds": 3})
        final = await house.final(job)
    assert final["state"] == "done"
    elapsed = final["result"].pop("elapsed_ms")
    assert 0 < elapsed < 5000
    assert final["result"] == {
        "library_id": 1,
        "mount_path": str(root),
        "path": "A/Book",
        "files": [
            {"path": path, "size": size, "expected_size": size, "ok": True} for path, size in BOOK.items()
        ],
        "writable": True,
    }
    steps = [report["progress"]["step"] for report in job.reports if "progress" in report]
    assert list(dict.fromkeys(steps)) == ["mapping", "lookup", "stat", "writable", "hold"]
    asked = [call.values("path") for call in house.server.of("book")]
    assert asked.count(["A/Book"]) == 1
    assert tree_hash(root) == before


@pytest.mark.requirement("R-107", "R-108")
async def test_a_mismatch_fails_the_job_on_the_server_with_its_result(tmp_path: Path) -> None:
    root = tmp_path / "library"
    plant(root, {"A/Book/1.mp3": 99})
    async with household(tmp_path / "data", root) as house:
        final = await house.final(house.server.offer())
    assert final["state"] == "failed"
    assert [file.get("error") for file in final["result"]["files"]] == [
        "size differs: 99 bytes here, 100 on the server",
        "not found here",
    ]
    assert (final["result"]["writable"], final["result"]["writable_error"]) == (False, "not checked")
    assert final["error"].startswith("2 of 2 files differ from the server’s list")


@pytest.mark.requirement("R-101")
@pytest.mark.parametrize("status", [404, 500])
async def test_a_book_that_is_not_given_fails_the_job_with_a_reason(tmp_path: Path, status: int) -> None:
    root = tmp_path / "library"
    plant(root, BOOK)
    async with household(tmp_path / "data", root) as house:
        await until(lambda: house.mappings.checks())
        house.server.always("book", answer_error(status, "oops", "Something is wrong."))
        final = await house.final(house.server.offer())
        assert len(house.server.of("book")) == 2
    assert final["state"] == "failed"
    assert final["error"].endswith(".")


@pytest.mark.requirement("R-087", "R-101")
async def test_a_refusal_at_the_lookup_puts_the_job_aside_without_a_final_report(tmp_path: Path) -> None:
    root = tmp_path / "library"
    plant(root, BOOK)
    async with household(tmp_path / "data", root) as house:
        await until(lambda: house.mappings.checks())
        house.server.script("book", answer_error(401, "unauthorized"))
        job = house.server.offer()
        await until(lambda: house.link.state == "refused")
        await asyncio.sleep(0.05)
        assert job.final is None
        row = await house.jobs.get(house.link.server_id or "", job.id)
        assert row is not None
        assert row["attempts"][0]["state"] == "aside"


@pytest.mark.requirement("R-100")
async def test_a_library_that_the_server_does_not_list_fails_the_job(tmp_path: Path) -> None:
    root = tmp_path / "library"
    plant(root, BOOK)
    async with household(tmp_path / "data", root) as house:
        final = await house.final(house.server.offer(library_id=7))
    assert final["state"] == "failed"
    assert final["error"].startswith("The server has listed no such library")


@pytest.mark.requirement("R-073", "R-099")
async def test_a_cancel_during_the_hold_stops_it_and_leaves_nothing_behind(tmp_path: Path) -> None:
    root = tmp_path / "library"
    plant(root, BOOK)
    before = tree_hash(root)
    async with household(tmp_path / "data", root) as house:
        job = house.server.offer(params={"hold_seconds": 600})
        await until(lambda: any(r.get("progress", {}).get("step") == "hold" for r in job.reports))
        job.cancel_requested = True
        final = await house.final(job)
    assert final["state"] == "cancelled"
    assert tree_hash(root) == before


@pytest.mark.requirement("R-035", "R-036", "R-040")
async def test_after_pairing_every_library_is_checked_and_the_heartbeat_tells(tmp_path: Path) -> None:
    root = tmp_path / "library"
    plant(root, BOOK)
    async with household(tmp_path / "data", root) as house:
        await until(lambda: house.server.heartbeat and house.server.heartbeat["libraries"])
        told = dict(house.server.heartbeat or {})["libraries"]
        beats = len(house.server.of("status"))
        house.server.libraries = [{"id": 2, "name": "Kids", "root": str(tmp_path / "nowhere")}]
        view = await house.mappings.check(1)
        assert view.ok is True
        await house.server.seen("status", beats + 1, within=2)
        await until(lambda: [view.library_id for view in house.mappings.views()] == [2])
        await until(lambda: [c.library_id for c in house.mappings.checks()] == [2])
    assert told == [
        {
            "library_id": 1,
            "path": str(root),
            "ok": True,
            "readable": True,
            "writable": True,
            "checked_at": told[0]["checked_at"],
            "files_checked": 2,
            "files_matched": 2,
            "sample_path": "A/Book",
        }
    ]
