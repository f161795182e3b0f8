"""Shards of tables as tasks of this wire."""

import asyncio
import json
from collections.abc import AsyncIterator, Collection
from typing import Any

from bridge_agent.base.clock import Clock, later, to_text
from bridge_agent.base.tasks import Tasks
from bridge_agent.worker_api.coordinator_v1.claimed import Caller, Claimed, Settled
from bridge_agent.worker_api.uploads import tasks
from bridge_agent.worker_api.uploads.records import Artifact, Holder, Task
from bridge_agent.worker_api.uploads.tasks import Failure
from bridge_agent.worker_api.uploads.uploads import Uploads


class Tables:
    """What this wire does with uploaded tables' tasks."""

    def __init__(self, uploads: Uploads, clock: Clock, spawner: Tasks) -> None:
        self._uploads = uploads
        self._clock = clock
        self._tasks = spawner

    async def claim(self, caller: Caller, workloads: Collection[str]) -> Claimed | None:
        """Lease the next task, None where there is none; a caller that has gone away holds none (law 3)."""
        claiming = self._uploads.claim(workloads, caller.worker_id, caller.token_id)
        work = self._tasks.spawn(claiming, "claim of a shard", awaited=True)
        try:
            task = await asyncio.shield(work)
        except asyncio.CancelledError:
            await self._tasks.shielded(self._returned(work), "give a shard back")
            raise
        return None if task is None else self._claimed(task)

    async def _returned(self, work: "asyncio.Task[Task | None]") -> None:
        await asyncio.wait({work})
        task = None if work.cancelled() or work.exception() is not None else work.result()
        if task is not None:
            await self._uploads.unclaim(task)

    async def renew(self, task_id: str, caller: Caller, attempt: int) -> Claimed:
        """Take a heartbeat; raises Refusal."""
        return self._claimed(await self._uploads.renew(task_id, _holder(caller, attempt)))

    async def still_held(self, task_id: str, caller: Caller, attempt: int) -> Claimed:
        """Return a lease as it is, not renewed; raises Refusal."""
        task = await self._uploads.task(task_id)
        refusal = tasks.refusal(task, _holder(caller, attempt), self._uploads.time.now())
        if refusal is not None:
            raise refusal
        return self._claimed(task)

    async def hand_in(
        self,
        task_id: str,
        caller: Caller,
        attempt: int,
        name: str,
        content_type: str,
        pieces: AsyncIterator[bytes],
    ) -> Artifact:
        """Take a partial in; of two for one lease the first stays. Raises NoSuchTask, LeasedElsewhere."""
        holder = _holder(caller, attempt)
        return await self._uploads.hand_in(task_id, holder, name, content_type, pieces)

    async def complete(
        self,
        task_id: str,
        caller: Caller,
        attempt: int,
        artifact_id: str | None,
        metrics: dict[str, Any] | None,
    ) -> Settled:
        """Complete a task; raises Refusal."""
        told = None if metrics is None else json.dumps(metrics)
        return _settled(await self._uploads.complete(task_id, _holder(caller, attempt), artifact_id, told))

    async def fail(self, task_id: str, caller: Caller, attempt: int, failure: Failure) -> Settled:
        """Write a failure down; raises Refusal."""
        return _settled(await self._uploads.fail(task_id, _holder(caller, attempt), failure))

    def _claimed(self, task: Task) -> Claimed:
        left = self._uploads.time.seconds_until(task.lease_ends_at or "")
        return Claimed(
            task_id=task.id,
            job_id=task.job_id,
            chunk_index=task.chunk_index,
            workload=task.workload,
            input_sha256=task.input_sha256,
            parameters=task.parameters,
            attempt=task.attempt,
            lease_expires_at=to_text(later(self._clock.now(), left)),
            input_uri=task.input_uri,
        )


def _holder(caller: Caller, attempt: int) -> Holder:
    return Holder(caller.worker_id, caller.token_id, attempt)


def _settled(task: Task) -> Settled:
    return Settled(task.id, task.job_id, task.state)
