"""Coverage: how much of the speech got words. Whisper drops whole sentences, in batches most of all."""

from collections.abc import Iterable, Sequence

from bridge_agent.transcription.model import RATE, Segment, Span

LEAST = 0.6
MOST_LOST = 4 * RATE
"""Speech without words in one stretch: a sentence or more, as batches lose them behind good text."""
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


def longest_hole(segments: Sequence[Segment], speech: Sequence[Span]) -> int:
    """Return the most samples of speech in one stretch that has no words, short pauses in it not counted."""
    heard, words = union(speech), worded(segments)
    starts = [0, *(span.end for span in words)]
    ends = [*(span.start for span in words), max((span.end for span in heard), default=0)]
    return max(
        shared([Span(start=start, end=end)], heard) if end > start else 0
        for start, end in zip(starts, ends, strict=True)
    )


def low(segments: Sequence[Segment], speech: Sequence[Span]) -> bool:
    """Tell whether too much of the speech has no words, in all or in one stretch.

    Less than 3 s of speech is not judged, since voice detectors take a cough for a voice.
    """
    total = sum(span.samples for span in union(speech))
    if total < _SHORTEST:
        return False
    return coverage(segments, speech) < LEAST or longest_hole(segments, speech) > MOST_LOST
