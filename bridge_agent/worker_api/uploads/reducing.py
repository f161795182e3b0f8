"""Reducing: the results of a job's tasks are put together into the final one, once, across restarts."""

import logging
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from bridge_agent.base.tasks import Tasks
from bridge_agent.base.threads import in_thread
from bridge_agent.store import Database
from bridge_agent.store.database import StoreFull
from bridge_agent.worker_api.uploads import jobs, tasks
from bridge_agent.worker_api.uploads.files import Files, Growing
from bridge_agent.worker_api.uploads.ids import new_id
from bridge_agent.worker_api.uploads.records import Job, NewArtifact
from bridge_agent.worker_api.uploads.steady import SteadyTime
from bridge_agent.worker_api.workloads.catalogue import CATALOGUE, Workload
from bridge_agent.worker_api.workloads.tables import BadTable

FAILED = "reducer_failed"

_log = logging.getLogger(__name__)


class Reducing:
    """Puts results together; a job whose results are not as they have to be fails."""

    def __init__(self, db: Database, files: Files, time: SteadyTime, spawner: Tasks) -> None:
        self._db = db
        self._files = files
        self._time = time
        self._tasks = spawner
        self._under_way: set[int] = set()

    async def reduce(self, job: Job) -> None:
        """Put a job's results together; whoever waits for it may go away. Raises nothing that is foreseen."""
        await self._tasks.shielded(self._reduce(job), "reduction")

    async def go_on(self) -> None:
        """Do what was not done: the program ended over it, or the disk was full."""
        for job in await self._db.read(lambda c: jobs.in_state(c, "reducing")):
            if job.workload in CATALOGUE and CATALOGUE[job.workload].reducer is not None:
                await self.reduce(job)

    async def _reduce(self, job: Job) -> None:
        if job.number in self._under_way:
            return
        self._under_way.add(job.number)
        try:
            await self._put_together(job, CATALOGUE[job.workload])
        except StoreFull:
            _log.warning(
                "The disk is too full for the result of job %s; it is tried again by itself.", job.id
            )
        except (BadTable, OSError) as bad:
            _log.warning("The results of job %s can't be put together: %s.", job.id, bad)
            now = self._time.now()
            await self._db.write(lambda c: jobs.fail(c, job.number, FAILED, now))
        finally:
            self._under_way.discard(job.number)

    async def _put_together(self, job: Job, workload: Workload) -> None:
        found = await self._db.read(lambda c: tasks.results(c, job.number))
        paths = [self._files.place(job.id, artifact_id) for artifact_id in found]
        artifact_id = new_id()
        async with self._files.receiving(artifact_id) as aside:
            written = await in_thread(_write, workload, job, paths, aside / artifact_id)
            result = NewArtifact(
                id=artifact_id,
                kind="result",
                name=workload.result_name,
                content_type=workload.result_type,
                sha256=written.sha256,
                size=written.size,
                job=job.number,
            )
            await keep_result(self._db, self._files, self._time, job, result, aside / artifact_id)


async def keep_result(
    db: Database, files: Files, time: SteadyTime, job: Job, result: NewArtifact, written: Path
) -> bool:
    """Give a job its final result, which is written already; tell whether it was still waiting for one."""
    now = time.now()

    def unit(c: sqlite3.Connection) -> bool:
        done = jobs.complete(c, job.number, result, now)
        if done:
            files.settle(written, job.id, result.id)
        return done

    return await db.write(unit)


def _write(workload: Workload, job: Job, paths: list[Path], target: Path) -> Growing:
    growing = Growing(target)
    try:
        if workload.reducer is not None:
            workload.reducer(_opened(paths), job.parameters, cast(BinaryIO, growing))
        growing.end()
    finally:
        growing.close()
    return growing


def _opened(paths: list[Path]) -> Iterator[BinaryIO]:
    for path in paths:
        with path.open("rb") as partial:
            yield partial
