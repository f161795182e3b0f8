"""The cluster as an executor: parts go to the workers of a Dask scheduler, their words come back."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from bridge_agent import __version__
from bridge_agent.base.clock import Clock
from bridge_agent.base.errors import BridgeError
from bridge_agent.base.threads import in_thread
from bridge_agent.settings import BridgeSettings
from bridge_agent.transcription.cluster.fitness import Fitness
from bridge_agent.transcription.cluster.foreign import Lost
from bridge_agent.transcription.cluster.messages import Answer, Errand
from bridge_agent.transcription.cluster.scheduler import Scheduler
from bridge_agent.transcription.engines import ladder
from bridge_agent.transcription.engines.base import Context, Fit
from bridge_agent.transcription.engines.errors import EngineDied, EngineError, EngineUnavailable
from bridge_agent.transcription.engines.limits import Limits
from bridge_agent.transcription.guards.policy import OTHER_SETTINGS
from bridge_agent.transcription.model import EngineInfo, PartResult, decode, encode
from bridge_agent.transcription.models.errors import ModelError
from bridge_agent.transcription.models.models import is_path
from bridge_agent.transcription.pipeline.executor import BadAudio, Download, PartWork, WordsSoFar

NAME = "the cluster"
_GPU = Fit(device="cuda", compute_type="float16", batch=8)


def _unheard(_text: str) -> None:
    """Take words that nobody listens to."""


class ClusterExecutor:
    """Hands parts to a cluster. `planned` models alone hear them, unless the owner allows any."""

    name = NAME
    pulls = False

    def __init__(self, settings: BridgeSettings, clock: Clock, scheduler: Scheduler) -> None:
        """Hold the scheduler; whoever opened it starts and closes it."""
        self._model = settings.speech_model
        self._any_model = settings.worker_any_model
        self._scheduler = scheduler
        self._fitness = Fitness(clock)

    @property
    def places(self) -> int:
        """How many parts its workers take at once, those left out that can't hear just now."""
        return sum(
            places
            for worker, places in self._scheduler.workers.items()
            if self._fitness.why_not(worker) is None
        )

    def why_none(self) -> str | None:
        """Return the sentence on why it takes no parts, or None."""
        if (why := self._scheduler.why_none()) is not None:
            return why
        reasons = [self._fitness.why_not(worker) for worker in self._scheduler.workers]
        return reasons[0].message if reasons[0] is not None and all(reasons) else None

    def why_not(self, planned: str) -> str | None:
        """Return None: its workers say it themselves when they are asked for a part."""
        return None

    async def info(self, model: str, download: Download) -> EngineInfo:
        """Return which engine one of its workers has; a model is downloaded by each worker for itself."""
        name = self._named(model)
        for worker in self._scheduler.workers:
            if (known := self._fitness.info(worker, name)) is not None:
                return known
        self._fitness.ask_again(name)
        answer = await self._done(
            Errand(kind="look", program=__version__, context=Context(model=name)), b"", _unheard
        )
        if answer.info is None:
            raise EngineError("The cluster’s worker did not say which engine it has; start it again.")
        return answer.info

    def worst_case(self, samples: int) -> float:
        """Return the seconds that a part may take: begun anew once, since a worker may be lost over it."""
        return 2 * Limits().worst_case(samples, len(ladder.rungs(_GPU)))

    async def run(self, work: PartWork, heard: WordsSoFar) -> PartResult:
        """Send a part's audio and how it is to be heard; raises BadAudio, EngineError, ModelError."""
        flac = await in_thread(_read, work.path)
        if flac is None or hashlib.sha256(flac).hexdigest() != work.sha256:
            raise BadAudio
        errand = self._errand("hear", work.context, flac)
        if not self._any_model:
            errand = msgspec.structs.replace(errand, planned=work.planned_model)
        answer = await self._done(errand, flac, heard)
        if answer.result is None:
            raise EngineError("The cluster’s worker answered without words; look at its log.")
        result = msgspec.structs.replace(answer.result, number=work.number)
        if work.planned_model in ("", result.engine.model) or OTHER_SETTINGS in result.flags:
            return result
        return msgspec.structs.replace(result, flags=(*result.flags, OTHER_SETTINGS))

    async def detect_language(self, path: Path, model: str) -> dict[str, float] | None:
        """Return each language's probability in cut audio."""
        if (flac := await in_thread(_read, path)) is None:
            raise BadAudio
        errand = self._errand("languages", Context(model=model), flac)
        return (await self._done(errand, flac, _unheard)).languages

    def _errand(self, kind: str, context: Context, flac: bytes) -> Errand:
        return Errand(
            kind="hear" if kind == "hear" else "languages",
            program=__version__,
            context=msgspec.structs.replace(context, model=self._named(context.model)),
            sha256=hashlib.sha256(flac).hexdigest(),
            topic=self._scheduler.topic,
        )

    def _named(self, model: str) -> str:
        """Return what a model is called everywhere; nothing for a folder, which is this machine's alone."""
        name = model or self._model
        return "" if is_path(name) else name

    async def _done(self, errand: Errand, flac: bytes, heard: WordsSoFar) -> Answer:
        """Have an errand done by whoever can; raises what all of them said, or what went wrong with it."""
        model = errand.context.model
        asked: dict[str, BridgeError] = {}
        while True:
            answer = await self._sent(errand, flac, heard, asked)
            error = answer.error()
            if error is None:
                self._fitness.can(answer.where, model, answer.info)
                return answer
            if not isinstance(error, EngineUnavailable | ModelError):
                raise error
            self._fitness.can_not(answer.where, model, error)
            if answer.where in asked:
                raise error
            # However long the others take to fail: nobody is asked twice.
            asked[answer.where] = error

    async def _sent(
        self, errand: Errand, flac: bytes, heard: WordsSoFar, asked: Mapping[str, BridgeError]
    ) -> Answer:
        workers = list(self._scheduler.workers)
        self._fitness.keep(workers)
        unfit = {
            worker: asked.get(worker) or self._fitness.why_not(worker, errand.context.model)
            for worker in workers
        }
        fit = [worker for worker in workers if unfit[worker] is None]
        if not fit:
            raise next(filter(None, unfit.values()), None) or self._away()
        among = None if len(fit) == len(workers) else fit
        try:
            raw = await self._scheduler.run(encode(errand), flac, among, heard)
        except Lost as lost:
            raise self._away() from lost
        except Exception as error:
            raise _meant(error) from error
        answer: Answer = decode(raw, Answer)
        return answer

    def _away(self) -> EngineUnavailable:
        return EngineUnavailable(
            self._scheduler.why_none() or "The cluster lost the part’s worker; it is tried again by itself."
        )


def _meant(error: Exception) -> BridgeError:
    """Return what an error of Dask's means."""
    name = type(error).__name__
    if name == "KilledWorker":
        return EngineDied("The cluster lost one worker after the other over this part; look at their logs.")
    if isinstance(error, ImportError):
        return EngineUnavailable(
            "The cluster’s workers don’t have this program; install it there with the extras “cluster” "
            "and “speech”, in the same version as here."
        )
    return EngineError(f"The cluster could not hear a part ({name}); look at the log of its workers.")


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
