"""A Bridge without its page: the real link, jobs and store, with a handler whose work a test decides."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from bridge_agent.base.clock import SystemClock
from bridge_agent.base.loops import Loops
from bridge_agent.base.tasks import Tasks
from bridge_agent.jobs.handlers.base import Done, JobContext, Outcome
from bridge_agent.jobs.jobs import Jobs
from bridge_agent.link.link import Link
from bridge_agent.protocol.bridge import VERIFY, Heartbeat
from bridge_agent.settings import BridgeSettings
from bridge_agent.store import Database, open_database
from bridge_agent.vault import open_vault
from tests.fakes.server import CODE, Answer, FakeServer, after, until

Work = Callable[[JobContext], Awaitable[Outcome]]

QUICK: dict[str, Any] = {
    "token_store": "file",
    "heartbeat_seconds": 30.0,
    "refused_retry_seconds": 0.3,
    "claim_wait_seconds": 5.0,
    "report_seconds": 0.2,
    "keepalive_seconds": 0.3,
    "unreported_retry_seconds": 0.3,
}
"""The Bridge's times, shortened; their ratios are as in life."""


class TestHandler:
    """Holds each job until the test lets it go, unless the test gives it other work."""

    __test__ = False
    lane = "light"

    def __init__(self, kind: str = VERIFY, lane: str = "light") -> None:
        self.kind = kind
        self.lane = lane
        self.began: list[tuple[int, int]] = []
        self.stopped: list[tuple[int, int]] = []
        self.work: Work = self.hold
        self.release: defaultdict[int, asyncio.Event] = defaultdict(asyncio.Event)

    async def run(self, job: JobContext) -> Outcome:
        me = (job.job_id, job.attempt)
        self.began.append(me)
        try:
            return await self.work(job)
        except asyncio.CancelledError:
            self.stopped.append(me)
            raise

    async def hold(self, job: JobContext) -> Outcome:
        job.progress("hold", "Holding, as asked", 0, 10)
        await self.release[job.job_id].wait()
        return Done({"job": job.job_id, "attempt": job.attempt})

    def let_all_go(self) -> None:
        """Let every job that is held now, or will be, come to its end."""
        self.release = defaultdict(_set)
        self.work = self.hold


def _set() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event


class Rig:
    """One process's life of a Bridge over a data folder."""

    def __init__(self, folder: Path, *handlers: TestHandler, **settings: Any) -> None:
        self.settings = BridgeSettings(data_dir=folder, **{**QUICK, **settings})
        self.clock = SystemClock()
        self.handlers = handlers or (TestHandler(),)
        self.tasks = Tasks("rig")
        self.loops = Loops(self.clock)
        self.seen: list[dict[str, Any]] = []
        self.db: Database
        self.link: Link
        self.jobs: Jobs

    @property
    def handler(self) -> TestHandler:
        return self.handlers[0]

    async def __aenter__(self) -> Self:
        folder = self.settings.data_dir
        folder.mkdir(parents=True, exist_ok=True)
        opened = await open_database(folder / "bridge.sqlite3", "bridge_agent.store.bridge_schema")
        self.db = opened.database
        vault = await open_vault(self.settings, folder, self.clock)
        self.link = Link(self.settings, self.clock, self.db, vault, self.loops, self.tasks)
        self.jobs = Jobs(self.settings, self.clock, self.db, self.link, self.handlers, self.loops, self.tasks)
        self.jobs.on_change = self.seen.append
        self.link.heartbeat_parts = lambda: Heartbeat(version="0", kinds=self.jobs.kinds)
        await self.jobs.start()
        await self.link.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def pair(self, server: FakeServer) -> Self:
        """Pair, and wait until jobs may run."""
        server.code = CODE
        await self.link.pair(server.url, CODE)
        await until(self.link.ready.is_set)
        return self

    async def stop(self) -> None:
        """Stop as the Bridge does at SIGTERM; harmless when repeated."""
        await self.jobs.stop()
        await self.link.stop()
        await self.tasks.cancel()
        await self.db.close()

    async def crash(self) -> None:
        """End as a killed process does: nothing is tidied up, nothing more is written or sent."""
        await self.tasks.cancel()
        await self.link.stop()
        await self.db.close()

    async def rows(self, job_id: int) -> list[dict[str, Any]]:
        """All attempts of a job as the page's API tells them, the latest first."""
        job = await self.jobs.get(self.link.server_id or "", job_id)
        return [] if job is None else list(job["attempts"])

    async def state(self, job_id: int) -> str:
        """The state of a job's latest attempt."""
        rows = await self.rows(job_id)
        return str(rows[0]["state"]) if rows else "unknown"

    async def comes_to(self, job_id: int, state: str, within: float = 5.0) -> dict[str, Any]:
        """Wait until a job's latest attempt is in a state and, where it ended, answered for; return it."""
        async with asyncio.timeout(within):
            while True:
                rows = await self.rows(job_id)
                if rows and rows[0]["state"] == state:
                    return rows[0]
                await asyncio.sleep(0.005)


def noting(times: list[float]) -> Answer:
    """Answer as the server does, noting when."""
    own = after(0.0)

    async def give(request: web.Request) -> web.StreamResponse:
        times.append(asyncio.get_running_loop().time())
        return await own(request)

    return give


def reports_of(server: FakeServer, job_id: int) -> list[dict[str, Any]]:
    """The bodies of all reports on a job as they arrived, taken or not."""
    return [call.json for call in server.of("report") if call.path.endswith(f"/{job_id}")]


def finals_of(server: FakeServer, job_id: int) -> list[dict[str, Any]]:
    """The final ones among them."""
    return [r for r in reports_of(server, job_id) if r["state"] in ("done", "failed", "cancelled")]


def states_of(server: FakeServer, job_id: int) -> list[str]:
    """The states of all reports on a job."""
    return [str(report["state"]) for report in reports_of(server, job_id)]
