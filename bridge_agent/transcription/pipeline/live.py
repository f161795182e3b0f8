"""What can be watched of a book that is being transcribed: how far, how fast, how long still, which words."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bridge_agent.transcription.model import RATE
from bridge_agent.transcription.pipeline.estimator import Estimator
from bridge_agent.transcription.pipeline.tasks import Task

_TAIL = 2000
"""How many characters of the words so far are kept."""


@dataclass
class Live:
    """A book under way; the page reads it, the run keeps it up to date."""

    recording_id: int
    addressee: str | None
    title: str
    parts: dict[int, int] = field(default_factory=dict)
    """Parts by number, with their samples."""
    finished: set[int] = field(default_factory=set)
    heard_here: set[int] = field(default_factory=set)
    """Those among them that were heard since this program started."""
    under_way: dict[int, str] = field(default_factory=dict)
    """The words so far of each part that somebody hears now or has fetched ahead."""
    last_words: str = ""
    estimator: Estimator = field(default_factory=Estimator)
    on_change: Callable[["Live"], None] | None = None

    @property
    def reused(self) -> int:
        """How many finished parts were there already."""
        return len(self.finished - self.heard_here)

    @property
    def total_s(self) -> float:
        """Seconds of audio in all."""
        return sum(self.parts.values()) / RATE

    @property
    def finished_s(self) -> float:
        """Seconds of audio in finished parts."""
        return sum(self.parts.get(number, 0) for number in self.finished) / RATE

    def done_s(self, now: float) -> float:
        """Return about how many seconds of audio are heard, unfinished parts among them."""
        return min(self.total_s, self.finished_s + self.estimator.done_s(now))

    def left_s(self, places: Mapping[str, int], now: float) -> float | None:
        """Return the seconds until all is heard; None while that can't be told."""
        return self.estimator.left_s(self.waiting(), places, now)

    def waiting(self) -> list[int]:
        """Return the samples of each part that nobody has begun, in their order."""
        return [
            samples
            for number, samples in sorted(self.parts.items())
            if number not in self.finished and number not in self.under_way
        ]

    def began(self, task: Task, executor: str, now: float, *, ahead: bool = False) -> None:
        """An executor has begun a part, or has fetched it ahead."""
        self.under_way[task.number] = ""
        self.estimator.began(task.number, executor, task.samples, now, ahead=ahead)
        self.changed()

    def heard(self, task: Task, text: str, now: float) -> None:
        """A part has these words so far."""
        self.under_way[task.number] = text
        self.last_words = text[-_TAIL:]
        self.estimator.heard(task.number, len(text.split()), now)
        self.changed()

    def ended(self, task: Task, now: float, *, done: bool, words: int = 0) -> None:
        """A part has come to its end, finished or not."""
        self.under_way.pop(task.number, None)
        self.estimator.ended(task.number, now, done=done, words=words)
        if done:
            self.finished.add(task.number)
        self.changed()

    def changed(self) -> None:
        """Tell whoever watches."""
        if self.on_change is not None:
            self.on_change(self)

    def view(self, places: Mapping[str, int], now: float) -> dict[str, Any]:
        """Return what the page shows."""
        left = self.left_s(places, now)
        return {
            "recording_id": self.recording_id,
            "addressee": self.addressee,
            "title": self.title,
            "parts": len(self.parts),
            "parts_done": len(self.finished),
            "parts_reused": self.reused,
            "done_seconds": round(self.done_s(now), 1),
            "total_seconds": round(self.total_s, 1),
            "speed": round(self.estimator.speed(places), 2),
            "left_seconds": None if left is None else round(left),
            "words": self.last_words,
            "at_work": self.estimator.at_work(),
            "speeds": {name: round(self.estimator.speed_of(name), 2) for name in places},
        }


def message(speed: float, left_s: float | None) -> str:
    """Return the message of the step `transcribe`: with the speed and the time left, where known."""
    if speed <= 0 or left_s is None:
        return "Transcribing"
    return f"Transcribing, {speed:.1f} times as fast as it is read, {duration(left_s)} left"


def duration(seconds: float) -> str:
    """Return a time as people say it: `about 2 h 5 min`, `about 12 min`, `less than a minute`."""
    minutes = round(seconds / 60)
    if minutes < 1:
        return "less than a minute"
    hours, minutes = divmod(minutes, 60)
    return f"about {hours} h {minutes} min" if hours else f"about {minutes} min"
