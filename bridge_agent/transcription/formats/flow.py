"""A transcript as it is read: chapters of paragraphs, with a mark where something is missing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bridge_agent.transcription.assembly.transcript import Gap, Transcript, milliseconds
from bridge_agent.transcription.formats.breaks import PHRASE, rank, unspaced_end
from bridge_agent.transcription.formats.tokens import Token, tokens

_PAUSE = 1_000
_SCENE_PAUSE = 3_000
_ENOUGH, _LONG, _MOST = 280, 700, 1_600


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Tokens that are read as one paragraph."""

    tokens: tuple[Token, ...]

    @property
    def text(self) -> str:
        """Its text."""
        return "".join(token.text for token in self.tokens).strip()


@dataclass(frozen=True, slots=True)
class Missing:
    """A gap where it falls between paragraphs, in milliseconds of the book."""

    start: int
    end: int
    reason: str


@dataclass(frozen=True, slots=True)
class ChapterFlow:
    """A chapter's paragraphs and gaps in order; times in milliseconds."""

    number: int
    title: str
    start: int
    end: int
    blocks: tuple[Paragraph | Missing, ...]


def flow(transcript: Transcript) -> list[ChapterFlow]:
    """Return all chapters of a transcript, those without a word too."""
    by_chapter: list[list[Token]] = [[] for _ in transcript.chapters]
    for segment in transcript.segments:
        by_chapter[segment.chapter].extend(tokens(segment))
    starts = [milliseconds(chapter.start) for chapter in transcript.chapters]
    gaps: list[list[Missing]] = [[] for _ in transcript.chapters]
    for gap in transcript.gaps:
        if starts:
            gaps[max(0, sum(1 for s in starts if s <= milliseconds(gap.start)) - 1)].append(_missing(gap))
    return [
        ChapterFlow(
            number=number,
            title=chapter.title,
            start=starts[number],
            end=milliseconds(chapter.end),
            blocks=tuple(_blocks(by_chapter[number], gaps[number])),
        )
        for number, chapter in enumerate(transcript.chapters)
    ]


def _missing(gap: Gap) -> Missing:
    return Missing(milliseconds(gap.start), milliseconds(gap.end), gap.reason)


def _blocks(found: Sequence[Token], gaps: Sequence[Missing]) -> Iterator[Paragraph | Missing]:
    waiting = list(gaps)
    current: list[Token] = []
    size = 0
    for token in found:
        # A word whose middle lies past a gap's begin comes after it.
        passed = [gap for gap in waiting if 2 * gap.start <= token.start + token.end]
        if current and (passed or _ends(current[-1], token, size)):
            yield Paragraph(tuple(current))
            current, size = [], 0
        yield from passed
        waiting = waiting[len(passed) :]
        current.append(token)
        size += len(token.text)
    if current:
        yield Paragraph(tuple(current))
    yield from waiting


def _ends(last: Token, following: Token, size: int) -> bool:
    """Tell whether a paragraph of that many characters ends between two tokens."""
    if not (following.text[:1].isspace() or unspaced_end(last.text)):
        return False
    pause = following.start - last.end
    if pause >= _SCENE_PAUSE or size >= _MOST:
        return True
    # A character says as much as two or three letters.
    weight = size * 2 if unspaced_end(last.text) else size
    if rank(last.text) == PHRASE:
        return weight >= _LONG or (pause >= _PAUSE and weight >= _ENOUGH)
    return weight >= _LONG and pause >= _PAUSE
