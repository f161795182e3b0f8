"""Parts of audio as tasks of this wire: the service's leases in the contract's words and order of checks."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from bridge_agent.base.clock import Clock, later, to_text
from bridge_agent.base.errors import BridgeError
from bridge_agent.base.threads import in_thread
from bridge_agent.protocol.coordinator import GIVEN_BACK, STOPPING, TRANSCRIBE
from bridge_agent.transcription.model import RATE, Settings
from bridge_agent.transcription.pipeline.hearing import context
from bridge_agent.transcription.pipeline.pipeline import Pipeline
from bridge_agent.transcription.pipeline.tasks import Phase, Task
from bridge_agent.worker_api.coordinator_v1.claimed import Caller, Claimed, Settled
from bridge_agent.worker_api.coordinator_v1.part_ids import NumberedIds
from bridge_agent.worker_api.service import partial as partials
from bridge_agent.worker_api.service.lease import (
    HOLDERS,
    BadPartial,
    DifferentResult,
    LeaseLost,
    Terms,
    WorkerId,
)
from bridge_agent.worker_api.service.partial import Partial
from bridge_agent.worker_api.service.service import WorkService
from bridge_agent.worker_api.uploads.records import Artifact
from bridge_agent.worker_api.uploads.refusals import (
    Invalid,
    LeasedElsewhere,
    NoSuchArtifact,
    NoSuchTask,
    NotLeased,
    OtherResult,
    Refusal,
    StaleAttempt,
)
from bridge_agent.worker_api.uploads.speech import SENDER
from bridge_agent.worker_api.uploads.uploads import Stretch, Uploads

FLAC = "audio/flac"


class _Book(NamedTuple):
    """What a part is told of the whole that it belongs to."""

    plan_hash: str
    job_id: str
    settings: Settings | None


class Parts:
    """What this wire does with the pipeline's parts; task ids are numbers of the pipeline's here.

    Attempts are those of workers alone (`Task.turn`): having been cut is none of theirs.
    """

    def __init__(
        self,
        service: WorkService,
        pipeline: Pipeline,
        uploads: Uploads,
        clock: Clock,
        ids: NumberedIds,
        recording_ids: NumberedIds,
    ) -> None:
        self._service = service
        self._pipeline = pipeline
        self._uploads = uploads
        self._clock = clock
        self.ids = ids
        self._recording_ids = recording_ids
        self._books: dict[int, _Book] = {}
        self._terms = Terms(uploads.lease_s)

    async def ask(self) -> None:
        """Ask the pipeline's store something; raises whatever is wrong with it."""
        await self._service.task(0)

    async def claim(self, caller: Caller) -> Claimed | None:
        """Claim the next part, None where there is none for this worker.

        One that can't be told of is given back (law 3).
        """
        lease = await self._service.claim(_worker(caller), self._terms)
        if lease is None:
            return None
        try:
            return await self._claimed(lease.task)
        except BaseException:
            with contextlib.suppress(BridgeError):
                await self._service.give_back(lease.ref)
            raise

    async def waiting_since(self, caller: Caller) -> str | None:
        """Return when the oldest book was asked for whose parts may be for this worker."""
        return await self._service.waiting_since(_worker(caller))

    async def renew(self, number: int, caller: Caller, attempt: int) -> Claimed:
        """Take a heartbeat; the first one says that the part is worked on. Raises Refusal."""
        task = await self._held(number, caller, attempt)
        phase: Phase | None = None if task.phase == "transcribing" else "transcribing"
        try:
            lease = await self._service.renew(task.claim, self._terms, phase=phase)
        except LeaseLost as lost:
            raise await self._why(number, caller, attempt) from lost
        return await self._claimed(lease.task)

    async def still_held(self, number: int, caller: Caller, attempt: int) -> Claimed:
        """Take a heartbeat that can't be written down: the claim lives on here alone. Raises Refusal."""
        task = await self._held(number, caller, attempt)
        try:
            self._service.prolong(task.claim, self._terms)
        except LeaseLost as lost:
            raise await self._why(number, caller, attempt) from lost
        return await self._claimed(task)

    async def input(self, number: int, token_id: int) -> Stretch:
        """Return a part's audio while it is there, to whoever asks; raises NoSuchTask, NoSuchArtifact.

        Where it is lost, only whose worker holds the part makes it be cut again.
        """
        task = await self._task(number)
        mine = (task.holder or "").startswith(f"{HOLDERS}{token_id}/")
        found = await self._service.input(task, mine=mine)
        if found is None:
            raise NoSuchArtifact
        return Stretch(found.path, 0, found.size, FLAC, found.sha256)

    async def hand_in(
        self,
        number: int,
        caller: Caller,
        attempt: int,
        name: str,
        content_type: str,
        pieces: AsyncIterator[bytes],
    ) -> Artifact:
        """Take a partial in; of two for one claim the first stays. Raises NoSuchTask, LeasedElsewhere."""
        task_id = self.ids.of(number)
        await self._check(number, caller, attempt)

        async def while_held() -> AsyncIterator[bytes]:
            async for piece in pieces:
                yield piece
            await self._check(number, caller, attempt)

        return await self._uploads.hand_in_part(task_id, attempt, name, content_type, while_held())

    async def complete(self, number: int, caller: Caller, attempt: int, artifact_id: str | None) -> Settled:
        """Complete a part with what was handed in for it; raises Refusal."""
        task = await self._task(number)
        found, path = await self._uploads.artifact(artifact_id or "")
        if (found.kind, found.task_id, found.attempt) != ("partial", self.ids.of(number), attempt):
            raise OtherResult
        if task.state == "done":
            told = await self._service.told(task)
            if told is None or task.turn != attempt:
                raise OtherResult
            return await self._settled(task, "completed")
        refusal = self._refusal(task, caller, attempt)
        if refusal is not None:
            raise refusal
        partial = await self._read(found, path)
        try:
            done = await self._service.complete(task.claim, self._terms, _worker(caller), partial)
        except LeaseLost as lost:
            raise await self._why(number, caller, attempt) from lost
        except DifferentResult as other:
            raise OtherResult from other
        return await self._settled(done, "completed")

    async def fail(
        self,
        number: int,
        caller: Caller,
        attempt: int,
        code: str | None,
        message: str | None,
        retryable: bool,
    ) -> Settled:
        """Write a failure down, or take a part back that was given up; raises Refusal."""
        task = await self._held(number, caller, attempt)
        try:
            if code == GIVEN_BACK and retryable:
                reason = "" if message == STOPPING else message or ""
                await self._service.give_back(task.claim, _worker(caller), reason)
                return await self._settled(task, "pending")
            said = message or code or ""
            fallen = await self._service.fail(
                task.claim, self._terms, _worker(caller), said, retryable=retryable
            )
        except LeaseLost as lost:
            raise await self._why(number, caller, attempt) from lost
        return await self._settled(task, "pending" if fallen == "again" else "failed")

    # ---- inside

    async def _task(self, number: int) -> Task:
        task = await self._service.task(number)
        if task is None:
            raise NoSuchTask
        return task

    async def _held(self, number: int, caller: Caller, attempt: int) -> Task:
        task = await self._task(number)
        refusal = self._refusal(task, caller, attempt)
        if refusal is not None:
            raise refusal
        return task

    async def _check(self, number: int, caller: Caller, attempt: int) -> None:
        """Raise NoSuchTask, or LeasedElsewhere unless that claim holds the part now."""
        if self._refusal(await self._task(number), caller, attempt) is not None:
            raise LeasedElsewhere

    def _refusal(self, task: Task, caller: Caller, attempt: int) -> Refusal | None:
        if task.state != "converted" or task.holder is None:
            return NotLeased()
        if task.holder != _worker(caller).holder:
            return LeasedElsewhere()
        if task.turn != attempt:
            return StaleAttempt()
        return None if self._service.lives(task.claim) else LeasedElsewhere()

    async def _why(self, number: int, caller: Caller, attempt: int) -> Refusal:
        return self._refusal(await self._task(number), caller, attempt) or LeasedElsewhere()

    async def _read(self, found: Artifact, path: Path) -> Partial:
        try:
            return _partial(await in_thread(path.read_bytes) if found.content is None else found.content)
        except FileNotFoundError as gone:
            raise NoSuchArtifact from gone
        except BadPartial as bad:
            raise Invalid(bad.message) from bad

    async def _claimed(self, task: Task) -> Claimed:
        book = await self._book(task)
        return Claimed(
            task_id=self.ids.of(task.id),
            job_id=book.job_id,
            chunk_index=task.number,
            workload=TRANSCRIBE,
            input_sha256=task.sha256 or "",
            parameters={} if book.settings is None else _parameters(book.settings, task),
            attempt=task.turn,
            lease_expires_at=to_text(later(self._clock.now(), self._terms.seconds)),
        )

    async def _settled(self, task: Task, status: str) -> Settled:
        return Settled(self.ids.of(task.id), (await self._book(task)).job_id, status)

    async def _book(self, task: Task) -> _Book:
        """Return what a part belongs to; remembered while its plan is the one that is worked on."""
        offer = self._pipeline.offers.get(task.recording_id)
        known = self._books.get(task.recording_id)
        if offer is not None and known is not None and known.plan_hash == offer.plan.hash:
            return known
        recording = await self._pipeline.get(task.recording_id)
        job_id = self._recording_ids.of(task.recording_id)
        if recording is None or recording.plan is None:
            return _Book("", job_id, None)
        if recording.sender == SENDER and recording.addressee:
            job_id = recording.addressee
        book = _Book(recording.plan.hash, job_id, recording.plan.settings)
        self._books = {id_: each for id_, each in self._books.items() if id_ in self._pipeline.offers}
        self._books[task.recording_id] = book
        return book


def _worker(caller: Caller) -> WorkerId:
    return WorkerId(caller.token_id, caller.name, caller.model, caller.worker_id)


def _parameters(settings: Settings, task: Task) -> dict[str, Any]:
    """Return how a part is to be heard; `hints` and `seed` make equal parts give equal words."""
    heard = context(settings, settings.model, task.part_key)
    found: Mapping[str, Any] = {
        "language": settings.language,
        "model": settings.model or None,
        "quality": settings.quality,
        "word_timestamps": settings.word_timestamps,
        "prompt": settings.prompt,
        "hints": list(heard.hints),
        "seed": heard.seed,
    }
    return {name: value for name, value in found.items() if value is not None}


class _SpeechSeconds(msgspec.Struct):
    speech_seconds: float | None = None


def _partial(raw: bytes) -> Partial:
    """Read a partial, in which our own worker tells in seconds how much is speech; raises BadPartial."""
    found = partials.read(raw)
    seconds = msgspec.json.decode(raw, type=_SpeechSeconds).speech_seconds
    if seconds is None or found.speech_samples is not None:
        return found
    return msgspec.structs.replace(found, speech_samples=round(min(max(seconds, 0.0), 86_400.0) * RATE))
