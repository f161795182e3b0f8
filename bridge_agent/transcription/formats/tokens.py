"""A transcript as one row of tokens: a word each, or a character where there are no spaces."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from bridge_agent.transcription.assembly.scripts import unspaced
from bridge_agent.transcription.assembly.spread import spread
from bridge_agent.transcription.assembly.transcript import Segment, Transcript, milliseconds

_SPACES = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Token:
    """A stretch of text with its leading space, in milliseconds of the book; `segment` is its segment's id.

    `probability` is None where the transcript keeps no words and the times are shared out by length.
    """

    text: str
    start: int
    end: int
    segment: int
    probability: float | None = None


def tokens(segment: Segment) -> Iterator[Token]:
    """Return a segment's tokens; together they are its text."""
    # A segment's first word follows a space like any other, though its text is trimmed.
    space = True
    for text, start, end, probability in _timed(segment):
        shown = plain(text)
        if bare := shown.strip():
            lead = " " if (space and not unspaced(bare[0])) or shown[0] == " " else ""
            yield Token(lead + bare, start, end, segment.id, probability)
            space = shown[-1] == " "


def _timed(segment: Segment) -> Iterator[tuple[str, int, int, float | None]]:
    if segment.words:
        for word in segment.words:
            yield word.word, milliseconds(word.start), milliseconds(word.end), word.probability
    else:
        start, end = milliseconds(segment.start), milliseconds(segment.end)
        for text, begin, stop in spread(segment.text, start, end):
            yield text, begin, stop, None


def all_tokens(transcript: Transcript) -> list[Token]:
    """Return all tokens of a transcript in order."""
    return [token for segment in transcript.segments for token in tokens(segment)]


def plain(text: str) -> str:
    """Return a text without line breaks and control characters; a row of spaces is one."""
    if text.isascii() and text.isprintable():
        return text
    kept = "".join(c for c in text if c.isprintable() or c.isspace() or c in "\u200c\u200d")
    return _SPACES.sub(" ", kept)


class Zones:
    """The stretches between chapter starts, file starts and the ends of gaps: no cue lies in two of them."""

    def __init__(self, transcript: Transcript) -> None:
        self._end = milliseconds(transcript.duration)
        borders = {milliseconds(chapter.start) for chapter in transcript.chapters}
        borders |= {milliseconds(file.start) for file in transcript.files}
        for gap in transcript.gaps:
            borders |= {milliseconds(gap.start), milliseconds(gap.end)}
        self._borders = sorted(border for border in borders if 0 < border < self._end)

    def of(self, token: Token) -> int:
        """Return the number of the zone that holds a token's middle."""
        return bisect_right(self._borders, (token.start + token.end) / 2)

    def limits(self, zone: int) -> tuple[int, int]:
        """Return where a zone begins and ends, in milliseconds."""
        start = self._borders[zone - 1] if zone else 0
        end = self._borders[zone] if zone < len(self._borders) else self._end
        return start, end
