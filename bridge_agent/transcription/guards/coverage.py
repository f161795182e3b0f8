"""Coverage: how much of the speech got words. Whisper drops whole sentences, in batches most of all."""

from collections.abc import Iterable, Sequence

from bridge_agent.transcription.model import RATE, Segment, Span

LEAST = 0.6
_SHORTEST = 3 * RATE
_BRIDGE = RATE
"""A pause within a sentence is no lost one: words this near to each other cover what lies between."""


def worded(segments: Sequence[Segment]) -> list[Span]:
    """Return the stretches that have words (or segments, where words are switched off), near ones joined."""
    found = [
        Span(start=each.start, end=each.end)
        for segment in segments
        for each in (segment.words or (segment,))
        if each.text.strip()
    ]
    return union(found, _BRIDGE)


def union(spans: Iterable[Span], bridge: int = 0) -> list[Span]:
    """Join spans that overlap or lie within `bridge` samples of each other, in order."""
    joined: list[Span] = []
    for span in sorted(spans, key=lambda s: (s.start, s.end)):
        if joined and span.start <= joined[-1].end + bridge:
            joined[-1] = Span(start=joined[-1].start, end=max(joined[-1].end, span.end))
        else:
            joined.append(span)
    return joined


def shared(left: Sequence[Span], right: Sequence[Span]) -> int:
    """Return how many samples lie in both of two lists, each without overlaps and in order."""
    total = i = j = 0
    while i < len(left) and j < len(right):
        total += max(0, min(left[i].end, right[j].end) - max(left[i].start, right[j].start))
        if left[i].end < right[j].end:
            i += 1
        else:
            j += 1
    return total


def coverage(segments: Sequence[Segment], speech: Sequence[Span]) -> float:
    """Return which part of the speech has words, from 0 to 1; 1 where there is no speech."""
    heard = union(speech)
    total = sum(span.samples for span in heard)
    return shared(worded(segments), heard) / total if total else 1.0


def low(segments: Sequence[Segment], speech: Sequence[Span]) -> bool:
    """Tell whether too much of the speech has no words; less than 3 s of speech is not judged."""
    total = sum(span.samples for span in union(speech))
    return total >= _SHORTEST and coverage(segments, speech) < LEAST
