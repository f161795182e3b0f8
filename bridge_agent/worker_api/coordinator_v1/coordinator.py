"""The coordinator: what this wire serves, behind its routes."""

from collections.abc import AsyncIterator, Collection, Mapping
from typing import Any

from bridge_agent.base.clock import Clock
from bridge_agent.base.tasks import Tasks
from bridge_agent.protocol.coordinator import TRANSCRIBE
from bridge_agent.transcription.pipeline.pipeline import Pipeline
from bridge_agent.worker_api.coordinator_v1 import bodies
from bridge_agent.worker_api.coordinator_v1.answers import NoSuchWorker
from bridge_agent.worker_api.coordinator_v1.claimed import Caller, Claimed, Settled
from bridge_agent.worker_api.coordinator_v1.messages import Fail, Register, Result
from bridge_agent.worker_api.coordinator_v1.part_ids import NumberedIds
from bridge_agent.worker_api.coordinator_v1.parts import Parts
from bridge_agent.worker_api.coordinator_v1.tables import Tables
from bridge_agent.worker_api.gate import Gate
from bridge_agent.worker_api.service.service import WorkService
from bridge_agent.worker_api.tokens import Member, Registration, Tokens
from bridge_agent.worker_api.uploads.ids import new_id
from bridge_agent.worker_api.uploads.records import Artifact
from bridge_agent.worker_api.uploads.refusals import Invalid
from bridge_agent.worker_api.uploads.speech import SpeechJobs
from bridge_agent.worker_api.uploads.tasks import Failure
from bridge_agent.worker_api.uploads.uploads import Status, Stretch, Uploads

HEARTBEAT_S = 15


