"""Intake: an upload becomes a job with all its tasks, or nothing at all."""

import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from bridge_agent.base.errors import BridgeError
from bridge_agent.base.threads import in_thread
from bridge_agent.store import Database
from bridge_agent.transcription.engines.errors import INSTALL
from bridge_agent.worker_api.uploads import jobs
from bridge_agent.worker_api.uploads.files import Files, gathered, receive
from bridge_agent.worker_api.uploads.ids import new_id
from bridge_agent.worker_api.uploads.records import Job, NewArtifact, NewTask
from bridge_agent.worker_api.uploads.refusals import Invalid
from bridge_agent.worker_api.uploads.splitting import Splitting
from bridge_agent.worker_api.uploads.steady import SteadyTime
from bridge_agent.worker_api.workloads.catalogue import Workload

MAX_ATTEMPTS = 3
DEFAULT_ROWS = 1000


@dataclass(frozen=True, kw_only=True)
class Form:
    """What is said of an upload before its file comes."""

    workload: Workload
    parameters: dict[str, Any]
    chunk_rows: int = DEFAULT_ROWS
    max_rows: int | None = None


@dataclass(frozen=True)
class Upload:
    """A file on its way in; `end` is awaited after its last byte and raises where more follows."""

    name: str
    content_type: str
    pieces: AsyncIterator[bytes]
    end: Callable[[], Awaitable[None]]


class Accepted(NamedTuple):
    """What an upload became."""

    job_id: str
    task_count: int
    input_artifact_id: str


class Chunk(NamedTuple):
    """A task of a job that is described by addresses."""

    chunk_index: int
    input_uri: str
    input_sha256: str
    workload: str
    parameters: dict[str, Any]
    max_attempts: int


class Speech(Protocol):
    """Where uploaded audio goes on to."""

    async def plan(self, job_id: str, audio: Path, name: str, parameters: dict[str, Any]) -> int:
        """Begin to transcribe a file; return the number of its parts once they are known. Raises Refusal."""
        ...

    async def carry_out(self, job: Job) -> None:
        """Go on with it, in the background."""
        ...

    async def drop(self, job_id: str) -> None:
        """End what was begun and will be no job."""
        ...


class Intake:
    """Takes uploads in. Without `speech` nothing is transcribed here."""

    def __init__(
        self, db: Database, files: Files, time: SteadyTime, most_bytes: int, speech: Speech | None = None
    ) -> None:
        self._db = db
        self._files = files
        self._time = time
        self._most_bytes = most_bytes
        self.speech = speech

    async def describe(self, workload: str, parameters: dict[str, Any], chunks: list[Chunk]) -> str:
        """Make a job whose inputs lie elsewhere; return its id."""
        job_id = new_id()
        new = [
            NewTask(
                id=new_id(),
                chunk_index=chunk.chunk_index,
                workload=chunk.workload,
                parameters=json.dumps(chunk.parameters),
                input_uri=chunk.input_uri,
                input_sha256=chunk.input_sha256,
                max_attempts=chunk.max_attempts,
            )
            for chunk in sorted(chunks)
        ]
        now = self._time.now()
        raw = json.dumps(parameters)
        await self._db.write(lambda c: jobs.begin(c, job_id, workload, raw, None, new, now))
        return job_id

    async def take(self, form: Form, upload: Upload) -> Accepted:
        """Take an upload in; raises Invalid, TooLarge, StoreFull, and then nothing of it is kept."""
        if form.workload.source == "audio":
            return await self._audio(form, upload)
        return await self._table(form, upload)

    async def _table(self, form: Form, upload: Upload) -> Accepted:
        job_id, source_id = new_id(), new_id()
        async with self._files.receiving(job_id) as aside:
            splitting = await in_thread(
                Splitting, aside / source_id, aside / "shards", form.chunk_rows, form.max_rows
            )
            try:
                async for piece in gathered(upload.pieces):
                    await in_thread(splitting.take, piece)
                await upload.end()
                await in_thread(splitting.end)
            finally:
                splitting.close()
            source = self._source(source_id, upload, splitting.source.sha256, splitting.source.size)
            new = _tasks_of(splitting, form, upload.content_type)
            async with self._settled(aside, job_id):
                await self._begin(job_id, form, source, new)
            return Accepted(job_id, len(splitting.shards), source_id)

    async def _audio(self, form: Form, upload: Upload) -> Accepted:
        speech = self.speech
        if speech is None:
            raise Invalid(f"Nothing is transcribed here; give the Bridge its engine with {INSTALL} first.")
        job_id, source_id = new_id(), new_id()
        async with self._files.receiving(job_id) as aside:
            sha256, size = await receive(aside / source_id, upload.pieces, self._most_bytes)
            await upload.end()
            source = self._source(source_id, upload, sha256, size)
            async with self._settled(aside, job_id):
                try:
                    place = self._files.place(job_id, source_id)
                    parts = await speech.plan(job_id, place, upload.name, form.parameters)
                    job = await self._begin(job_id, form, source, iter(()))
                except BaseException:
                    await speech.drop(job_id)
                    raise
            await speech.carry_out(job)
            return Accepted(job_id, parts, source_id)

    def _source(self, source_id: str, upload: Upload, sha256: str, size: int) -> NewArtifact:
        return NewArtifact(
            id=source_id,
            kind="source",
            name=upload.name,
            content_type=upload.content_type,
            sha256=sha256,
            size=size,
        )

    @contextlib.asynccontextmanager
    async def _settled(self, aside: Path, job_id: str) -> AsyncIterator[None]:
        """Move an upload's files into place; they go again where no job comes of them.

        A caller that goes away may leave a job behind that is written a moment later: that goes too.
        """
        try:
            await in_thread(self._files.settle_job, aside, job_id)
            yield
        except BaseException:
            with contextlib.suppress(BridgeError):
                await self._db.write(lambda c: jobs.forget_id(c, job_id))
            await self._files.remove_job(job_id)
            raise

    async def _begin(self, job_id: str, form: Form, source: NewArtifact, new: Iterator[NewTask]) -> Job:
        now = self._time.now()
        raw = json.dumps(form.parameters)
        name = form.workload.name
        return await self._db.write(lambda c: jobs.begin(c, job_id, name, raw, source, new, now))


def _tasks_of(splitting: Splitting, form: Form, content_type: str) -> Iterator[NewTask]:
    parameters = json.dumps(form.workload.for_tasks(form.parameters))
    for shard in splitting.shards:
        yield NewTask(
            id=new_id(),
            chunk_index=shard.chunk_index,
            workload=form.workload.name,
            parameters=parameters,
            input_sha256=shard.sha256,
            input_type=content_type,
            input_start=shard.start,
            input_size=shard.size,
            max_attempts=MAX_ATTEMPTS,
        )
