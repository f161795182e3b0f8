"""Uploaded jobs as everybody else sees them: one store, one folder of files, every use case."""

import hashlib
import logging
import sqlite3
from collections.abc import AsyncIterator, Callable, Collection
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from bridge_agent.base.clock import Clock, to_text
from bridge_agent.base.files import private_folder
from bridge_agent.base.tasks import Tasks
from bridge_agent.store import Database, open_database
from bridge_agent.transcription.pipeline.policy import Retries
from bridge_agent.worker_api.uploads import artifacts, jobs, tasks
from bridge_agent.worker_api.uploads.files import Files, following, gathered, receive
from bridge_agent.worker_api.uploads.ids import new_id
from bridge_agent.worker_api.uploads.intake import Intake
from bridge_agent.worker_api.uploads.records import Artifact, Holder, Job, NewArtifact, Task
from bridge_agent.worker_api.uploads.reducing import Reducing
from bridge_agent.worker_api.uploads.refusals import NoSuchArtifact
from bridge_agent.worker_api.uploads.steady import SteadyTime
from bridge_agent.worker_api.uploads.tasks import Asked, Failure

DATABASE = "coordinator.sqlite3"
SCHEMA = "bridge_agent.worker_api.uploads.schema"
MOST_UPLOAD_BYTES = 16 << 30
MOST_PARTIAL_BYTES = 256 << 20
KEEP_DAYS = 30
KEEP_BYTES = 50 << 30
MOST_IN_STORE = 256 << 10
"""What workers hand in for parts is kept in the store itself up to so many bytes."""
_PARTS_DAYS = 2
_SWEEP_S = 30.0
_FIRST_PAUSE_S = 1.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Limits:
    """How large uploads and partials may be, and what of finished jobs is kept."""

    upload_bytes: int = MOST_UPLOAD_BYTES
    partial_bytes: int = MOST_PARTIAL_BYTES
    keep_days: int = KEEP_DAYS
    keep_bytes: int = KEEP_BYTES


class Stretch(NamedTuple):
    """A stretch of a file on the disk that is to be sent; with `content` that is it, and there is no file."""

    path: Path
    start: int
    size: int
    content_type: str
    sha256: str
    content: bytes | None = None


class Status(NamedTuple):
    """A job with how many of its tasks are in each state."""

    job: Job
    counts: dict[str, int]


