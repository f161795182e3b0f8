"""Where audio is loud, without any library: the stand-in for a voice detector where there is none."""

import sys
from array import array
from collections.abc import Iterator

from bridge_agent.transcription.model import RATE, Span

FRAME = RATE // 50
"""20 ms."""
_STEP = 8
_FLOOR = 100
"""Frames below this mean amplitude (of 32,767) are silence whatever the rest is like."""


def samples(pcm: bytes) -> "array[int]":
    """Return int16 little-endian PCM as numbers; half a sample at the end is dropped."""
    numbers = array("h")
    numbers.frombytes(pcm[: len(pcm) // 2 * 2])
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def levels(audio: "array[int]") -> Iterator[int]:
    """Yield each 20 ms frame's mean amplitude, from every eighth sample."""
    for start in range(0, len(audio), FRAME):
        some = audio[start : min(start + FRAME, len(audio)) : _STEP]
        yield sum(map(abs, some)) // len(some)


def loud_spans(pcm: bytes, shortest_pause: int = RATE // 5) -> list[Span]:
    """Return the stretches that are loud against the part's own loudest tenth, pauses of 0.2 s bridged."""
    audio = samples(pcm)
    found = list(levels(audio))
    if not found:
        return []
    loud = sorted(found)[-max(1, len(found) // 10)]
    threshold = max(_FLOOR, loud // 10)
    spans: list[Span] = []
    for number, level in enumerate(found):
        if level < threshold:
            continue
        start, end = number * FRAME, min((number + 1) * FRAME, len(audio))
        if spans and start - spans[-1].end < shortest_pause:
            spans[-1] = Span(start=spans[-1].start, end=end)
        else:
            spans.append(Span(start=start, end=end))
    return spans
