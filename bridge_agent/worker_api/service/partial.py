"""The partial: what a worker heard of one part, in seconds within it, read into the pipeline's samples."""

import hashlib
from collections.abc import Sequence

import msgspec

from bridge_agent.protocol.text import clean
from bridge_agent.transcription.assembly.transcript import FLAGS
from bridge_agent.transcription.guards import coverage, policy
from bridge_agent.transcription.model import RATE, EngineInfo, PartResult, Segment, Span, Word
from bridge_agent.worker_api.service.lease import BadPartial

LOW_COVERAGE = "low_coverage"
_NAME_BYTES = 128
_UNKNOWN = "unknown"


class PartialWord(msgspec.Struct, frozen=True, kw_only=True):
    """A word; `word` carries its leading space as the engine gives it."""

    start: float
    end: float
    word: str
    probability: float = 0.0


class PartialSegment(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of text."""

    start: float
    end: float
    text: str
    avg_logprob: float = 0.0
    no_speech_prob: float = 0.0
    words: list[PartialWord] = []
    compression_ratio: float = 1.0
    temperature: float = 0.0


class PartialEngine(msgspec.Struct, frozen=True, kw_only=True):
    """What it was heard with."""

    name: str = ""
    model: str = ""
    device: str = ""
    compute_type: str = ""
    version: str = ""


class Partial(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a part.

    `flags` and `speech_samples` are our own worker's, whose guards have looked at the part already; without
    `speech_samples` the coverage is judged here.
    """

    segments: list[PartialSegment]
    language: str | None = None
    engine: PartialEngine | None = None
    flags: list[str] = []
    speech_samples: int | None = None

    @property
    def digest(self) -> str:
        """A hash that equal partials have alone."""
        return hashlib.sha256(msgspec.json.encode(self, order="sorted")).hexdigest()

    @property
    def words(self) -> int:
        """How many words it has."""
        return sum(len(segment.text.split()) for segment in self.segments)


def read(raw: bytes | str) -> Partial:
    """Read a partial's JSON, unknown members left aside; raises BadPartial."""
    try:
        return msgspec.json.decode(raw, type=Partial)
    except msgspec.ValidationError as error:
        raise BadPartial(f"The result is not a transcript of a part ({error}); send one.") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadPartial("The result is not valid JSON; send an object.") from error


def to_result(
    partial: Partial,
    number: int,
    samples: int,
    *,
    planned_model: str,
    model: str | None,
    sound: Sequence[Span],
) -> PartResult:
    """Return a part's result in samples; times beyond the part are held to its ends.

    `model` is what the worker is known to hear with where the partial does not say; `sound` are the part's
    stretches that are no pause.
    """
    engine = _engine(partial.engine or PartialEngine(), model)
    segments = tuple(_segment(each, samples) for each in partial.segments)
    flags = [flag for flag in FLAGS if flag in partial.flags and flag != policy.OTHER_SETTINGS]
    if partial.speech_samples is None and LOW_COVERAGE not in flags and coverage.low(segments, sound):
        flags.append(LOW_COVERAGE)
    if engine.model != planned_model:
        flags.append(policy.OTHER_SETTINGS)
    speech = partial.speech_samples
    return PartResult(
        number=number,
        segments=segments,
        language=clean(partial.language or "", _NAME_BYTES),
        engine=engine,
        flags=tuple(flags),
        speech_samples=sum(span.samples for span in sound) if speech is None else max(0, speech),
    )


def _engine(said: PartialEngine, model: str | None) -> EngineInfo:
    return EngineInfo(
        name=clean(said.name, _NAME_BYTES) or _UNKNOWN,
        version=clean(said.version, _NAME_BYTES),
        model=clean(said.model, _NAME_BYTES) or model or _UNKNOWN,
        device=clean(said.device, _NAME_BYTES),
        compute_type=clean(said.compute_type, _NAME_BYTES),
    )


def _segment(said: PartialSegment, samples: int) -> Segment:
    start, end = _within(said.start, said.end, samples)
    return Segment(
        start=start,
        end=end,
        text=said.text,
        avg_logprob=said.avg_logprob,
        no_speech_prob=said.no_speech_prob,
        words=tuple(_word(word, samples) for word in said.words),
        compression_ratio=said.compression_ratio,
        temperature=said.temperature,
    )


def _word(said: PartialWord, samples: int) -> Word:
    start, end = _within(said.start, said.end, samples)
    return Word(start=start, end=end, text=said.word, probability=said.probability)


def _within(start: float, end: float, samples: int) -> tuple[int, int]:
    first = _sample(start, samples)
    return first, max(first, _sample(end, samples))


def _sample(seconds: float, samples: int) -> int:
    # Held first: a worker may send any number, and infinity has no whole part.
    return round(min(max(seconds, 0.0), samples / RATE) * RATE)