class Uploads:
    """The jobs, their tasks and their files; what a claimant writes names its claim."""

    def __init__(
        self,
        db: Database,
        folder: Path,
        clock: Clock,
        spawner: Tasks,
        *,
        lease_s: float,
        longest_pause_s: float,
        tokens: Callable[[], Collection[int]],
        limits: Limits | None = None,
    ) -> None:
        """Take an open store and the folder for its files; `tokens` tells whose leases count."""
        self._tokens = tokens
        self._db = db
        self._clock = clock
        self._spawner = spawner
        self.limits = limits or Limits()
        self.lease_s = lease_s
        self.time = SteadyTime(clock)
        self.files = Files(folder)
        self.reducing = Reducing(db, self.files, self.time, spawner)
        self.intake = Intake(db, self.files, self.time, self.limits.upload_bytes)
        self._retries = Retries(first_pause_s=_FIRST_PAUSE_S, longest_pause_s=longest_pause_s)

    async def start(self) -> None:
        """Remove what an earlier run left half done, put together what it left apart, sweep from now on."""
        lease, pause = self.time.later(self.lease_s), self.time.later(self._retries.longest_pause_s)
        await self._db.write(lambda c: tasks.hold_to_bounds(c, lease, pause))
        job_ids, parts = await self._db.read(lambda c: (jobs.ids(c), artifacts.of_parts(c)))
        await self.files.tidy(job_ids, parts)
        self._spawner.spawn(self._sweep(), "sweep of uploaded jobs")

    async def ask(self) -> None:
        """Ask the store something; raises whatever is wrong with it."""
        await self._db.read(lambda c: jobs.by_number(c, 0))

    # ---- jobs

    async def job(self, job_id: str) -> Job:
        """Return a job; raises NoSuchJob."""
        return await self._db.read(lambda c: jobs.one(c, job_id))

    async def status(self, job_id: str) -> Status:
        """Return a job and its tasks' states; raises NoSuchJob."""

        def unit(c: sqlite3.Connection) -> Status:
            job = jobs.one(c, job_id)
            return Status(job, tasks.counts(c, job.number))

        return await self._db.read(unit)

    async def cancel(self, job_id: str) -> tuple[Job, int]:
        """End a job in one transaction; raises NoSuchJob, NotCancellable."""
        now = self.time.now()
        return await self._db.write(lambda c: jobs.cancel(c, job_id, now))

    async def result(self, job_id: str) -> tuple[Artifact, Path]:
        """Return a job's final result; raises NoSuchJob, NoSuchArtifact."""

        def unit(c: sqlite3.Connection) -> Artifact:
            job = jobs.one(c, job_id)
            if job.state != "completed" or job.result_id is None:
                raise NoSuchArtifact
            return artifacts.one(c, job.result_id)

        found = await self._db.read(unit)
        return found, self.files.place(found.job_id, found.id)

    # ---- tasks

    async def claim(self, workloads: Collection[str], owner: str, token_id: int) -> Task | None:
        """Lease the next task of these workloads, elapsed leases ended first; None where there is none."""
        now = self.time.now()
        asked = Asked(workloads, owner, token_id, now, self.time.later(self.lease_s))
        tokens = self._tokens()

        def unit(c: sqlite3.Connection) -> Task | None:
            jobs.settle(c, tasks.expire(c, now, tokens), now)
            return tasks.claim(c, asked)

        return await self._db.write(unit)

    async def waiting_since(self, workloads: Collection[str]) -> str | None:
        """Return when the oldest job was made of which a task of these workloads may be claimed now."""
        now = self.time.now()
        return await self._db.read(lambda c: tasks.waiting_since(c, workloads, now))

    async def unclaim(self, task: Task) -> None:
        """Take a claim back that nobody can be told of (law 3)."""
        now = self.time.now()
        await self._db.write(lambda c: tasks.unclaim(c, task, now))

    async def task(self, task_id: str) -> Task:
        """Return a task; raises NoSuchTask."""
        return await self._db.read(lambda c: tasks.one(c, task_id))

    async def renew(self, task_id: str, holder: Holder) -> Task:
        """Let a lease live on; raises Refusal."""
        now, ends = self.time.now(), self.time.later(self.lease_s)
        return await self._db.write(lambda c: tasks.renew(c, task_id, holder, now, ends))

    async def complete(
        self, task_id: str, holder: Holder, artifact_id: str | None, metrics: str | None
    ) -> Task:
        """Complete a task; the last one's call waits until the results are put together. Raises Refusal."""
        now = self.time.now()

        def unit(c: sqlite3.Connection) -> tuple[Task, list[Job]]:
            task, news = tasks.complete(c, task_id, holder, artifact_id, metrics, now)
            return task, jobs.settle(c, [task.job], now) if news else []

        task, closed = await self._db.write(unit)
        for job in closed:
            if job.state == "reducing":
                await self.reducing.reduce(job)
        return task

    async def fail(self, task_id: str, holder: Holder, failure: Failure) -> Task:
        """Write a failure down; raises Refusal."""
        now = self.time.now()
        following = self.time.later(self._retries.pause(holder.attempt))

        def unit(c: sqlite3.Connection) -> Task:
            task = tasks.fail(c, task_id, holder, failure, following, now)
            jobs.settle(c, [task.job], now)
            return task

        return await self._db.write(unit)

    # ---- bytes

    async def input(self, task_id: str) -> Stretch:
        """Return where a task's shard lies; raises NoSuchTask, NoSuchArtifact where it is elsewhere."""
        task = await self.task(task_id)
        if task.input_start is None or task.input_size is None:
            raise NoSuchArtifact
        kind = task.input_type or "application/octet-stream"
        path = self.files.shards(task.job_id)
        return Stretch(path, task.input_start, task.input_size, kind, task.input_sha256)

    async def artifact(self, artifact_id: str) -> tuple[Artifact, Path]:
        """Return an artifact and where it lies; raises NoSuchArtifact."""
        found = await self._db.read(lambda c: artifacts.one(c, artifact_id))
        return found, self.files.place(found.job_id, found.id)

    async def hand_in(
        self, task_id: str, holder: Holder, name: str, content_type: str, pieces: AsyncIterator[bytes]
    ) -> Artifact:
        """Take a partial of a task in; of two for one claim the first stays.

        The lease is looked at before and once more when all bytes are there. Raises NoSuchTask,
        LeasedElsewhere, TooLarge, StoreFull.
        """

        def check(c: sqlite3.Connection) -> Task:
            tasks.may_hand_in(c, task_id, holder, self.time.now())
            return tasks.one(c, task_id)

        task, first = await self._db.read(
            lambda c: (check(c), artifacts.of_claim(c, task_id, holder.attempt))
        )
        if first is not None:
            return first
        new = self._partial(task_id, holder.attempt, name, content_type)
        return await self._hand_in(new, task.job_id, lambda c: check(c).job, pieces)

    async def hand_in_part(
        self, task_id: str, attempt: int, name: str, content_type: str, pieces: AsyncIterator[bytes]
    ) -> Artifact:
        """Take in what a worker heard of a part of the pipeline's; whoever calls knows of the claim.

        Of two for one claim the first stays. What is small is kept in the store itself, since hundreds of
        workers would else wait for the disk's files.
        """
        new = self._partial(task_id, attempt, name, content_type)
        gathering = gathered(pieces)
        first = await anext(gathering, b"")
        if len(first) > MOST_IN_STORE:
            return await self._hand_in(new, None, lambda c: None, following(first, gathering))
        digest = hashlib.sha256(first).hexdigest()
        whole, now = replace(new, sha256=digest, size=len(first), content=first), self.time.now()
        return await self._db.write(lambda c: _added(c, whole, now) or _first(c, whole))

    # ---- housekeeping

    async def forget_old(self) -> None:
        """Drop finished jobs that are too old, or too large together; the oldest go first."""
        before = to_text(self._clock.now() - timedelta(days=self.limits.keep_days))
        parts_before = to_text(self._clock.now() - timedelta(days=_PARTS_DAYS))

        def unit(c: sqlite3.Connection) -> tuple[list[str], list[str]]:
            gone = [job for job in jobs.finished_before(c, before)]
            for job in gone:
                jobs.forget(c, job.number)
            excess = jobs.all_bytes(c) - self.limits.keep_bytes
            for job, size in jobs.finished(c):
                if excess <= 0:
                    break
                jobs.forget(c, job.number)
                gone.append(job)
                excess -= size
            return [job.id for job in gone], artifacts.forget_parts(c, parts_before)

        job_ids, part_ids = await self._db.write(unit)
        for job_id in job_ids:
            await self.files.remove_job(job_id)
        await self.files.remove_parts(part_ids)

    def _partial(self, task_id: str, attempt: int, name: str, content_type: str) -> NewArtifact:
        return NewArtifact(
            id=new_id(),
            kind="partial",
            task_id=task_id,
            attempt=attempt,
            name=name,
            content_type=content_type,
            sha256="",
            size=0,
        )

    async def _hand_in(
        self,
        new: NewArtifact,
        job_id: str | None,
        check: Callable[[sqlite3.Connection], int | None],
        pieces: AsyncIterator[bytes],
    ) -> Artifact:
        async with self.files.receiving_one(new.id) as aside:
            sha256, size = await receive(aside, pieces, self.limits.partial_bytes)
            now = self.time.now()

            def unit(c: sqlite3.Connection) -> Artifact:
                whole = replace(new, job=check(c), sha256=sha256, size=size)
                added = _added(c, whole, now)
                if added is not None:
                    self.files.settle(aside, job_id, new.id)
                return added or _first(c, whole)

            return await self._db.write(unit)

    async def _sweep(self) -> None:
        while True:
            try:
                await self._look()
            except Exception as error:
                # A disk that is full now is looked at again: neither leases nor results may stand still.
                _log.warning("Uploaded jobs can’t be looked after just now: %s", error)
            await self._clock.sleep(_SWEEP_S)

    async def _look(self) -> None:
        now, tokens = self.time.now(), self._tokens()

        def unit(c: sqlite3.Connection) -> None:
            jobs.settle(c, tasks.expire(c, now, tokens), now)

        await self._db.write(unit)
        await self.reducing.go_on()


