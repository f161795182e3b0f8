"""The pipeline: from a book to its parts' results, whoever asks for it and whoever transcribes."""

import hashlib
import logging
import shutil
import sqlite3
from collections.abc import Callable, Collection, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec

from bridge_agent.base.clock import Clock, to_text
from bridge_agent.base.errors import BridgeError
from bridge_agent.base.tasks import Tasks
from bridge_agent.base.threads import in_thread
from bridge_agent.store import Database
from bridge_agent.transcription.audio.errors import DecoderUnavailable
from bridge_agent.transcription.engines.errors import EngineUnavailable
from bridge_agent.transcription.model import EngineInfo, Plan, Settings, Survey
from bridge_agent.transcription.models.errors import ModelError, UnknownModel
from bridge_agent.transcription.pipeline import finished, learnt, recordings, tasks, troubles
from bridge_agent.transcription.pipeline.desk import Desk
from bridge_agent.transcription.pipeline.estimator import Estimator
from bridge_agent.transcription.pipeline.executor import Executor, is_there
from bridge_agent.transcription.pipeline.finished import FinishedPart
from bridge_agent.transcription.pipeline.live import Live
from bridge_agent.transcription.pipeline.offer import Offer
from bridge_agent.transcription.pipeline.order import Order, Progress, unwatched
from bridge_agent.transcription.pipeline.policy import Retries
from bridge_agent.transcription.pipeline.reading import Decoder, Reader, SourceChanged
from bridge_agent.transcription.pipeline.recordings import Recording
from bridge_agent.transcription.pipeline.running import Run, nobody
from bridge_agent.transcription.pipeline.senders import Replies
from bridge_agent.transcription.pipeline.tasks import NewTask
from bridge_agent.transcription.pipeline.tools import Tools
from bridge_agent.transcription.pipeline.troubles import Trouble
from bridge_agent.transcription.planning import plan as planning
from bridge_agent.transcription.transcripts.reuse import reuse_key

KEEP_DAYS = 30
"""How long finished parts of a book that is not done are kept (settled point 6)."""
_CHANGES = 3
"""How often files may change under one run before it is given up."""
_UNSURE = "unsure_language"

_log = logging.getLogger(__name__)


class KeepsChanging(BridgeError):
    """The book’s files change while they are transcribed; wait until they are copied, then queue it anew."""

    code = "source_changed"


class NothingToHear(BridgeError):
    """None of the book’s files can be read; put files that play in their place, then queue the job anew."""

    code = "nothing_to_hear"


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a recording: its plan, its parts' results by whom, and what is to be said about it."""

    plan: Plan
    parts: tuple[FinishedPart, ...]
    warnings: tuple[str, ...] = ()
    reused: int = 0
    seconds_spent: float = 0.0


class _Asked(msgspec.Struct, kw_only=True):
    """An order under way, and what its last run learnt."""

    order: Order
    live: Live
    warnings: tuple[str, ...] = ()
    sure: bool = True


