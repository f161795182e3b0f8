"""The pool: a few engine children that share the parts, each replaced when it breaks and ended when idle."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from bridge_agent.base.clock import Clock
from bridge_agent.base.tasks import Tasks
from bridge_agent.settings import BridgeSettings
from bridge_agent.transcription.engines import ladder, languages, phrases
from bridge_agent.transcription.engines.base import ELSEWHERE, Context, Fit, Heard, Setup
from bridge_agent.transcription.engines.errors import (
    EngineDied,
    EngineError,
    EngineHung,
    EngineUnavailable,
)
from bridge_agent.transcription.engines.host import Child, State
from bridge_agent.transcription.engines.limits import Limits, Speed
from bridge_agent.transcription.engines.probe import Prober
from bridge_agent.transcription.engines.wishes import Wishes
from bridge_agent.transcription.guards import policy
from bridge_agent.transcription.model import EngineInfo, Value
from bridge_agent.transcription.models.models import Models, Progress

_RERUN_TEMPERATURES = (0.2, 0.4)
_SURE = 0.6

_log = logging.getLogger(__name__)

WordsSoFar = Callable[[str], None]
"""Called with all words of the part so far; they begin anew when the part is tried again."""


def _unheard(_text: str) -> None:
    """Take words that nobody listens to."""


def _unwatched(_done: int, _total: int) -> None:
    """Take progress that nobody looks at."""


class Prepared(Value, frozen=True):
    """A model that is here, with what it is to be loaded with."""

    setup: Setup
    info: EngineInfo
    model_bytes: int
    notes: tuple[str, ...] = ()


class EnginePool:
    """Engine children of this machine. `size` parts are heard at once, one in each child."""

    def __init__(
        self,
        wishes: Wishes,
        models: Models,
        clock: Clock,
        tasks: Tasks,
        *,
        limits: Limits | None = None,
        notes: Path | None = None,
    ) -> None:
        """Hold the wishes; `notes` is a file that remembers what this machine can compute with."""
        self._wishes = wishes
        self._models = models
        self._clock = clock
        self._tasks = tasks
        self._limits = limits or Limits()
        self._prober = Prober(self._start, notes)
        self._prepared: dict[str, Prepared] = {}
        self._preparing = asyncio.Lock()
        self._places: asyncio.Semaphore | None = None
        self._size: int | None = None
        self._children: list[Child] = []
        self._idle: list[Child] = []
        self._reaper: asyncio.Task[None] | None = None
        self._speed = Speed()
        self._first_rung: dict[str, int] = {}
        self._rungs_in_a_row: dict[str, list[int]] = {}
        self._stopping = False

    @classmethod
    def of(cls, settings: BridgeSettings, clock: Clock, tasks: Tasks, models: Models) -> "EnginePool":
        """Build a Bridge's pool."""
        return cls(Wishes.of(settings), models, clock, tasks, notes=settings.data_dir / "engine.json")

    def why_none(self) -> str | None:
        """Return the sentence on why this machine has no engine of its own, or None."""
        return self._wishes.why_none()

    @property
    def size(self) -> int:
        """How many parts can be heard at once."""
        if self._size is not None:
            return self._size
        elsewhere = self._wishes.engine(self._wishes.model) in ELSEWHERE
        return self._wishes.most_processes("server" if elsewhere else "cpu")

    def speed(self, quality: str) -> float | None:
        """Return the seconds of audio a processor second that one child was measured at, or None."""
        return self._speed.of(quality)

    def worst_case(self, samples: int) -> float:
        """Return the seconds that one part may take at the very worst (P-031)."""
        fits = [each.setup.fit for each in self._prepared.values()] or [Fit()]
        return self._limits.worst_case(samples, max(len(ladder.rungs(fit)) for fit in fits))

    async def info(self, model: str = "") -> EngineInfo:
        """Return which engine hears with a model, the settings' own by default.

        A server elsewhere is asked for a sign of life each time. Raises EngineUnavailable, ModelError.
        """
        prepared = await self.prepare(model)
        if prepared.setup.engine in ELSEWHERE:
            child = await self._start()
            try:
                await child.load(prepared.setup)
            finally:
                await self._tasks.shielded(self._end(child), "engine child's end")
        return prepared.info

    async def prepare(self, model: str = "", progress: Progress = _unwatched) -> Prepared:
        """Get a model (downloaded with `progress` in bytes) and find out, once, what it can be run with.

        Raises EngineUnavailable, ModelError, EngineError when nothing on this machine can run it.
        """
        name = model or self._wishes.model
        if (why := self.why_none()) is not None:
            raise EngineUnavailable(why)
        if name not in self._prepared:
            found = await self._get(name, progress)
            async with self._preparing:
                if name not in self._prepared:
                    self._prepared[name] = await self._probe(*found)
        prepared = self._prepared[name]
        if self._places is None:
            self._size = self._wishes.most_processes(prepared.setup.fit.device)
            self._places = asyncio.Semaphore(self._size)
        return prepared

    async def _get(self, name: str, progress: Progress) -> tuple[Setup, int]:
        engine = self._wishes.engine(name)
        if engine != "faster-whisper":
            place = self._wishes.server if engine in ELSEWHERE else ""
            return Setup(engine=engine, model=name, place=place, ca_file=self._wishes.ca_file), 0
        found = await self._models.get(name, progress)
        return Setup(engine=engine, model=found.id, place=str(found.path)), found.size

    async def _probe(self, setup: Setup, size: int) -> Prepared:
        if (fit := self._unprobed(setup.engine)) is not None:
            info = EngineInfo(
                name=setup.engine,
                version="1",
                model=setup.model,
                device=fit.device,
                compute_type=fit.compute_type,
            )
            return Prepared(setup=msgspec.structs.replace(setup, fit=fit), info=info, model_bytes=size)
        probed = await self._prober.probe(setup, self._wishes.device, self._wishes.compute_type)
        setup = msgspec.structs.replace(setup, fit=probed.fit)
        return Prepared(setup=setup, info=probed.info, model_bytes=size, notes=probed.notes)

    def _unprobed(self, engine: str) -> Fit | None:
        """Return the fit of an engine that has nothing to find out on this machine."""
        if engine in ELSEWHERE:
            return Fit(device="server", compute_type="unknown", batch=1)
        if engine == "scripted" and self._wishes.device != "cuda":
            return Fit()
        return None

    async def transcribe(self, pcm: bytes, context: Context, heard: WordsSoFar = _unheard) -> Heard:
        """Hear 16 kHz mono int16 PCM, checked by the guards: once more “accurate” when they find fault.

        Waits for a free child. A cancel frees its processor within a second. Raises EngineUnavailable,
        EngineRefused, ModelError; EngineDied, OutOfMemory, EngineHung when the whole ladder failed.
        """
        prepared = await self.prepare(context.model)
        async with self._free_place():
            first = await self._down_the_ladder(prepared, pcm, context, heard)
            return await self._checked(prepared, pcm, context, first, heard)

    async def detect_language(self, pcm: bytes, model: str = "") -> dict[str, float]:
        """Return each language's probability in one sample of a book; nothing where nobody speaks."""
        prepared = await self.prepare(model)
        async with self._free_place():
            try:
                return await self._detect(prepared, pcm)
            except (EngineDied, EngineHung):
                return await self._detect(prepared, pcm)

    async def stop(self) -> None:
        """End all children at once."""
        self._stopping = True
        if self._reaper is not None:
            self._reaper.cancel()
        await asyncio.gather(*(self._end(child) for child in list(self._children)))

    async def _detect(self, prepared: Prepared, pcm: bytes) -> dict[str, float]:
        child = await self._child(prepared.setup, prepared.model_bytes)
        try:
            return await child.detect_language(pcm, self._limits.deadline(len(pcm) // 2, None))
        finally:
            await self._tasks.shielded(self._release(child), "engine child's release")

    def view(self) -> dict[str, Any]:
        """Return what the page shows: engines, what did not work, and each child with its state."""
        return {
            "size": self.size,
            "engines": [msgspec.to_builtins(each.info) for each in self._prepared.values()],
            "notes": sorted({note for each in self._prepared.values() for note in each.notes}),
            "children": [
                {
                    "pid": child.pid,
                    "state": child.state.value,
                    "parts": child.parts,
                    "memory": child.resident,
                    "model": child.setup.model if child.setup else "",
                    "device": child.setup.fit.device if child.setup else "",
                }
                for child in self._children
            ],
        }

    def _free_place(self) -> asyncio.Semaphore:
        assert self._places is not None
        return self._places

    async def _checked(
        self, prepared: Prepared, pcm: bytes, context: Context, first: Heard, heard: WordsSoFar
    ) -> Heard:
        judged = _judge(first, pcm)
        if not judged.faults:
            return _flagged(first, judged, (), context)
        plain = msgspec.structs.replace(context, quality="accurate", hints=())
        if plain == context:
            # The same again would hear the same.
            plain = msgspec.structs.replace(plain, temperatures=_RERUN_TEMPERATURES)
        try:
            second = await self._down_the_ladder(prepared, pcm, plain, heard)
        except EngineError as error:
            _log.warning("A part was not heard a second time: %s", error.message)
            return _flagged(first, judged, judged.faults, context)
        again = _judge(second, pcm)
        if policy.better(judged, again) is judged:
            return _flagged(first, judged, (policy.RERUN, *judged.faults), context)
        return _flagged(second, again, (policy.RERUN, *again.faults), context)

    async def _down_the_ladder(
        self, prepared: Prepared, pcm: bytes, context: Context, heard: WordsSoFar
    ) -> Heard:
        fits = ladder.rungs(prepared.setup.fit, adjustable=prepared.setup.engine not in ELSEWHERE)
        model = prepared.setup.model
        last: EngineError = EngineDied()
        for number in range(self._first_rung.get(model, 0), len(fits)):
            setup = msgspec.structs.replace(prepared.setup, fit=fits[number])
            try:
                found = await self._hear(setup, prepared.model_bytes, pcm, context, heard)
            except (EngineDied, EngineHung) as error:
                _log.warning(
                    "A part's engine failed (%s, %s): %s", context.quality, fits[number], error.message
                )
                last = error
                continue
            rung = max(0, number - 1)
            self._remember_rung(model, number, rung)
            return msgspec.structs.replace(found, rung=rung)
        # Its files may have changed under it: the next part looks at them again.
        self._prepared = {name: each for name, each in self._prepared.items() if each.setup.model != model}
        raise last

    def _remember_rung(self, model: str, number: int, rung: int) -> None:
        """Begin lower once two parts in a row needed the same rung: a GPU that is gone stays gone."""
        recent = [*self._rungs_in_a_row.get(model, []), number][-2:]
        self._rungs_in_a_row[model] = recent
        if rung and len(recent) == 2 and recent[0] == recent[1]:
            self._first_rung[model] = number

    async def _hear(
        self, setup: Setup, model_bytes: int, pcm: bytes, context: Context, heard: WordsSoFar
    ) -> Heard:
        child = await self._child(setup, model_bytes)
        so_far: list[str] = []

        def more(text: str) -> None:
            so_far.append(text)
            heard("".join(so_far).strip())

        # Only words show what was lost or invented; where nobody wants them they are dropped at the end.
        context = msgspec.structs.replace(context, word_timestamps=True)
        samples = len(pcm) // 2
        before = child.cpu_seconds
        try:
            found = await child.transcribe(
                pcm, context, more, self._limits.deadline(samples, self._speed.of(context.quality))
            )
            self._speed.measured(context.quality, samples, child.cpu_seconds - before)
            return found
        finally:
            await self._tasks.shielded(self._release(child), "engine child's release")

    async def _child(self, setup: Setup, model_bytes: int) -> Child:
        """Take an idle child with this setup, or start one; called by holders of a place alone."""
        for child in list(self._idle):
            if child.usable and child.setup == setup:
                self._idle.remove(child)
                return child
        if self._idle and len(self._children) >= self.size:
            await self._tasks.shielded(self._end(self._idle[0]), "engine child's end")
        child = await self._start()
        child.most_memory = self._limits.most_memory(model_bytes, setup.fit.device)
        try:
            await child.load(setup)
        except BaseException:
            await self._tasks.shielded(self._end(child), "engine child's end")
            raise
        return child

    async def _start(self) -> Child:
        if self._stopping:
            raise EngineUnavailable("The Bridge is stopping; start it again.")
        child = Child(self._clock, self._tasks, self._limits)
        self._children.append(child)
        child.gone = lambda: self._forget(child)
        starting = self._tasks.spawn(child.start(), "engine child's start")
        try:
            await asyncio.shield(starting)
        except BaseException:
            # A process that is on its way can only be ended once it is there.
            starting.add_done_callback(lambda _: self._tasks.spawn(self._end(child), "engine child's end"))
            raise
        if self._stopping:
            await self._end(child)
            raise EngineUnavailable("The Bridge is stopping; start it again.")
        return child

    async def _release(self, child: Child) -> None:
        """Make a child idle, or end it: broken, done with its parts, or not stopped in time."""
        reusable = await child.stop_hearing() and child.parts < self._limits.parts and not self._stopping
        if not reusable:
            await self._end(child)
            return
        child.rest()
        self._idle.append(child)
        if self._reaper is None or self._reaper.done():
            self._reaper = self._tasks.spawn(self._reap(), "end of idle engine children")

    async def _reap(self) -> None:
        while self._idle:
            oldest = self._idle[0]
            left = oldest.idle_since + self._limits.idle - self._clock.monotonic()
            if left > 0 and oldest.state is not State.GONE:
                await self._clock.sleep(min(left, self._limits.idle))
            else:
                await self._end(oldest)

    async def _end(self, child: Child) -> None:
        if child in self._idle:
            self._idle.remove(child)
        await child.end()
        self._forget(child)

    def _forget(self, child: Child) -> None:
        if child in self._idle:
            self._idle.remove(child)
        if child in self._children:
            self._children.remove(child)


def _judge(heard: Heard, pcm: bytes) -> policy.Judged:
    spaced = heard.language not in languages.WITHOUT_SPACES
    return policy.judge(heard.segments, heard.speech, len(pcm) // 2, spaced=spaced)


def _flagged(heard: Heard, judged: policy.Judged, flags: tuple[str, ...], context: Context) -> Heard:
    if context.language is None and heard.segments and heard.language_probability < _SURE:
        flags = (*flags, policy.UNSURE_LANGUAGE)
    if heard.rung:
        flags = (*flags, policy.OTHER_SETTINGS)
    segments = tuple(phrase for segment in judged.segments for phrase in phrases.cut(segment))
    if not context.word_timestamps:
        segments = tuple(msgspec.structs.replace(segment, words=()) for segment in segments)
    return msgspec.structs.replace(heard, segments=segments, flags=flags)
