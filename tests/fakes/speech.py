"""Stand-ins for the rooms of transcription as the page sees them, and transcripts of a few sentences."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from bridge_agent.page.speech import Speech
from bridge_agent.transcription.assembly.result import RunFacts
from bridge_agent.transcription.assembly.transcript import (
    Chapter,
    Engine,
    File,
    Gap,
    Segment,
    Transcript,
    Word,
)
from bridge_agent.transcription.transcripts import Kept, Transcripts

WORD_S = 0.4
FABLES: tuple[tuple[str, str], ...] = (
    (
        "The Tortoise and the Hare",
        "A hare never tired of laughing at a tortoise. “Let us have a race,” said the tortoise, “from this "
        "old gate to the bridge beside the mill.” The hare lay down and fell? asleep.",
    ),
    (
        "The Fox and the Grapes",
        "A fox saw grapes. They are surely sour, he said, and walked away over the bridge.",
    ),
)


@dataclass
class Somebody:
    """Who transcribes."""

    name: str
    places: int


@dataclass
class FakePipeline:
    """Books under way, as a test puts them."""

    executors: Sequence[Somebody] = (Somebody("this computer", 2),)
    books: list[dict[str, Any]] = field(default_factory=list)
    on_change: Callable[[Any], None] | None = None

    def views(self) -> list[dict[str, Any]]:
        return self.books

    def book(self, addressee: str, **more: Any) -> dict[str, Any]:
        """Put a book under way."""
        view = {
            "recording_id": len(self.books) + 1,
            "addressee": addressee,
            "title": "Three Fables",
            "parts": 10,
            "parts_done": 6,
            "parts_reused": 0,
            "done_seconds": 36_120.0,
            "total_seconds": 58_200.0,
            "speed": 21.2,
            "left_seconds": 1080,
            "words": "and the whole crew crowded to the glass, quite unable to say what swam there.",
            "at_work": {"this computer": 2},
            **more,
        }
        self.books.append(view)
        return view


@dataclass
class FakeEngines:
    """An engine pool that says what a test tells it to."""

    why: str | None = None
    engines: list[dict[str, str]] = field(default_factory=list)
    children: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def why_none(self) -> str | None:
        return self.why

    def view(self) -> dict[str, Any]:
        return {"size": 2, "engines": self.engines, "notes": self.notes, "children": self.children}


@dataclass
class FakeModels:
    """Models that come in."""

    coming: dict[str, tuple[int, int]] = field(default_factory=dict)

    def downloads(self) -> dict[str, tuple[int, int]]:
        return self.coming


def speech(
    pipeline: FakePipeline | None = None, engines: FakeEngines | None = None, models: FakeModels | None = None
) -> Speech:
    """Return what the page is given of transcription."""
    return Speech(pipeline or FakePipeline(), engines or FakeEngines(), models or FakeModels())


def book(
    chapters: Sequence[tuple[str, str]] = FABLES,
    title: str = "Three Fables",
    author: str = "Aesop",
    language: str = "en",
    gaps: Sequence[Gap] = (),
) -> Transcript:
    """Return a transcript: a segment a sentence, 0.4 s a word; a word that ends with `?` is an unsure one."""
    segments: list[Segment] = []
    found: list[Chapter] = []
    at = 0.0
    for number, (name, text) in enumerate(chapters):
        begins = at
        for sentence in text.strip().replace(". ", ".|").split("|"):
            words = []
            for said in sentence.split():
                sure = not said.endswith("?")
                end = round(at + WORD_S, 3)
                shown = said if sure else said[:-1]
                words.append(Word(start=at, end=end, word=f" {shown}", probability=0.97 if sure else 0.41))
                at = end
            segments.append(_segment(len(segments), number, words))
            at = round(at + 1.2, 3)
        found.append(Chapter(title=name, start=begins, end=at, source="file"))
    return Transcript(
        title=title,
        author=author,
        language=language,
        duration=at,
        engine=Engine(name="scripted", model="base", compute_type="int8"),
        files=(File(path="01.mp3", start=0.0, duration=at),),
        chapters=tuple(found),
        segments=tuple(segments),
        gaps=tuple(gaps),
    )


def _segment(number: int, chapter: int, words: Sequence[Word]) -> Segment:
    return Segment(
        id=number,
        file=0,
        chapter=chapter,
        start=words[0].start,
        end=words[-1].end,
        text="".join(word.word for word in words).strip(),
        avg_logprob=-0.2,
        no_speech_prob=0.01,
        flags=(),
        words=tuple(words),
    )


async def keep(
    transcripts: Transcripts, transcript: Transcript, path: str = "Aesop/Three Fables", **more: Any
) -> Kept:
    """Keep a transcript as a job would."""
    facts = RunFacts(
        **{"library_id": 1, "path": path, "parts": 1, "device": "cpu", "seconds_spent": 2.0, **more}
    )
    return await transcripts.keep(transcript, facts, f"key of {path}", "server-1")