class Coordinator:
    """Workers, jobs and tasks as the contract has them, over the service and the uploads."""

    def __init__(
        self,
        gate: Gate,
        tokens: Tokens,
        uploads: Uploads,
        clock: Clock,
        spawner: Tasks,
        parts: Parts | None = None,
        speech: SpeechJobs | None = None,
    ) -> None:
        """Take what is served; `parts` and `speech` are None where nothing transcribes here."""
        self.gate = gate
        self.uploads = uploads
        self._tokens = tokens
        self._tables = Tables(uploads, clock, spawner)
        self._parts = parts
        self.speech = speech

    async def ask(self) -> None:
        """Ask all stores behind this wire something; raises whatever is wrong with one."""
        await self.uploads.ask()
        await self._tokens.registration("")
        if self._parts is not None:
            await self._parts.ask()

    # ---- workers

    async def register(self, member: Member, wanted: Register) -> dict[str, Any]:
        """Make a worker known for good."""
        worker_id = new_id()
        await self._tokens.register(
            Registration(worker_id, member.id, wanted.name, tuple(wanted.capabilities))
        )
        model = _model(wanted.capabilities)
        if model is not None:
            await self._tokens.describe(member.id, model, member.engine, member.device)
        # Whoever beats by what it is told must do so before half of a lease is over.
        beat = min(HEARTBEAT_S, max(1, int(self.uploads.lease_s / 2)))
        return {"worker_id": worker_id, "heartbeat_interval_seconds": beat}

    async def claim(self, member: Member, worker_id: str) -> Claimed | None:
        """Lease the next task that a worker can do, of the job made first; raises Invalid, NoSuchWorker."""
        known = bodies.as_uuid(worker_id)
        if known is None:
            raise Invalid("A worker’s id is a UUID.")
        registration = await self._tokens.registration(known)
        if registration is None or registration.token_id != member.id:
            raise NoSuchWorker
        if not member.may_work:
            return None
        capabilities = registration.capabilities
        caller = self.caller(member, worker_id, _model(capabilities))
        parts = self._parts
        if parts is None or TRANSCRIBE not in capabilities:
            return await self._tables.claim(caller, capabilities)
        if await self._tables_go_first(parts, caller, capabilities):
            return await self._tables.claim(caller, capabilities) or await parts.claim(caller)
        return await parts.claim(caller) or await self._tables.claim(caller, capabilities)

    async def _tables_go_first(self, parts: Parts, caller: Caller, capabilities: Collection[str]) -> bool:
        since = await self.uploads.waiting_since(capabilities)
        if since is None:
            return False
        parts_since = await parts.waiting_since(caller)
        return parts_since is None or since < parts_since

    def caller(self, member: Member, worker_id: str, model: str | None = None) -> Caller:
        """Return who calls."""
        return Caller(member.id, member.name, model or member.model, worker_id)

    # ---- tasks

    async def renew(self, task_id: str, caller: Caller, attempt: int) -> Claimed:
        """Take a heartbeat; raises Refusal."""
        number = self._number(task_id)
        if number is None or self._parts is None:
            return await self._tables.renew(task_id, caller, attempt)
        return await self._parts.renew(number, caller, attempt)

    async def still_held(self, task_id: str, caller: Caller, attempt: int) -> Claimed:
        """Return a claim whose renewal can't be written down; raises Refusal."""
        number = self._number(task_id)
        if number is None or self._parts is None:
            return await self._tables.still_held(task_id, caller, attempt)
        return await self._parts.still_held(number, caller, attempt)

    async def input(self, task_id: str, member: Member) -> Stretch:
        """Return a task's bytes; raises NoSuchTask, NoSuchArtifact."""
        number = self._number(task_id)
        if number is None or self._parts is None:
            return await self.uploads.input(task_id)
        return await self._parts.input(number, member.id)

    async def hand_in(
        self,
        task_id: str,
        caller: Caller,
        attempt: int,
        name: str,
        content_type: str,
        pieces: AsyncIterator[bytes],
    ) -> Artifact:
        """Take a partial in; raises NoSuchTask, LeasedElsewhere, TooLarge, StoreFull."""
        number = self._number(task_id)
        if number is None or self._parts is None:
            return await self._tables.hand_in(task_id, caller, attempt, name, content_type, pieces)
        return await self._parts.hand_in(number, caller, attempt, name, content_type, pieces)

    async def complete(self, task_id: str, caller: Caller, said: Result) -> Settled:
        """Complete a task; raises Refusal."""
        artifact_id = None
        if said.result.artifact_id:
            artifact_id = bodies.as_uuid(said.result.artifact_id)
            if artifact_id is None:
                raise Invalid("An artifact’s id is a UUID.")
        number = self._number(task_id)
        if number is None or self._parts is None:
            return await self._tables.complete(task_id, caller, said.attempt, artifact_id, said.metrics)
        return await self._over(await self._parts.complete(number, caller, said.attempt, artifact_id))

    async def fail(self, task_id: str, caller: Caller, said: Fail) -> Settled:
        """Write a failure down; raises Refusal."""
        number = self._number(task_id)
        if number is None or self._parts is None:
            failure = Failure(said.error_code, said.error_message, said.retryable)
            return await self._tables.fail(task_id, caller, said.attempt, failure)
        settled = await self._parts.fail(
            number, caller, said.attempt, said.error_code, said.error_message, said.retryable
        )
        return await self._over(settled)

    # ---- jobs

    async def progress(self, job_id: str) -> dict[str, Any]:
        """Return how far a job is; raises NoSuchJob."""
        status = await self.uploads.status(job_id)
        if status.job.workload == TRANSCRIBE and self.speech is not None:
            status = Status(status.job, await self.speech.counts(status.job))
        return _progress(status)

    async def cancel(self, job_id: str) -> dict[str, Any]:
        """End a job; raises NoSuchJob, NotCancellable."""
        job, ended = await self.uploads.cancel(job_id)
        if job.workload == TRANSCRIBE and self.speech is not None:
            ended = await self.speech.cancel(job)
        return {"cancelled_tasks": ended, "job_id": job.id, "status": "cancelled"}

    async def _over(self, settled: Settled) -> Settled:
        if self.speech is not None and settled.status != "pending":
            await self.speech.over(settled.job_id)
        return settled

    def _number(self, task_id: str) -> int | None:
        return None if self._parts is None else self._parts.ids.number(task_id)


async def make_parts(
    service: WorkService, pipeline: Pipeline, tokens: Tokens, uploads: Uploads, clock: Clock
) -> Parts:
    """Return the parts of a pipeline as this wire has them, with ids that outlive a restart."""
    ids = NumberedIds(await tokens.key("part ids"))
    return Parts(service, pipeline, uploads, clock, ids, NumberedIds(await tokens.key("recording ids")))


def _model(capabilities: "tuple[str, ...] | list[str]") -> str | None:
    """Return the model that a worker says that it hears with."""
    prefix = f"{TRANSCRIBE}:"
    return next((one.removeprefix(prefix) for one in capabilities if one.startswith(prefix)), None)


def _progress(status: Status) -> dict[str, Any]:
    job, counts = status
    leased = counts.get("leased", 0) + counts.get("running", 0)
    found: dict[str, Any] = {
        "id": job.id,
        "status": _state(job.state, counts),
        "total": sum(counts.values()),
        "pending": counts.get("pending", 0),
        "leased": leased,
        "completed": counts.get("completed", 0),
        "failed": counts.get("failed", 0),
        "cancelled": counts.get("cancelled", 0),
    }
    if job.result_id is not None:
        found["result_uri"] = f"/jobs/{job.id}/result"
    if job.error_code is not None:
        found["error_code"] = job.error_code
    return found


def _state(state: str, counts: Mapping[str, int]) -> str:
    if state != "open":
        return state
    begun = any(counts.get(each) for each in ("leased", "running", "completed", "failed"))
    return "running" if begun else "pending"
