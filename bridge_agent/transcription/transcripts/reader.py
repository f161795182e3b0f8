"""A transcript as a page shows it: chapters, paragraphs, words with times; and where a text stands in it."""

from collections.abc import Iterator
from dataclasses import dataclass

from bridge_agent.transcription.assembly.transcript import Transcript
from bridge_agent.transcription.formats.flow import ChapterFlow, Missing, Paragraph, flow
from bridge_agent.transcription.formats.txt import missing
from bridge_agent.transcription.transcripts.fold import words
from bridge_agent.transcription.transcripts.query import Query, Term, parse

UNSURE = 0.6
"""Words below this probability are marked."""


@dataclass(frozen=True, slots=True)
class ReaderWord:
    """A word with its times in seconds; `space` says whether one goes before it.

    `probability` is None where the transcript keeps no words; the times are then shared out by length.
    """

    text: str
    space: bool
    start: float
    end: float
    probability: float | None

    @property
    def unsure(self) -> bool:
        """Whether the engine was not sure of it."""
        return self.probability is not None and self.probability < UNSURE


@dataclass(frozen=True, slots=True)
class ReaderParagraph:
    """A paragraph, its number counted through the chapter; `flags` are those of its segments."""

    number: int
    start: float
    words: tuple[ReaderWord, ...]
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReaderGap:
    """A stretch without words, with the sentence that says so; times in seconds."""

    start: float
    end: float
    reason: str
    sentence: str


@dataclass(frozen=True, slots=True)
class ReaderChapter:
    """A chapter with what is read in it, in order; times in seconds."""

    number: int
    title: str
    start: float
    end: float
    blocks: tuple[ReaderParagraph | ReaderGap, ...]

    @property
    def paragraphs(self) -> tuple[ReaderParagraph, ...]:
        """Its paragraphs alone."""
        return tuple(block for block in self.blocks if isinstance(block, ReaderParagraph))


@dataclass(frozen=True, slots=True)
class Place:
    """Where a text was found: words `first` to `last` of a paragraph; `start` in seconds."""

    chapter: int
    paragraph: int
    first: int
    last: int
    start: float


def chapters(transcript: Transcript) -> list[ReaderChapter]:
    """Return a transcript's chapters for reading."""
    flags = {segment.id: segment.flags for segment in transcript.segments}
    return [_chapter(each, flags) for each in flow(transcript)]


def find(shown: list[ReaderChapter], text: str) -> list[Place]:
    """Return all places of what a person types, as the search across books takes it, in reading order.

    Of several words all places of each are returned; a phrase does not lie across paragraphs.
    """
    query = parse(text)
    places = _find(shown, query)
    if not places and (wider := query.widened()):
        places = _find(shown, wider)
    return places


def _find(shown: list[ReaderChapter], query: Query) -> list[Place]:
    found = {
        place
        for chapter in shown
        for paragraph in chapter.paragraphs
        for term in query.terms
        for place in _places(term, chapter.number, paragraph)
    }
    return sorted(found, key=lambda p: (p.chapter, p.paragraph, p.first, p.last))


def _places(term: Term, chapter: int, paragraph: ReaderParagraph) -> Iterator[Place]:
    said = [(word, number) for number, each in enumerate(paragraph.words) for word in words(each.text)]
    length = len(term.words)
    for at in range(len(said) - length + 1):
        stretch = said[at : at + length]
        if all(word == wanted for (word, _), wanted in zip(stretch[:-1], term.words, strict=False)):
            last = stretch[-1][0]
            if last == term.words[-1] or (term.beginning and last.startswith(term.words[-1])):
                first = stretch[0][1]
                yield Place(chapter, paragraph.number, first, stretch[-1][1], paragraph.words[first].start)


def _chapter(found: ChapterFlow, flags: dict[int, tuple[str, ...]]) -> ReaderChapter:
    blocks: list[ReaderParagraph | ReaderGap] = []
    number = 0
    for block in found.blocks:
        if isinstance(block, Missing):
            blocks.append(ReaderGap(block.start / 1000, block.end / 1000, block.reason, missing(block)))
        else:
            blocks.append(_paragraph(number, block, flags))
            number += 1
    return ReaderChapter(found.number, found.title, found.start / 1000, found.end / 1000, tuple(blocks))


def _paragraph(number: int, found: Paragraph, flags: dict[int, tuple[str, ...]]) -> ReaderParagraph:
    said = tuple(
        ReaderWord(
            text=token.text.strip(),
            space=token.text[:1].isspace() and place > 0,
            start=token.start / 1000,
            end=token.end / 1000,
            probability=token.probability,
        )
        for place, token in enumerate(found.tokens)
    )
    raised = dict.fromkeys(flag for token in found.tokens for flag in flags[token.segment])
    return ReaderParagraph(number, found.tokens[0].start / 1000, said, tuple(raised))
