"""Times: words in order, within their part, none shorter than 20 ms, none begun in a silence before."""

from collections.abc import Iterator, Sequence

import msgspec

from bridge_agent.transcription.model import RATE, Segment, Span, Word

SHORTEST = RATE // 50
MOST_EARLY = 2
_PAUSE_TO_SNAP = 2 * RATE


def repaired(segments: Sequence[Segment], speech: Sequence[Span], samples: int) -> list[Segment]:
    """Return segments whose times never go back, clamped to a part of that many samples.

    Words follow each other without overlap; a segment with words begins and ends with them. More than one
    word for each 20 ms of the part can't be placed: times are then kept in order only.
    """
    placed = iter(_placed([(w.start, w.end) for w in _snapped(segments, speech)], samples))
    result = []
    for segment in segments:
        own = tuple(
            msgspec.structs.replace(word, start=start, end=end)
            for word, (start, end) in zip(segment.words, placed, strict=False)
        )
        start, end = (own[0].start, own[-1].end) if own else (segment.start, segment.end)
        result.append(msgspec.structs.replace(segment, words=own, start=start, end=end))
    return _ordered(result, samples)


def _snapped(segments: Sequence[Segment], speech: Sequence[Span]) -> Iterator[Word]:
    """Yield all words, those that come first after a silence of over 2 s moved to where its speech begins."""
    last_end = 0
    for segment in segments:
        until = begin = 0
        for number, word in enumerate(segment.words):
            if number >= until and (number == 0 or word.start - last_end > _PAUSE_TO_SNAP):
                early, begin = _early(segment.words[number:], last_end, speech)
                until = number + early
            if number < until:
                word = msgspec.structs.replace(word, start=begin, end=max(word.end, begin))
            last_end = max(last_end, word.end)
            yield word


def _early(words: Sequence[Word], last_end: int, speech: Sequence[Span]) -> tuple[int, int]:
    """Return how many words begin in the silence before their speech, and where that begins.

    Two at most: more are no slip of the aligner, but an invention that the silence guard takes out.
    """
    for number, word in enumerate(words[: MOST_EARLY + 1]):
        if any(span.start <= word.start < span.end for span in speech):
            begin = next(span.start for span in speech if span.start <= word.start < span.end)
            return (number, begin) if begin - last_end > _PAUSE_TO_SNAP else (0, 0)
        inside = [span.start for span in speech if word.start < span.start < word.end]
        if inside and number < MOST_EARLY:
            return (number + 1, inside[0]) if inside[0] - last_end > _PAUSE_TO_SNAP else (0, 0)
    return 0, 0


def _placed(times: Sequence[tuple[int, int]], samples: int) -> list[tuple[int, int]]:
    if not times:
        return []
    step = min(SHORTEST, samples // len(times))
    starts: list[int] = []
    for number, (start, _) in enumerate(times):
        # Room is left for all that follow, and what came before is not overtaken.
        latest = samples - step * (len(times) - number)
        starts.append(min(max(start, starts[-1] + step if starts else 0), latest))
    limits = [*starts[1:], samples]
    return [
        (start, min(max(end, start + step), limit))
        for start, (_, end), limit in zip(starts, times, limits, strict=True)
    ]


def _ordered(segments: Sequence[Segment], samples: int) -> list[Segment]:
    """Put segments without words in order too, between those that words have placed."""
    ceilings, ceiling = [], samples
    for segment in reversed(segments):
        ceiling = segment.start if segment.words else ceiling
        ceilings.append(ceiling)
    result: list[Segment] = []
    floor = 0
    for segment, ceiling in zip(segments, reversed(ceilings), strict=True):
        start, end = segment.start, segment.end
        if not segment.words:
            start = min(max(start, floor), ceiling)
            end = min(max(end, start + SHORTEST), samples)
        floor = start
        result.append(msgspec.structs.replace(segment, start=start, end=max(start, end)))
    return result
