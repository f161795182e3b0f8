"""A transcript to be read: chapters, paragraphs as HTML, and the places of what a reader looks for."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from urllib.parse import urlencode

from markupsafe import Markup

from bridge_agent.transcription.transcripts.reader import (
    Place,
    ReaderChapter,
    ReaderGap,
    ReaderParagraph,
    ReaderWord,
)

WHOLE_WORDS = 60_000
"""A transcript of more words is shown a chapter a page, so that any browser stays quick."""

_CORE = re.compile(r"(\W*)(.*?)(\W*)", re.DOTALL)
_DOUBTS = {
    "loop": "The engine repeated itself here; listen again where it matters.",
    "low_coverage": "Some of what is said here may be missing.",
}


@dataclass(frozen=True)
class Mark:
    """A place that was found: words `first` to `last` of a paragraph; `number` counts from 1 in the book."""

    number: int
    chapter: int
    paragraph: int
    first: int
    last: int


@dataclass(frozen=True)
class Block:
    """A paragraph (`html` with its time) or a gap (its sentence); `anchor` is the id it is linked by."""

    anchor: str
    time: str
    html: Markup
    gap: bool = False
    doubts: tuple[str, ...] = ()
    here: bool = False


@dataclass(frozen=True)
class Chapter:
    """A chapter at the side, and its blocks where it is shown; `found` is how many places are in it."""

    number: int
    title: str
    time: str
    href: str
    found: int
    blocks: tuple[Block, ...] | None
    headed: bool = True


@dataclass(frozen=True)
class Reading:
    """A transcript as the reader shows it; `first` leads to the first place that was found."""

    chapters: tuple[Chapter, ...]
    found: int
    first: str
    split: bool
    current: int

    @property
    def shown(self) -> tuple[Chapter, ...]:
        """The chapters that are on this page."""
        return tuple(chapter for chapter in self.chapters if chapter.blocks is not None)

    @property
    def before(self) -> Chapter | None:
        """The chapter on the page before this one."""
        return self.chapters[self.current - 1] if self.split and self.current > 0 else None

    @property
    def after(self) -> Chapter | None:
        """The chapter on the page after this one."""
        following = self.current + 1
        return self.chapters[following] if self.split and following < len(self.chapters) else None


@dataclass(frozen=True)
class Asked:
    """What a reader asks for: a text, a chapter, a place in seconds."""

    q: str = ""
    chapter: int | None = None
    at: float | None = None


def reading(
    chapters: Sequence[ReaderChapter], title: str, words: int, places: Sequence[Place], asked: Asked
) -> Reading:
    """Return the reader's view; `places` are where what is asked for was found."""
    marks = merged(places)
    split = words > WHOLE_WORDS and len(chapters) > 1
    current = _current(chapters, marks, asked)
    links = _Links(asked.q, split)
    here = None if asked.at is None else _block_at(chapters, asked.at)
    counts: dict[int, int] = defaultdict(int)
    for mark in marks:
        counts[mark.chapter] += 1
    by_paragraph: dict[tuple[int, int], list[Mark]] = defaultdict(list)
    for mark in marks:
        by_paragraph[mark.chapter, mark.paragraph].append(mark)
    next_of = {mark.number: links.mark(after) for mark, after in _with_next(marks)}
    shown = []
    for at, chapter in enumerate(chapters):
        blocks = None
        if not split or at == current:
            blocks = tuple(_blocks(chapter, by_paragraph, next_of, len(marks), here))
        # A book without chapters has one of its own name, which stands above already.
        headed = len(chapters) > 1 or chapter.title != title
        href = links.chapter(chapter.number)
        found = counts[chapter.number]
        shown.append(
            Chapter(chapter.number, chapter.title, clock(chapter.start), href, found, blocks, headed)
        )
    first = links.mark(marks[0]) if marks else ""
    return Reading(tuple(shown), len(marks), first, split, current)


def merged(places: Sequence[Place]) -> list[Mark]:
    """Return places as marks in reading order; those that overlap are one."""
    joined: list[tuple[int, int, int, int]] = []
    for place in places:
        if joined and joined[-1][:2] == (place.chapter, place.paragraph) and place.first <= joined[-1][3]:
            last = joined.pop()
            joined.append((*last[:3], max(last[3], place.last)))
        else:
            joined.append((place.chapter, place.paragraph, place.first, place.last))
    return [Mark(number, *place) for number, place in enumerate(joined, start=1)]


