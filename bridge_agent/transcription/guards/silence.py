"""Silence: text where nobody speaks is invented, and so is text the model itself doubts twice."""

from collections.abc import Sequence

import msgspec

from bridge_agent.transcription.guards.coverage import shared, union
from bridge_agent.transcription.model import RATE, Segment, Span

_MARGIN = RATE // 2
"""Voice detectors start late and end early."""
_LEAST_INSIDE = 0.2
_NO_SPEECH = 0.6
_LOGPROB = -1.0


def without_invented(segments: Sequence[Segment], speech: Sequence[Span]) -> list[Segment]:
    """Leave out words that lie outside all speech, segments that do, and those the model doubts twice."""
    near = union(Span(start=max(0, s.start - _MARGIN), end=s.end + _MARGIN) for s in speech)
    kept = []
    for segment in segments:
        if doubted(segment) or not (segment.words or _spoken(segment, near)):
            continue
        words = tuple(word for word in segment.words if _inside(word.start, word.end, near))
        if segment.words and len(words) < len(segment.words):
            if not words:
                continue
            segment = _of_words(segment, words)
        kept.append(segment)
    return kept


def doubted(segment: Segment) -> bool:
    """Tell whether the model held it for no speech, and its words for unlikely (Whisper's own rule)."""
    return segment.no_speech_prob > _NO_SPEECH and segment.avg_logprob < _LOGPROB


def _spoken(segment: Segment, near: Sequence[Span]) -> bool:
    length = max(1, segment.end - segment.start)
    return shared([Span(start=segment.start, end=segment.start + length)], near) >= _LEAST_INSIDE * length


def _inside(start: int, end: int, near: Sequence[Span]) -> bool:
    middle = (start + end) // 2
    return any(span.start <= middle <= span.end for span in near)


def _of_words(segment: Segment, words: "tuple[msgspec.Struct, ...]") -> Segment:
    return msgspec.structs.replace(
        segment,
        words=words,
        text="".join(word.text for word in words),  # type: ignore[attr-defined]
        start=words[0].start,  # type: ignore[attr-defined]
        end=words[-1].end,  # type: ignore[attr-defined]
    )