def _added(c: sqlite3.Connection, new: NewArtifact, now: str) -> Artifact | None:
    return artifacts.one(c, new.id) if artifacts.add(c, new, now) else None


def _first(c: sqlite3.Connection, new: NewArtifact) -> Artifact:
    first = artifacts.of_claim(c, new.task_id or "", new.attempt or 0)
    if first is None:
        raise NoSuchArtifact
    return first


@dataclass
class Opened:
    """Uploads over a store of their own, and what a person should be told about the opening."""

    uploads: Uploads
    db: Database
    notes: list[str]


async def open_uploads(
    data_dir: Path,
    clock: Clock,
    spawner: Tasks,
    *,
    lease_s: float,
    longest_pause_s: float,
    tokens: Callable[[], Collection[int]],
    limits: Limits | None = None,
) -> Opened:
    """Open the uploads of a data folder; nothing is swept before `start`. Raises BridgeError."""
    folder = data_dir / "coordinator"
    private_folder(folder)
    opened = await open_database(data_dir / DATABASE, SCHEMA, clock=clock)
    uploads = Uploads(
        opened.database,
        folder,
        clock,
        spawner,
        lease_s=lease_s,
        longest_pause_s=longest_pause_s,
        tokens=tokens,
        limits=limits,
    )
    return Opened(uploads, opened.database, opened.notes)
