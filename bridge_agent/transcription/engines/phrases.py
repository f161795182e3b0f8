"""Phrases: a segment of half a minute, as batches give it, cut where a pause or a sentence ended."""

from collections.abc import Iterator, Sequence

import msgspec

from bridge_agent.transcription.model import RATE, Segment, Word

_PAUSE = RATE
"""A pause this long ends a segment, whatever the text says."""
_BREATH = RATE // 10
"""A pause this long ends it after a full stop: “Mr.” has none."""
_STOPS = (".", "?", "!", "…", "。", "？", "！")
_CLOSING = "\"'”’»)]"


def cut(segment: Segment) -> list[Segment]:
    """Return a segment's sentences; one without words stays whole."""
    if len(segment.words) < 2:
        return [segment]
    return [
        msgspec.structs.replace(
            segment,
            start=words[0].start,
            end=words[-1].end,
            text="".join(word.text for word in words),
            words=tuple(words),
        )
        for words in _groups(segment.words)
    ]


def _groups(words: Sequence[Word]) -> Iterator[list[Word]]:
    group: list[Word] = []
    for word in words:
        if group and _ends(group[-1], word.start - group[-1].end):
            yield group
            group = []
        group.append(word)
    if group:
        yield group


def _ends(word: Word, pause: int) -> bool:
    stopped = word.text.rstrip().rstrip(_CLOSING).endswith(_STOPS)
    return pause >= _PAUSE or (stopped and pause >= _BREATH)
