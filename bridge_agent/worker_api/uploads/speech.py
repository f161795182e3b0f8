"""Speech: uploaded audio on its way through the transcription pipeline, until its transcript is there."""

import asyncio
import logging
import re
import sqlite3
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

from bridge_agent.base.clock import Clock
from bridge_agent.base.errors import BridgeError
from bridge_agent.base.tasks import Tasks, cancel_and_wait
from bridge_agent.base.threads import in_thread
from bridge_agent.store import Database
from bridge_agent.store.database import StoreFull
from bridge_agent.transcription import assembly
from bridge_agent.transcription.formats.documents import json_bytes
from bridge_agent.transcription.model import Settings
from bridge_agent.transcription.models.errors import UnknownModel
from bridge_agent.transcription.models.models import is_path
from bridge_agent.transcription.pipeline import tasks
from bridge_agent.transcription.pipeline.order import Order, SourceFile
from bridge_agent.transcription.pipeline.pipeline import NothingToHear, Pipeline, Results
from bridge_agent.transcription.pipeline.recordings import Asker, Recording
from bridge_agent.transcription.pipeline.senders import NotRunning
from bridge_agent.transcription.pipeline.troubles import Trouble
from bridge_agent.worker_api.uploads import artifacts, jobs
from bridge_agent.worker_api.uploads.files import Files, Growing
from bridge_agent.worker_api.uploads.ids import new_id
from bridge_agent.worker_api.uploads.records import Job, NewArtifact
from bridge_agent.worker_api.uploads.reducing import keep_result
from bridge_agent.worker_api.uploads.refusals import Invalid
from bridge_agent.worker_api.uploads.steady import SteadyTime
from bridge_agent.worker_api.workloads.catalogue import CATALOGUE, TRANSCRIBE

SENDER = "upload"
"""The way by which uploaded audio came to the pipeline; its addressee is the job."""
FAILED = "transcription_failed"
_LANGUAGE = re.compile(r"[a-z]{2}\Z")
_PROMPT_BYTES = 1024
_AGAIN_S = 30.0
_OVER_S = 10.0

_log = logging.getLogger(__name__)


