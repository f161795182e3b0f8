"""A book's chapters, mended: in order, without holes, and at least one where there is sound."""

from collections.abc import Iterable
from pathlib import PurePosixPath

import msgspec

from bridge_agent.transcription.model import Chapter, Plan

SOURCES = frozenset({"file", "tags", "folder"})


def chapters(plan: Plan, title: str) -> list[Chapter]:
    """Return chapters that cover the whole book, in its samples.

    Empty ones go, holes belong to the chapter before them, a nameless one is called by its number. A book
    without any has one a file, named after it, or one named like the book.
    """
    total = plan.samples
    if not total:
        return []
    found = _mended(plan.chapters, total) or _mended(_by_files(plan, title), total)
    return [_named(chapter, number) for number, chapter in enumerate(found, start=1)]


def _mended(found: Iterable[Chapter], total: int) -> list[Chapter]:
    usable = [c for c in found if c.start < min(c.end, total)]
    usable.sort(key=lambda chapter: (chapter.start, chapter.end))
    starts: dict[int, Chapter] = {}
    for chapter in usable:
        # Two that begin together: the longer one holds the words, and comes later in the order.
        starts[max(0, chapter.start)] = chapter
    borders = [*starts, total]
    if starts:
        borders[0] = 0
    return [
        msgspec.structs.replace(chapter, start=start, end=end)
        for chapter, start, end in zip(starts.values(), borders, borders[1:], strict=False)
    ]


def _by_files(plan: Plan, title: str) -> list[Chapter]:
    heard = [file for file in plan.files if file.samples]
    if len(heard) == 1:
        return [Chapter(title=title, start=0, end=plan.samples, source="folder")]
    return [
        Chapter(
            title=PurePosixPath(file.path).stem,
            start=file.offset,
            end=file.offset + file.samples,
            source="folder",
        )
        for file in heard
    ]


def _named(chapter: Chapter, number: int) -> Chapter:
    title = " ".join(chapter.title.split()) or f"Chapter {number}"
    source = chapter.source if chapter.source in SOURCES else "file"
    return msgspec.structs.replace(chapter, title=title, source=source)
