"""The step `transcribe`: a part's audio is handed to an executor, its words are handed in."""

from pathlib import Path

from bridge_agent.transcription.engines.base import Context
from bridge_agent.transcription.engines.errors import EngineRefused, EngineUnavailable
from bridge_agent.transcription.model import RATE, Plan, Settings
from bridge_agent.transcription.models.errors import ModelError
from bridge_agent.transcription.pipeline import policy, tasks, troubles
from bridge_agent.transcription.pipeline.executor import BadAudio, Executor, PartWork, is_there, worth_taking
from bridge_agent.transcription.pipeline.holding import while_held
from bridge_agent.transcription.pipeline.live import Live
from bridge_agent.transcription.pipeline.signs import Poll
from bridge_agent.transcription.pipeline.stepper import Stepper, Verdict, Waiting
from bridge_agent.transcription.pipeline.stragglers import straggler
from bridge_agent.transcription.pipeline.tasks import Claim, Task
from bridge_agent.transcription.pipeline.tools import Tools, holder

_PATIENCE_S = 60.0
"""An engine that has not been there for so long is told of, so that somebody looks."""


class Hearing:
    """Lets one executor transcribe the parts of one recording. `model` is what the executor is asked for."""

    def __init__(
        self, tools: Tools, recording_id: int, plan: Plan, model: str, executor: Executor, live: Live
    ) -> None:
        self._tools = tools
        self._recording_id = recording_id
        self._plan = plan
        self._model = model
        self._executor = executor
        self._live = live
        self._folder = tools.folder / str(recording_id)
        self._step = policy.transcribe(executor.worst_case(policy.LONGEST_PART))
        self._steppers: dict[int, Stepper] = {}
        self._away_since: float | None = None

    async def run_once(self, place: int) -> bool:
        """Let one place of the executor hear the next part; tell whether there was one. Raises Trouble."""
        stepper = self._steppers.get(place)
        if stepper is None:
            who = holder(self._recording_id, f"{self._executor.name}/{place}")

            async def poll(poll: Poll) -> Task:
                slow = await self._straggler()
                return await self._tools.desk.poll(poll, self._step, who, {self._recording_id}, slow)

            stepper = Stepper("transcribe", self._tools.desk, self._tools.tasks, poll, self._hear)
            self._steppers[place] = stepper
        return await stepper.run_once()

    async def _straggler(self) -> Claim | None:
        """Return the claim of a part that this executor would end sooner than who holds it."""
        number = straggler(self._live, self._executor.name, self._tools.clock.monotonic())
        if number is None:
            return None
        slow = await self._tools.db.read(lambda c: tasks.numbered(c, self._recording_id, number))
        return None if slow is None or slow.holder is None else slow.claim

    def may_take(self, place: int) -> bool:
        """Tell whether that place is there now, and worth being given one of the parts that are left."""
        places = self._tools.places()
        if place >= places[self._executor.name]:
            return False
        estimator = self._live.estimator
        mine = estimator.speed_of(self._executor.name)
        waiting = self._live.waiting()
        if not waiting:
            return True
        part = max(waiting) / RATE
        return worth_taking(mine, estimator.speed(places) - mine, part, sum(waiting) / RATE)

    async def _hear(self, task: Task) -> Task | None:
        live, clock = self._live, self._tools.clock
        live.began(task, self._executor.name, clock.monotonic())
        done, words = None, 0
        try:
            run = self._executor.run(self._work(task), lambda text: live.heard(task, text, clock.monotonic()))
            result = await while_held(self._tools.desk, self._tools.tasks, task, run)
            if result is None:
                return None
            self._away_since = None
            words = sum(len(segment.text.split()) for segment in result.segments)
            done = await self._tools.desk.heard(task.claim, result, self._executor.name)
        except BadAudio as bad:
            return await self._tools.desk.uncut(task.claim, bad.message)
        except EngineRefused as refused:
            raise Verdict(refused.message) from refused
        except (EngineUnavailable, ModelError) as missing:
            raise self._missing(missing) from missing
        finally:
            if live.estimator.running().get(task.number) == self._executor.name:
                live.ended(task, clock.monotonic(), done=done is not None, words=words)
        return done

    def _missing(self, error: EngineUnavailable | ModelError) -> Exception:
        """Return what an engine that is not there means: a wait at first, then a trouble of the book."""
        now = self._tools.clock.monotonic()
        self._away_since = now if self._away_since is None else self._away_since
        if isinstance(error, EngineUnavailable) and now - self._away_since < _PATIENCE_S:
            return Waiting(error.message, self._tools.desk.retries.foreign_delay_s)
        return troubles.no_engine(error.message, lambda: is_there(self._executor, self._model))

    def _path(self, task: Task) -> Path:
        return self._folder / f"{task.number}.flac"

    def _work(self, task: Task) -> PartWork:
        return PartWork(
            recording_id=task.recording_id,
            number=task.number,
            attempt=task.attempt,
            path=self._path(task),
            sha256=task.sha256 or "",
            size=task.size or 0,
            samples=task.samples,
            context=context(self._plan.settings, self._model, task.part_key),
            planned_model=self._plan.settings.model,
        )


def context(settings: Settings, model: str, part_key: str) -> Context:
    """Return how a part is to be heard: names first as asked, then those that the book's data gives."""
    asked = [name.strip() for name in settings.prompt.replace("\n", ",").split(",")]
    return Context(
        language=settings.language,
        quality="accurate" if settings.quality == "accurate" else "balanced",
        word_timestamps=settings.word_timestamps,
        hints=tuple(dict.fromkeys(filter(None, (*asked, *settings.hotwords)))),
        seed=int(part_key[:8], 16),
        model=model,
    )
