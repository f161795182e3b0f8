"""The offer: a book under way, as those see it who claim its parts from elsewhere."""

from dataclasses import dataclass

from bridge_agent.transcription.engines.base import Context
from bridge_agent.transcription.model import Part, Plan, Span, Survey
from bridge_agent.transcription.pipeline.hearing import context
from bridge_agent.transcription.pipeline.live import Live
from bridge_agent.transcription.pipeline.tasks import Task


@dataclass(frozen=True)
class Offer:
    """A recording whose parts are cut and heard now."""

    plan: Plan
    survey: Survey
    live: Live
    final_verdicts: bool = False
    """Whether one worker's word that a part can't be done counts for all."""

    @property
    def model(self) -> str:
        """The engine's own name of the model that the plan is for."""
        return self.plan.settings.model

    def context(self, task: Task) -> Context:
        """Return how a part is to be heard."""
        return context(self.plan.settings, self.model, task.part_key)

    def sound(self, number: int) -> list[Span]:
        """Return the stretches of a part that are no pause, in samples of the part: speech, for the most."""
        part = self.plan.parts[number]
        found, at = [], part.start
        for pause in self.survey.files[part.file].pauses:
            if pause.end <= at:
                continue
            if pause.start >= part.end:
                break
            if pause.start > at:
                found.append(_within(part, at, pause.start))
            at = pause.end
        if at < part.end:
            found.append(_within(part, at, part.end))
        return found


def _within(part: Part, start: int, end: int) -> Span:
    return Span(start=start - part.start, end=end - part.start)
