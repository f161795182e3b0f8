"""The kind `transcribe.book`: a server's job becomes a recording, its end the job's result."""

from collections import defaultdict
from typing import Any

import msgspec

from bridge_agent.base.clock import Clock
from bridge_agent.base.errors import BridgeError
from bridge_agent.base.threads import in_thread
from bridge_agent.jobs.handlers import transcribe_params
from bridge_agent.jobs.handlers.base import AttentionNeeded, Done, Failed, JobContext, Outcome
from bridge_agent.jobs.handlers.transcribe_params import Params
from bridge_agent.jobs.handlers.transcribe_replies import SENDER, JobReplies, addressee
from bridge_agent.jobs.handlers.transcribe_source import Source, Sources
from bridge_agent.jobs.handlers.transcribe_stow import Stow
from bridge_agent.settings import BridgeSettings
from bridge_agent.store.database import StoreFull
from bridge_agent.transcription import assembly
from bridge_agent.transcription.assembly.engines import main_device
from bridge_agent.transcription.assembly.result import Result, RunFacts, WorkerShare
from bridge_agent.transcription.engines.base import ELSEWHERE
from bridge_agent.transcription.engines.wishes import Wishes
from bridge_agent.transcription.model import RATE
from bridge_agent.transcription.models.models import Models, is_path
from bridge_agent.transcription.pipeline.order import Order
from bridge_agent.transcription.pipeline.pipeline import Pipeline, Results
from bridge_agent.transcription.pipeline.recordings import Asker
from bridge_agent.transcription.pipeline.troubles import Trouble, is_full
from bridge_agent.transcription.transcripts import Kept, Transcripts

KIND = "transcribe.book"
ASSEMBLING = "Putting the transcript together"


def offered(settings: BridgeSettings) -> bool:
    """Tell whether a Bridge offers transcriptions: it has an engine, or leaves speech to others."""
    return settings.speech_processes == 0 or settings.cluster != "" or Wishes.of(settings).why_none() is None


class TranscribeHandler:
    """Runs `transcribe.book` in the speech lane."""

    kind = KIND
    lane = "speech"

    def __init__(
        self,
        settings: BridgeSettings,
        clock: Clock,
        sources: Sources,
        pipeline: Pipeline,
        transcripts: Transcripts,
        models: Models,
        stow: Stow,
    ) -> None:
        """Take the rooms it asks, and become the pipeline's way to the server."""
        self._wishes = Wishes.of(settings)
        self._clock = clock
        self._sources = sources
        self._pipeline = pipeline
        self._transcripts = transcripts
        self._models = models
        self._stow = stow
        self._replies = JobReplies()
        pipeline.replies.senders[SENDER] = self._replies

    async def run(self, job: JobContext) -> Outcome:
        """Transcribe a book; raises AttentionNeeded for what a person or time has to mend, BridgeError."""
        params = transcribe_params.read(job.params, self._knows)
        source = await self._sources.find(job)
        order = self._order(job, params, source)
        try:
            key = await self._pipeline.reuse_key(order, job.progress)
            if not params.force and (kept := await self._transcripts.find(key)) is not None:
                return Done(await self._reused(job, kept, source))
            return await self._transcribed(job, order, source, key, force=params.force)
        except Trouble as trouble:
            raise self._attention(trouble) from trouble
        except StoreFull as full:
            raise self._attention(self._pipeline.no_room()) from full

    def _attention(self, trouble: Trouble) -> AttentionNeeded:
        return AttentionNeeded(trouble.message, lambda: trouble.mended(self._clock))

    def _order(self, job: JobContext, params: Params, source: Source) -> Order:
        name = addressee(job.server_id, job.job_id)
        return Order(
            asker=Asker(SENDER, name),
            title=source.book.title,
            author=source.book.author,
            files=source.files,
            settings=params.settings(source.book.author),
            apart=name if params.force else "",
        )

    def _knows(self, model: str) -> bool:
        """Tell whether a job may name a model: known to the engine or installed here, never a path."""
        if is_path(model):
            return False
        if self._wishes.engine(model) in ELSEWHERE or model == self._wishes.model:
            return True
        return self._models.known(model)

    async def _transcribed(
        self, job: JobContext, order: Order, source: Source, key: str, *, force: bool
    ) -> Outcome:
        name = order.asker.addressee or ""
        with self._replies.waiting(name) as slot:
            recording = await self._pipeline.begin(order)
            await self._pipeline.run(recording, job.progress)
        ended = slot.ended
        if ended is None or ended.state != "done":
            error = None if ended is None else ended.error
            return Failed(error or "The transcription was ended on the Bridge; queue the job anew.")
        job.progress("assemble", ASSEMBLING)
        results = await self._pipeline.results(recording)
        kept, facts = await self._kept(job, order, results, source, key)
        stowed = await self._stow.put(job, kept, source)
        transcript = await self._transcripts.load(kept.id)
        if transcript is None:
            raise BridgeError("The transcript was removed while it was sent; queue the job anew.")
        told = assembly.result(
            transcript,
            msgspec.structs.replace(
                facts, artifacts=stowed.artifacts, warnings=(*facts.warnings, *stowed.warnings)
            ),
        )
        if not force:
            # A forced job that is taken up again would not look at the kept transcript: its parts stay a day.
            await self._pipeline.close(recording)
        return Done(_plain(told))

    async def _kept(
        self, job: JobContext, order: Order, results: Results, source: Source, key: str
    ) -> tuple[Kept, RunFacts]:
        parts = {part.result.number: part.result for part in results.parts}
        transcript = await in_thread(assembly.transcript, results.plan, parts, order.title, order.author)
        facts = RunFacts(
            library_id=job.library_id,
            path=source.book.path,
            parts=len(results.plan.parts),
            device=main_device([part.engine for part in parts.values()]),
            seconds_spent=results.seconds_spent,
            reused_parts=results.reused,
            workers=shares(results),
            warnings=(*source.warnings, *results.warnings),
        )
        try:
            return await self._transcripts.keep(transcript, facts, key, job.server_id), facts
        except OSError as error:
            if is_full(error):
                raise self._pipeline.no_room() from error
            raise BridgeError(
                f"The transcript can’t be kept ({error.strerror or type(error).__name__}); let the Bridge’s "
                "user write in its data folder, then queue the job anew."
            ) from error

    async def _reused(self, job: JobContext, kept: Kept, source: Source) -> dict[str, Any]:
        told = await self._transcripts.reused(kept, job.library_id, source.book.path)
        stowed = await self._stow.put(job, kept, source)
        warnings = (*told.warnings, *stowed.warnings)
        return _plain(
            msgspec.structs.replace(
                told,
                artifacts=stowed.artifacts,
                warnings=warnings[:100],
                warnings_total=told.warnings_total + len(stowed.warnings),
            )
        )


def shares(results: Results) -> tuple[WorkerShare, ...]:
    """Return who heard how much of a book, the one who heard most first."""
    parts: defaultdict[str, int] = defaultdict(int)
    samples: defaultdict[str, int] = defaultdict(int)
    planned = {part.number: part for part in results.plan.parts}
    for each in results.parts:
        own = planned[each.result.number]
        parts[each.made_by] += 1
        samples[each.made_by] += own.own_end - own.own_start
    return tuple(
        WorkerShare(name=name, parts=parts[name], audio_seconds=round(samples[name] / RATE, 1))
        for name in sorted(parts, key=lambda each: (-samples[each], each))
    )


def _plain(result: Result) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(result))
    return plain