class Pipeline:
    """Recordings, from their beginning to their results. One process has one, over a store of its own."""

    def __init__(
        self,
        clock: Clock,
        db: Database,
        decoder: Decoder,
        executors: Sequence[Executor],
        folder: Path,
        spawner: Tasks,
        *,
        retries: Retries | None = None,
        replies: Replies | None = None,
    ) -> None:
        """Prepare; `folder` is for cut audio alone and emptied of what no recording needs."""
        self._clock = clock
        self._db = db
        self.desk = Desk(db, clock, retries or Retries())
        self.replies = replies or Replies()
        self._reader = Reader(db, clock, decoder)
        self._tools = Tools(db, clock, self.desk, decoder, executors, spawner, folder)
        self._asked: dict[int, _Asked] = {}
        self._running: set[int] = set()
        self.offers: dict[int, Offer] = {}
        """The books under way, whose parts may be claimed from elsewhere."""
        self.on_change: Callable[[Live], None] | None = None
        """Called when there is news of a book under way; often, so whoever hears it takes its time."""

    @property
    def executors(self) -> Sequence[Executor]:
        """Who transcribes."""
        return self._tools.executors

    def audio(self, recording_id: int, number: int) -> Path:
        """Return where a part's cut audio lies, while there is some."""
        return self._tools.folder / str(recording_id) / f"{number}.flac"

    async def start(self) -> None:
        """Give back what children held when the Bridge ended, and drop cut audio that nobody needs."""
        await self.desk.give_back_all()
        now = self._now()
        await self._db.write(lambda c: tasks.from_the_future(c, now))
        known = await self._db.read(lambda c: recordings.ids_since(c, ""))
        await in_thread(_keep_folders, self._tools.folder, known)

    async def reuse_key(self, order: Order, progress: Progress = unwatched) -> str:
        """Return what a book's transcript is found again by: equal files and settings give equal keys.

        Raises Trouble where the files are not seen or no engine is there, UnknownModel.
        """
        info = await self._info(order.settings.model, progress)
        marks = await self._reader.marks(order.files)
        settings = msgspec.structs.replace(order.settings, model=info.model)
        return reuse_key(marks, settings, info.name, info.model)

    def no_room(self) -> Trouble:
        """Return the trouble that the data folder's disk is full."""
        return troubles.disk_full(self._tools.folder, troubles.FULL)

    async def begin(self, order: Order) -> int:
        """Return the id of an order's recording: the one that its asker has asked for already, or a new."""
        now = self._now()
        before = set(self._asked)

        def unit(c: sqlite3.Connection) -> tuple[Recording, set[int]]:
            begun = recordings.begin(c, order.asker, order.title, order.author, order.settings, now)
            return begun, recordings.ids_since(c, "")

        recording, there = await self._db.write(unit)
        for gone in before - there - self._running:
            self._asked.pop(gone, None)
        known = self._asked.get(recording.id)
        if known is None:
            live = Live(recording.id, order.asker.addressee, order.title, on_change=self._changed)
            self._asked[recording.id] = _Asked(order=order, live=live)
        else:
            known.order = order
        return recording.id

    async def run(self, recording_id: int, progress: Progress = unwatched) -> None:
        """Transcribe a recording that was begun, to its end; whoever asked is told how it ended.

        Raises Trouble for what has to be mended first (its `mended` waits for that; then run again), and
        BridgeError for a book that can't be begun at all. A run that is cancelled keeps all that is finished.
        """
        asked = self._asked[recording_id]
        if recording_id in self._running:
            raise BridgeError("This book is being transcribed already; wait for its end.")
        self._running.add(recording_id)
        try:
            for _ in range(_CHANGES):
                try:
                    await self._run_once(recording_id, asked, progress)
                except SourceChanged as changed:
                    _log.info("The file %s has changed; the book is read again.", changed)
                else:
                    break
            else:
                raise KeepsChanging
        finally:
            self._running.discard(recording_id)
        ended = await self.get(recording_id)
        if ended is None or ended.state != "done":
            # Nobody comes for its results, and whoever wants it after all begins it anew.
            self._asked.pop(recording_id, None)
        if ended is not None:
            await self.replies.deliver(ended)

    async def get(self, recording_id: int) -> Recording | None:
        """Return a recording."""
        return await self._db.read(lambda c: recordings.one(c, recording_id))

    async def results(self, recording_id: int) -> Results:
        """Return what came of a recording that is done; raises KeyError for one that never ran here."""
        recording = await self.get(recording_id)
        asked = self._asked[recording_id]
        if recording is None or recording.plan is None:
            raise KeyError(recording_id)
        parts = await self._db.read(lambda c: finished.of_recording(c, recording_id))
        return Results(
            plan=recording.plan,
            parts=tuple(parts if asked.sure else map(_unsure, parts)),
            warnings=asked.warnings,
            reused=asked.live.reused,
            seconds_spent=recording.seconds_spent,
        )

    async def close(self, recording_id: int) -> None:
        """Let go of a recording whose book is done: its finished parts go (settled point 6).

        Who did which of its parts is known for another day, so that whoever repeats a last call is answered
        as the first time.
        """
        now = self._now()

        def unit(c: sqlite3.Connection) -> None:
            finished.let_go(c, recording_id)
            recordings.close(c, recording_id, now)

        await self._let_go(recording_id, unit)

    async def drop(self, recording_id: int) -> None:
        """Forget a recording that was begun by mistake, as if it had never been."""

        def unit(c: sqlite3.Connection) -> None:
            finished.let_go(c, recording_id)
            recordings.forget(c, recording_id)

        await self._let_go(recording_id, unit)

    async def cancel(self, recording_id: int) -> None:
        """End a recording that nobody wants any more; a run of it ends by itself, finished parts are kept."""
        now = self._now()
        await self.desk.write_all(lambda c: recordings.cancel(c, recording_id, now))

    async def forget_old(self) -> None:
        """Drop what nobody came back for in 30 days, and books that have been done or closed for a day."""
        before = to_text(self._clock.now() - timedelta(days=KEEP_DAYS))
        done_before = to_text(self._clock.now() - timedelta(days=1))

        def unit(c: sqlite3.Connection) -> set[int]:
            for recording_id in recordings.over_before(c, done_before, self._running):
                finished.let_go(c, recording_id)
                recordings.forget(c, recording_id)
            recordings.forget_old(c, before, self._running)
            finished.forget_old(c, before, self._running)
            learnt.forget_old(c, before)
            return recordings.ids_since(c, done_before)

        # Cut audio of a book that nobody has gone on with for a day is soon cut again.
        keep = await self._db.write(unit) | self._running
        await in_thread(_keep_folders, self._tools.folder, keep)

    def view(self, recording_id: int) -> dict[str, Any] | None:
        """Return what the page shows of a book under way, None of one that is not."""
        asked = self._asked.get(recording_id)
        return None if asked is None else asked.live.view(self._tools.places(), self._clock.monotonic())

    def views(self) -> list[dict[str, Any]]:
        """Return what the page shows of all books under way."""
        return [view for id_ in sorted(self._running) if (view := self.view(id_)) is not None]

    async def _let_go(self, recording_id: int, unit: Callable[[sqlite3.Connection], None]) -> None:
        await self._db.write(unit)
        self._asked.pop(recording_id, None)
        await in_thread(shutil.rmtree, self._tools.folder / str(recording_id), True)

    # ---- one run

    async def _run_once(self, recording_id: int, asked: _Asked, progress: Progress) -> None:
        order = asked.order
        progress("probe", "Reading the audio", None, None)
        info = await self._info(order.settings.model, progress)
        progress("probe", "Reading the audio", None, None)
        survey = await self._survey(order, progress)
        settings = await self._settings(recording_id, asked, survey, info)
        plan = planning.make(survey, settings)
        asked.warnings = tuple(planning.warnings(survey))
        if not plan.parts:
            raise NothingToHear(" ".join(asked.warnings[:3]) or None)
        parts = [
            NewTask(number=p.number, part_key=part_key(plan, p.number, info, order.apart), samples=p.samples)
            for p in plan.parts
        ]
        now = self._now()
        recording = await self._db.write(lambda c: recordings.planned(c, recording_id, plan, parts, now))
        if recording is None:
            return
        live, quality = asked.live, settings.quality
        live.parts = {part.number: part.own_end - part.own_start for part in plan.parts}
        live.estimator = Estimator(await self._db.read(lambda c: learnt.speeds(c, info.model, quality)))
        self.offers[recording_id] = Offer(plan, survey, live, order.final_verdicts)
        try:
            await Run(self._tools, order, recording, plan, survey, live, progress).to_the_end()
        finally:
            del self.offers[recording_id]
        seen = live.estimator.known()
        await self._db.write(lambda c: learnt.keep_speeds(c, info.model, quality, seen))

    async def _info(self, model: str, progress: Progress) -> EngineInfo:
        """Return which engine the plan is for, by the first executor that has one of its own."""

        def download(done: int, total: int) -> None:
            share = f" {100 * done // total} %" if total else ""
            progress("probe", f"Downloading the speech model{share}", None, None)

        there = [executor for executor in self._tools.executors if executor.places]
        if not there:
            raise nobody(self._tools.executors)
        try:
            return await there[0].info(model, download)
        except UnknownModel:
            raise
        except (EngineUnavailable, ModelError) as missing:
            raise engine_missing(there[0], model, missing) from missing

    async def _survey(self, order: Order, progress: Progress) -> Survey:
        expected = [file.expected_s for file in order.files]
        total = sum(each for each in expected if each) if all(expected) else None

        def read(done: float) -> None:
            progress(
                "plan", "Finding the pauses", round(done, 1), None if total is None else max(total, done)
            )

        try:
            return await self._reader.survey(order.files, read)
        except DecoderUnavailable as missing:
            raise troubles.no_engine(missing.message, self._reader.reads) from missing

    async def _settings(self, recording_id: int, asked: _Asked, survey: Survey, info: EngineInfo) -> Settings:
        """Return the settings of the plan: with the engine's own name of the model, and a language."""
        settings = msgspec.structs.replace(asked.order.settings, model=info.model)
        asked.sure = True
        if settings.language is not None:
            return settings
        listener = next((executor for executor in self._tools.executors if executor.places), None)
        if listener is None:
            # The last one has gone away while the book was read.
            raise nobody(self._tools.executors)
        folder = self._tools.folder / str(recording_id)
        model = asked.order.settings.model
        try:
            spoken = await self._reader.language(survey, asked.order.files, listener, model, folder)
        except (EngineUnavailable, ModelError) as missing:
            raise engine_missing(listener, model, missing) from missing
        asked.sure = spoken.sure or spoken.language is None
        return msgspec.structs.replace(settings, language=spoken.language)

    def _changed(self, live: Live) -> None:
        if self.on_change is not None:
            self.on_change(live)

    def _now(self) -> str:
        return to_text(self._clock.now())


def engine_missing(executor: Executor, model: str, error: EngineUnavailable | ModelError) -> Trouble:
    """Return the trouble that an executor can't hear with a model just now."""
    return troubles.no_engine(error.message, lambda: is_there(executor, model))


def part_key(plan: Plan, number: int, info: EngineInfo, apart: str) -> str:
    """Return what a part's words follow from, the engine's name and the model's content among it."""
    own = planning.part_key(plan, plan.parts[number])
    return hashlib.sha256(f"{own}\n{info.name}\n{info.model}\n{apart}".encode()).hexdigest()


def _unsure(part: FinishedPart) -> FinishedPart:
    result = part.result
    if _UNSURE in result.flags:
        return part
    return msgspec.structs.replace(
        part, result=msgspec.structs.replace(result, flags=(*result.flags, _UNSURE))
    )


def _keep_folders(folder: Path, recordings: Collection[int]) -> None:
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.name not in {str(id_) for id_ in recordings}:
            shutil.rmtree(path, ignore_errors=True)