def clock(seconds: float) -> str:
    """Write a place in a book: `0:46`, `1:02:10`."""
    minutes, rest = divmod(max(0, int(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def paragraph(
    words: Sequence[ReaderWord], marks: Sequence[Mark], next_of: Mapping[int, str], of: int
) -> Markup:
    """Return a paragraph's words as HTML: the unsure ones with their probability, the marks as links."""
    begins = {mark.first: mark for mark in marks}
    ends = {mark.last for mark in marks}
    written: list[str] = []
    for number, word in enumerate(words):
        if word.space:
            written.append(" ")
        before, core, after = (
            parted(word.text)
            if number in begins or number in ends or word.unsure
            else (
                "",
                word.text,
                "",
            )
        )
        if (mark := begins.get(number)) is not None:
            written.append(escape(before))
            before = ""
            written.append(
                f'<a class="hit" id="hit-{mark.number}" href="{escape(next_of[mark.number])}" '
                f'title="Place {mark.number} of {of}; follow it to the next">'
            )
        written.append(escape(before, quote=False) + _shown(core, word))
        if number in ends:
            written.append("</a>")
        written.append(escape(after, quote=False))
    # All text in it is escaped above.
    return Markup("".join(written))


def parted(text: str) -> tuple[str, str, str]:
    """Part a word from the signs before and after it; a word of signs alone stays whole."""
    found = _CORE.fullmatch(text)
    if found is None or not found[2]:
        return "", text, ""
    return found[1], found[2], found[3]


def _shown(core: str, word: ReaderWord) -> str:
    text = escape(core, quote=False)
    if not word.unsure or word.probability is None:
        return text
    return f'<span class="unsure" title="{round(100 * word.probability)} % sure">{text}</span>'


class _Links:
    """Where things are: on this page, or on a chapter's own."""

    def __init__(self, q: str, split: bool) -> None:
        self._q = q
        self._split = split

    def chapter(self, number: int) -> str:
        return f"{self._page(number)}#chapter-{number}"

    def mark(self, mark: Mark) -> str:
        return f"{self._page(mark.chapter)}#hit-{mark.number}"

    def _page(self, chapter: int) -> str:
        if not self._split:
            return ""
        given = {"q": self._q, "chapter": str(chapter)}
        return "?" + urlencode({name: value for name, value in given.items() if value})


def _current(chapters: Sequence[ReaderChapter], marks: Sequence[Mark], asked: Asked) -> int:
    """Return the place in the list of the chapter that is asked for."""
    if not chapters:
        return 0
    if asked.at is not None:
        return max(0, bisect_right([chapter.start for chapter in chapters], asked.at) - 1)
    wanted = asked.chapter
    if wanted is None and marks:
        wanted = marks[0].chapter
    return next((at for at, chapter in enumerate(chapters) if chapter.number == wanted), 0)


def _with_next(marks: Sequence[Mark]) -> Iterator[tuple[Mark, Mark]]:
    """Return each mark with the one after it; the first follows the last."""
    return zip(marks, [*marks[1:], *marks[:1]], strict=True)


def _block_at(chapters: Sequence[ReaderChapter], at: float) -> tuple[int, int] | None:
    """Return the chapter and the paragraph that are read at a place."""
    found = None
    for chapter in chapters:
        for each in chapter.paragraphs:
            # A place that search found may lie a moment before its first word.
            if each.start > at + 0.5:
                return found or (chapter.number, each.number)
            found = (chapter.number, each.number)
    return found


def _blocks(
    chapter: ReaderChapter,
    marks: Mapping[tuple[int, int], Sequence[Mark]],
    next_of: Mapping[int, str],
    of: int,
    here: tuple[int, int] | None,
) -> Iterator[Block]:
    for number, block in enumerate(chapter.blocks):
        if isinstance(block, ReaderGap):
            anchor = f"gap-{chapter.number}-{number}"
            yield Block(anchor, clock(block.start), Markup.escape(block.sentence), gap=True)
        else:
            own = marks.get((chapter.number, block.number), ())
            html = paragraph(block.words, own, next_of, of)
            anchor = f"p-{chapter.number}-{block.number}"
            is_here = here == (chapter.number, block.number)
            yield Block(anchor, clock(block.start), html, doubts=_doubts(block), here=is_here)


def _doubts(block: ReaderParagraph) -> tuple[str, ...]:
    return tuple(_DOUBTS[flag] for flag in block.flags if flag in _DOUBTS)