class SpeechJobs:
    """Jobs of the workload `transcribe`: each is a recording, whose end becomes the job's."""

    def __init__(
        self, db: Database, files: Files, time: SteadyTime, clock: Clock, pipeline: Pipeline, spawner: Tasks
    ) -> None:
        """Take the pipeline, and become its way to tell of uploads."""
        self._db = db
        self._files = files
        self._time = time
        self._clock = clock
        self._pipeline = pipeline
        self._tasks = spawner
        self._recordings: dict[str, int] = {}
        self._runs: dict[str, asyncio.Task[Recording]] = {}
        self._carrying: dict[str, asyncio.Task[None]] = {}
        pipeline.replies.senders[SENDER] = self

    async def start(self) -> None:
        """Go on with the jobs that an earlier life left open."""
        for state in ("open", "reducing"):
            for job in await self._db.read(lambda c, s=state: jobs.in_state(c, s)):  # type: ignore[misc]
                if job.workload == TRANSCRIBE:
                    await self.carry_out(job)

    async def send(self, addressee: str, ended: Recording) -> None:
        """Take the news of a recording's end; the run that waits here has it already."""
        if addressee not in self._recordings:
            raise NotRunning

    async def plan(self, job_id: str, audio: Path, name: str, parameters: dict[str, Any]) -> int:
        """Begin to transcribe a file; return the number of its parts as soon as they are known.

        Raises Invalid for what is no audio, Trouble for what the owner has to mend first.
        """
        recording_id = await self._pipeline.begin(_order(job_id, audio, name, parameters))
        self._recordings[job_id] = recording_id
        planned = asyncio.Event()

        def progress(step: str, _message: str, _done: float | None, _total: float | None) -> None:
            if step == "transcribe":
                planned.set()

        run = self._tasks.spawn(self._run(recording_id, progress), "uploaded audio", awaited=True)
        self._runs[job_id] = run
        waiting = self._tasks.spawn(planned.wait(), "plan of uploaded audio")
        try:
            await asyncio.wait({run, waiting}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        if run.done():
            await _raise_of(run)
        recording = await self._pipeline.get(recording_id)
        if recording is None or recording.plan is None:
            raise Invalid("The audio was gone before it was read; send it anew.")
        return len(recording.plan.parts)

    async def drop(self, job_id: str) -> None:
        """End what was begun and will be no job; nothing of it stays."""
        run, recording_id = self._runs.pop(job_id, None), self._recordings.pop(job_id, None)
        if recording_id is not None:
            await self._pipeline.cancel(recording_id)
        if run is not None:
            await cancel_and_wait(run)
        if recording_id is not None:
            await self._pipeline.drop(recording_id)

    async def carry_out(self, job: Job) -> None:
        """Go on with a job in the background, to its end."""
        carrying = self._tasks.spawn(self._carry_out(job), f"job {job.id}")
        self._carrying[job.id] = carrying
        carrying.add_done_callback(lambda _: self._carrying.pop(job.id, None))

    async def over(self, job_id: str) -> None:
        """Wait, not for ever, until a job is over whose parts have all come to an end; others are left alone.

        So the call that ends the last part answers when the result is there, as with tables.
        """
        carrying, recording_id = self._carrying.get(job_id), self._recordings.get(job_id)
        if carrying is None or recording_id is None:
            return
        parts = await self._pipeline.desk.read(lambda c: tasks.counts(c, recording_id))
        if parts.get("created") or parts.get("converted"):
            return
        ended = asyncio.Event()
        carrying.add_done_callback(lambda _: ended.set())
        await self._clock.wait(ended, _OVER_S)

    async def cancel(self, job: Job) -> int:
        """End the recording of a job that was cancelled; return how many parts were open."""
        recording_id = self._recordings.get(job.id)
        if recording_id is None:
            return 0
        before = await self.counts(job)
        await self._pipeline.cancel(recording_id)
        after = await self.counts(job)
        await self._db.write(lambda c: jobs.keep_parts(c, job.number, after))
        return after.get("cancelled", 0) - before.get("cancelled", 0)

    async def counts(self, job: Job) -> dict[str, int]:
        """Return how many parts are in each state, in the words of tasks."""
        if job.parts is not None:
            return job.parts
        recording_id = self._recordings.get(job.id)
        if recording_id is None:
            return {}
        found: dict[str, int] = {}
        parts = await self._pipeline.desk.read(lambda c: tasks.of_recording(c, recording_id))
        for task in parts:
            state = _STATES[task.state]
            if state == "pending" and task.state == "converted" and task.holder is not None:
                state = "running" if task.phase == "transcribing" else "leased"
            found[state] = found.get(state, 0) + 1
        return found

    # ---- one job

    async def _carry_out(self, job: Job) -> None:
        while await self._is_wanted(job):
            try:
                await self._to_its_end(job)
            except Trouble as trouble:
                _log.warning("The uploaded audio of job %s waits: %s", job.id, trouble.message)
                await trouble.mended(self._clock)
            except StoreFull as full:
                _log.warning("The uploaded audio of job %s waits: %s", job.id, full.message)
                await self._clock.sleep(_AGAIN_S)
            except Exception as error:
                _log.error("The uploaded audio of job %s is tried again by itself.", job.id, exc_info=error)
                await self._clock.sleep(_AGAIN_S)
            else:
                break
        await self._forget(job)

    async def _to_its_end(self, job: Job) -> None:
        try:
            ended = await self._ended(job)
            done = ended.state == "done"
            if done:
                await self._finish(job, ended)
        except (Trouble, StoreFull):
            raise
        except BridgeError as error:
            _log.warning("The uploaded audio of job %s can't be transcribed: %s", job.id, error.message)
            done = False
        if not done:
            await self._fail(job)

    async def _is_wanted(self, job: Job) -> bool:
        """Tell whether a job is still to be done; one may be cancelled while it waits for something."""
        found = await self._db.read(lambda c: jobs.by_number(c, job.number))
        return found is not None and found.state in ("open", "reducing")

    async def _ended(self, job: Job) -> Recording:
        run = self._runs.pop(job.id, None)
        if run is None:
            source = await self._db.read(lambda c: artifacts.source_of(c, job.number))
            if source is None:
                raise BridgeError("The uploaded file is gone; send it anew.")
            audio = self._files.place(job.id, source.id)
            order = _order(job.id, audio, source.name, job.parameters)
            self._recordings[job.id] = await self._pipeline.begin(order)
            return await self._run(self._recordings[job.id], lambda *_: None)
        return await run

    async def _run(self, recording_id: int, progress: Any) -> Recording:  # noqa: ANN401
        await self._pipeline.run(recording_id, progress)
        ended = await self._pipeline.get(recording_id)
        if ended is None:
            raise BridgeError("The recording was dropped while it was transcribed; send it anew.")
        return ended

    async def _finish(self, job: Job, ended: Recording) -> None:
        await self._db.write(lambda c: jobs.reduce(c, job.number))
        counts = await self.counts(job)
        results = await self._pipeline.results(ended.id)
        artifact_id = new_id()
        workload = CATALOGUE[TRANSCRIBE]
        async with self._files.receiving(artifact_id) as aside:
            written = await in_thread(_write, results, ended, aside / artifact_id)
            result = NewArtifact(
                id=artifact_id,
                kind="result",
                name=workload.result_name,
                content_type=workload.result_type,
                sha256=written.sha256,
                size=written.size,
                job=job.number,
            )
            await self._db.write(lambda c: jobs.keep_parts(c, job.number, counts))
            await keep_result(self._db, self._files, self._time, job, result, aside / artifact_id)

    async def _fail(self, job: Job) -> None:
        counts = await self.counts(job)
        now = self._time.now()

        def unit(c: sqlite3.Connection) -> None:
            jobs.keep_parts(c, job.number, counts)
            jobs.fail(c, job.number, FAILED, now)

        await self._db.write(unit)

    async def _forget(self, job: Job) -> None:
        recording_id = self._recordings.pop(job.id, None)
        if recording_id is not None:
            await self._pipeline.close(recording_id)


_STATES = {
    "created": "pending",
    "converted": "pending",
    "done": "completed",
    "failed": "failed",
    "dead": "failed",
    "cancelled": "cancelled",
}


def _order(job_id: str, audio: Path, name: str, parameters: Mapping[str, Any]) -> Order:
    """Return an upload's order; raises Invalid for parameters that the schema can't judge."""
    settings = Settings(
        language=parameters.get("language"),
        model=parameters.get("model", ""),
        quality=parameters.get("quality", "balanced"),
        word_timestamps=parameters.get("word_timestamps", True),
        prompt=parameters.get("prompt", ""),
    )
    return Order(
        asker=Asker(SENDER, job_id),
        title=PurePath(name).stem,
        author="",
        files=(SourceFile(path=audio, relative=name),),
        settings=settings,
        # As the contract has it: a failure that is not to be tried again ends the task.
        final_verdicts=True,
    )


def check_parameters(parameters: Mapping[str, Any]) -> None:
    """Raise Invalid for parameters that are right by their schema and yet not taken."""
    language, model = parameters.get("language"), str(parameters.get("model", ""))
    if language is not None and not _LANGUAGE.match(str(language)):
        raise Invalid("“language” takes a language of two letters.")
    if is_path(model):
        raise Invalid("“model” takes a name, never a path.")
    if len(str(parameters.get("prompt", "")).encode()) > _PROMPT_BYTES:
        raise Invalid("“prompt” takes at most 1 KiB.")


async def _raise_of(run: "asyncio.Task[Recording]") -> None:
    """Raise what a run ended with that never came to a plan, in the words of an upload."""
    try:
        ended = await run
    except NothingToHear as silent:
        raise Invalid(f"This is no audio that can be heard: {silent.message}") from silent
    except UnknownModel as unknown:
        raise Invalid(unknown.message) from unknown
    if ended.plan is None:
        raise Invalid("This is no audio that can be heard.")


def _write(results: Results, ended: Recording, target: Path) -> Growing:
    parts = {part.result.number: part.result for part in results.parts}
    transcript = assembly.transcript(results.plan, parts, ended.title, ended.author)
    growing = Growing(target)
    try:
        growing.write(json_bytes(transcript))
        growing.end()
    finally:
        growing.close()
    return growing
