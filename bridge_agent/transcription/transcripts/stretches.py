"""Stretches: some seconds of a transcript, a sentence or two, each of which a search can find by itself."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bridge_agent.transcription.assembly.transcript import Transcript
from bridge_agent.transcription.formats.breaks import CLAUSE, PHRASE, rank, unspaced_end
from bridge_agent.transcription.formats.tokens import Token, tokens
from bridge_agent.transcription.transcripts.fold import words
from bridge_agent.transcription.transcripts.pairs import pairs

TAIL = 7
"""So many words that follow a stretch are found with it, for phrases that do not end in it."""

_FEW, _ENOUGH, _MOST = 6, 16, 28
_LONGEST_MS = 10_000
_PAUSE_MS = 1_500


@dataclass(frozen=True, slots=True)
class Stretch:
    """A text with its begin in milliseconds and the number of its chapter."""

    start: int
    chapter: int
    text: str


def stretches(transcript: Transcript) -> Iterator[Stretch]:
    """Return the stretches of a transcript in order; none lies in two chapters."""
    current: list[Token] = []
    chapter = 0
    for segment in transcript.segments:
        for token in tokens(segment):
            if current and (segment.chapter != chapter or _ends(current, token)):
                yield _made(current, chapter)
                current = []
            chapter = segment.chapter
            current.append(token)
    if current:
        yield _made(current, chapter)


def indexed(found: Sequence[Stretch]) -> list[str]:
    """Return for each stretch what finds it: its own words, the first that follow, all their pairs."""
    tail: list[str] = []
    chapter = -1
    backwards: list[str] = []
    for stretch in reversed(found):
        if stretch.chapter != chapter:
            tail, chapter = [], stretch.chapter
        own = words(stretch.text)
        said = [*own, *tail]
        backwards.append(" ".join([*said, *pairs(said)]))
        tail = [*own[:TAIL], *tail][:TAIL]
    return backwards[::-1]


def _made(found: Sequence[Token], chapter: int) -> Stretch:
    return Stretch(found[0].start, chapter, "".join(token.text for token in found).strip())


def _ends(current: Sequence[Token], following: Token) -> bool:
    last = current[-1]
    if not (following.text[:1].isspace() or unspaced_end(last.text)):
        return False
    if len(current) >= _MOST or following.end - current[0].start > _LONGEST_MS:
        return True
    if following.start - last.end >= _PAUSE_MS:
        return True
    level = rank(last.text)
    return (level == PHRASE and len(current) >= _FEW) or (level <= CLAUSE and len(current) >= _ENOUGH)
