"""Chapters put right: sorted, without scraps, clamped to what was decoded, without holes between them."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath

from bridge_agent.transcription.model import RATE, FileChapter

LEAST = RATE // 2
"""A chapter shorter than this is a scrap of a broken list."""

_MOST = 10_000


@dataclass(frozen=True)
class Mark:
    """A chapter as somebody wrote it down: where it begins in samples, and perhaps where it ends."""

    title: str
    start: int
    end: int | None = None


def sanitised(marks: Iterable[Mark], samples: int, source: str) -> tuple[FileChapter, ...]:
    """Return chapters that tile a file of that many samples, or none where no mark is usable.

    Of marks at one place the one with a title and the later end is kept; the first chapter begins with the
    file and each ends where the next begins.
    """
    usable: list[Mark] = []
    for mark in sorted(_inside(marks, samples), key=lambda m: (m.start, -(m.end or samples))):
        if usable and mark.start - usable[-1].start < LEAST:
            if not usable[-1].title:
                usable[-1] = Mark(mark.title, usable[-1].start)
            continue
        usable.append(mark)
    usable = usable[:_MOST]
    starts = [0, *(mark.start for mark in usable[1:]), samples]
    return tuple(
        FileChapter(
            title=mark.title or f"Chapter {number + 1}",
            start=starts[number],
            end=starts[number + 1],
            source=source,
        )
        for number, mark in enumerate(usable)
    )


def whole(samples: int, title: str, name: str) -> tuple[FileChapter, ...]:
    """Return the one chapter of a file that has no marks: named from its tags, else after the file."""
    if not samples:
        return ()
    clean = tidy(title)
    return (
        FileChapter(
            title=clean or tidy(PurePath(name).stem) or name,
            start=0,
            end=samples,
            source="tags" if clean else "folder",
        ),
    )


def tidy(title: str) -> str:
    """Return a title on one line, without control characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in title).split())


def _inside(marks: Iterable[Mark], samples: int) -> Iterable[Mark]:
    for mark in marks:
        start = max(0, mark.start)
        end = samples if mark.end is None else min(mark.end, samples)
        # Zero-length ones are what a list in the wrong order turns into on its way through a muxer.
        if start < samples and end - start >= min(LEAST, samples - start) and end > start:
            yield Mark(tidy(mark.title), start, end)
