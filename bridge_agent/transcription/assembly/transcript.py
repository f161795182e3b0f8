"""The transcript as `transcript.json` has it: names and their order are the wire's."""

import msgspec

from bridge_agent.transcription.assembly.scripts import pieces

FLAGS = ("rerun", "loop", "low_coverage", "unsure_language", "other_settings")
"""All that a segment may be flagged with, in the order in which flags are written."""


class Wire(msgspec.Struct, frozen=True, kw_only=True):
    """The root of what is written: built by keyword, never changed, fields in the order of the class."""


class EnginePart(Wire, frozen=True):
    """A stretch, in seconds of the book, that was heard otherwise than the engine's own line says."""

    start: float
    end: float
    name: str
    model: str
    device: str
    compute_type: str


class Engine(Wire, frozen=True, omit_defaults=True):
    """Which engine heard most of the book; `parts` is there only where others heard some of it."""

    name: str
    model: str
    compute_type: str
    parts: tuple[EnginePart, ...] = ()


class File(Wire, frozen=True):
    """An audio file on the book's line; times in seconds."""

    path: str
    start: float
    duration: float


class Chapter(Wire, frozen=True):
    """A chapter; times in seconds of the book, `source` is `file`, `tags` or `folder`."""

    title: str
    start: float
    end: float
    source: str


class Word(Wire, frozen=True):
    """A word with its times in seconds of the book; it carries its leading space."""

    start: float
    end: float
    word: str
    probability: float


class Segment(Wire, frozen=True):
    """A stretch of text within one file; times in seconds of the book, numbers from 0."""

    id: int
    file: int
    chapter: int
    start: float
    end: float
    text: str
    avg_logprob: float
    no_speech_prob: float
    flags: tuple[str, ...]
    words: tuple[Word, ...]


class Gap(Wire, frozen=True):
    """A stretch without words and why: `damaged`, `truncated`, `unreadable`, `drm` or `failed`."""

    start: float
    end: float
    reason: str


class Transcript(Wire, frozen=True, kw_only=True):
    """A book's transcript, version 1."""

    version: int = 1
    title: str
    author: str
    language: str | None
    duration: float
    engine: Engine
    files: tuple[File, ...]
    chapters: tuple[Chapter, ...]
    segments: tuple[Segment, ...]
    gaps: tuple[Gap, ...]

    @property
    def word_count(self) -> int:
        """How many words it has, also where it keeps none of their times."""
        return sum(len(segment.words) or len(pieces(segment.text)) for segment in self.segments)


def to_ms(samples: int) -> int:
    """Round samples at 16 kHz to whole milliseconds, halves up; the one rounding there is."""
    return (samples + 8) // 16


def seconds(milliseconds: int) -> float:
    """Return seconds as they are written: to the millisecond."""
    return milliseconds / 1000


def milliseconds(seconds_: float) -> int:
    """Read written seconds back as whole milliseconds."""
    return round(seconds_ * 1000)
