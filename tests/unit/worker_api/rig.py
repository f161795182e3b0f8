"""A pipeline on stand-ins with workers: real stores, the scripted decoder, the clock in the test's hands."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bridge_agent.base.tasks import Tasks
from bridge_agent.settings import BridgeSettings
from bridge_agent.store import Database
from bridge_agent.store.database import open_inline
from bridge_agent.transcription.pipeline.executor import Executor, Together
from bridge_agent.transcription.pipeline.order import Order
from bridge_agent.transcription.pipeline.troubles import Trouble
from bridge_agent.worker_api.service.executors import WorkerExecutors
from bridge_agent.worker_api.service.lease import Lease, Terms, WorkerId
from bridge_agent.worker_api.service.partial import Partial, PartialEngine, PartialSegment
from bridge_agent.worker_api.service.service import WorkService
from bridge_agent.worker_api.tokens import SCHEMA, Tokens
from tests.fakes.pipeline import INFO, FakeExecutor, Rig

STALE = Terms(900.0, strict=False)
LEASE = Terms(120.0)


@dataclass
class WorkRig(Rig):
    """A rig whose pipeline has workers besides `here`, the executors of this machine (none unless given)."""

    here: list[FakeExecutor] = field(default_factory=list)
    settings: BridgeSettings = field(default_factory=lambda: BridgeSettings(data_dir=Path("/nowhere")))

    def open(self) -> None:
        """Open both stores and build pipeline and service, as a new process does."""
        self.workers_db: Database = open_inline(self.folder / "workers.sqlite3", SCHEMA)
        self.tokens = Tokens(self.workers_db, self.clock)
        self.work_executors = WorkerExecutors(self.settings, self.tokens)
        self.executors: Sequence[Executor] = Together(self.here, self.work_executors)  # type: ignore[assignment]
        super().open()
        self.service = WorkService(
            self.settings, self.clock, self.pipeline, self.tokens, self.work_executors, self.tasks
        )

    async def open_up(self) -> None:
        """Read what the stores hold, and watch."""
        await self.tokens.load()
        await self.pipeline.start()
        await self.service.start()

    async def worker(self, name: str, model: str | None = "tiny", *, seen: bool = True) -> WorkerId:
        """Invite a worker; it has called, unless told otherwise."""
        invited = await self.tokens.add(name, model)
        if seen:
            await self.tokens.saw(invited.member)
        return WorkerId(invited.member.id, invited.member.name, model)

    async def start(self, order: Order) -> tuple[int, "asyncio.Task[None]"]:
        """Begin and run an order as the job's handler does: again once its trouble is mended."""
        id_ = await self.pipeline.begin(order)
        return id_, asyncio.ensure_future(self._run(id_))

    async def _run(self, id_: int) -> None:
        while True:
            try:
                await self.pipeline.run(id_, self.progress)
            except Trouble as trouble:
                await trouble.mended(self.clock)
            else:
                return

    async def restart(self) -> None:
        """End this process without tidying up, and begin the next one."""
        await self.tasks.cancel()
        await self.db.close()
        await self.workers_db.close()
        self.tasks = Tasks("rig")
        self.open()
        await self.open_up()

    async def offered(self, *contents: str, name: str = "book", cut: int = 1) -> int:
        """Begin a book; return its recording's id once so many of its parts are cut."""
        id_, self.running = await self.start(self.order(self.book(*contents, name=name), job=f"s/{name}"))
        await self.until(lambda: len(self.decoder.cuts) >= cut)
        return id_

    async def call(self, worker: WorkerId) -> None:
        """Let a worker be heard of, as the gate does at each of its requests."""
        member = self.tokens.get(worker.token_id)
        assert member is not None
        await self.tokens.saw(member)

    async def claimed(self, worker: WorkerId, terms: Terms = STALE) -> Lease:
        """Claim a part, which must be there."""
        await self.call(worker)
        lease = await self.service.claim(worker, terms)
        assert lease is not None
        return lease

    async def do_part(self, worker: WorkerId, lease: Lease, text: str = "word", seconds: float = 0.0) -> None:
        """Let a worker take its time for a part, then hand it in."""
        await self.clock.advance(seconds)
        await self.call(worker)
        await self.service.complete(lease.ref, STALE, worker, heard(text))


def heard(text: str = "word", *, model: str = INFO.model) -> Partial:
    """Return what a worker hears."""
    segment = PartialSegment(start=0.0, end=149.0, text=text, avg_logprob=-0.1, no_speech_prob=0.01)
    return Partial(
        segments=[segment],
        language="en",
        engine=PartialEngine(name=INFO.name, model=model, device="cuda", compute_type="float16"),
    )
