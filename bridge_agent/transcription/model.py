"""The nouns of transcription. Places in audio are whole samples at 16 kHz, never seconds."""

from typing import Any

import msgspec

RATE = 16_000
"""Samples a second of everything that is planned, cut and transcribed."""


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """The root of all values here: built by keyword, never changed."""


class Span(Value, frozen=True):
    """From `start` up to `end`, in samples of one file."""

    start: int
    end: int

    @property
    def samples(self) -> int:
        """How many samples it holds."""
        return self.end - self.start


class Damage(Value, frozen=True):
    """A stretch of a file that could not be decoded; `reason` is a gap's reason on the wire."""

    start: int
    end: int
    reason: str


class Chapter(Value, frozen=True):
    """A chapter as found, in samples of the whole book; `source` is `file`, `tags` or `folder`."""

    title: str
    start: int
    end: int
    source: str


class FileChapter(Value, frozen=True):
    """A chapter as one file's container or tags name it, in samples of that file."""

    title: str
    start: int
    end: int
    source: str


class FileSurvey(Value, frozen=True):
    """What one streaming pass learnt of one audio file.

    `samples` is the true length as decoded; a file that can't be read has none and says why in `problem`
    (`drm`, `unreadable`, `truncated`) and, for people, in `sentence`. One that could be read in part, or
    holds nothing to hear, has samples and a problem too (`truncated`, `damaged`, `silent`). A damage without
    a length marks a place where something is missing, nobody knows how much.

    `content` is a hash of the decoded samples (of the file's size and bytes where there are none): changed
    tags leave it as it is. `stamp` tells cheaply whether the file is still the one that was surveyed
    (`audio.fingerprint.stamp`).
    """

    path: str
    size: int
    content: str
    samples: int
    pauses: tuple[Span, ...] = ()
    damage: tuple[Damage, ...] = ()
    chapters: tuple[FileChapter, ...] = ()
    loud: tuple[Span, ...] = ()
    problem: str | None = None
    sentence: str | None = None
    stamp: str = ""


class Survey(Value, frozen=True):
    """All files of a book in reading order, and the decoder that measured them."""

    files: tuple[FileSurvey, ...]
    decoder: str


class Settings(Value, frozen=True):
    """What of a job's parameters and this Bridge's settings changes the words of a transcript."""

    language: str | None
    model: str
    quality: str
    word_timestamps: bool
    prompt: str
    hotwords: tuple[str, ...] = ()


class PlannedFile(Value, frozen=True):
    """A file on the book's time line: `offset` is where it begins, in samples of the whole book.

    `content` is the survey's: what its parts' keys follow from.
    """

    path: str
    samples: int
    offset: int
    content: str = ""


class Part(Value, frozen=True):
    """A stretch of one file that is transcribed by itself, in samples of that file.

    `start` to `end` is what the engine hears; a word belongs to the part whose `own_start` to `own_end` holds
    its middle. The two differ only where a cut was forced through speech.
    """

    number: int
    file: int
    start: int
    end: int
    own_start: int
    own_end: int

    @property
    def samples(self) -> int:
        """How many samples the engine hears."""
        return self.end - self.start


class Plan(Value, frozen=True):
    """A book's parts. `hash` covers sources, decoder and settings: equal hashes, equal plans."""

    hash: str
    files: tuple[PlannedFile, ...]
    chapters: tuple[Chapter, ...]
    gaps: tuple[Damage, ...]
    parts: tuple[Part, ...]
    settings: Settings

    @property
    def samples(self) -> int:
        """The whole book's length."""
        return sum(file.samples for file in self.files)


class Word(Value, frozen=True):
    """A word in samples of its part; `text` carries its leading space as the engine gives it."""

    start: int
    end: int
    text: str
    probability: float


class Segment(Value, frozen=True):
    """A stretch of text in samples of its part."""

    start: int
    end: int
    text: str
    avg_logprob: float
    no_speech_prob: float
    words: tuple[Word, ...] = ()
    compression_ratio: float = 1.0
    temperature: float = 0.0


class EngineInfo(Value, frozen=True):
    """Which engine heard a part, as far as it decides about the words."""

    name: str
    version: str
    model: str
    device: str
    compute_type: str


class PartResult(Value, frozen=True):
    """What came of a part. `flags` are the wire's: `rerun`, `loop`, `low_coverage`, `unsure_language`, …"""

    number: int
    segments: tuple[Segment, ...]
    language: str
    engine: EngineInfo
    flags: tuple[str, ...] = ()
    speech_samples: int = 0


def encode(value: Value) -> bytes:
    """Write a value as JSON; equal values give equal bytes."""
    return msgspec.json.encode(value, order="sorted")


def decode(raw: bytes, kind: type[Any]) -> Any:  # noqa: ANN401
    """Read what `encode` wrote; raises msgspec.DecodeError."""
    return msgspec.json.decode(raw, type=kind)
