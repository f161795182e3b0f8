"""Versions: several formats, or several copies, of one book beside each other (A-26, A-27, #2315)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bridge_agent.home.library.facts import File, inside
from bridge_agent.home.library.kinds import BOOK_CONTAINERS, preference
from bridge_agent.home.library.loose import residue
from bridge_agent.home.library.parts import is_format
from bridge_agent.home.library.text import fold, nfc

_LONG_S = 600.0
_ALIKE = 0.01
_BRACKETS = re.compile(r"\([^)]*\)|\[[^\]]*\]|\{[^}]*\}")


@dataclass(frozen=True)
class Versions:
    """A book's tracks, and the files that hold the same sound once more."""

    tracks: tuple[File, ...]
    others: tuple[File, ...] = ()


def tell_versions(files: Sequence[File], folder: str) -> Versions:
    """Take apart what would play the book twice; what is in doubt stays a track.

    Formats are versions where their files have the same names, or where each plays as long as the other. Of
    files in one format, two are versions where their chapters are the same ones.
    """
    formats: dict[str, list[File]] = {}
    for file in files:
        formats.setdefault(file.extension, []).append(file)
    ranked = sorted(formats.items(), key=lambda entry: _rank(*entry))
    main = list(ranked[0][1])
    others: list[File] = []
    for _, several in ranked[1:]:
        if _same_names(main, several, folder) or _same_length(main, several):
            others += several
        else:
            main += several
    kept = _without_copies(main)
    others += [file for file in main if file not in kept]
    return Versions(tuple(kept), tuple(others))


def _rank(extension: str, files: Sequence[File]) -> tuple[bool, int, str]:
    """Prefer a format whose files can all be read, then the one that carries chapters best."""
    return any(file.said.broken for file in files), preference(extension), extension


def _same_names(one: Sequence[File], other: Sequence[File], folder: str) -> bool:
    return {_place(file, folder) for file in one} == {_place(file, folder) for file in other}


def _place(file: File, folder: str) -> tuple[str, ...]:
    """Return a file's place in its book without its extension and without folders named after formats."""
    below = inside(folder, file.folder)
    names = [nfc(name) for name in below.split("/") if name and not is_format(name)]
    return (*names, nfc(file.stem))


def _same_length(one: Sequence[File], other: Sequence[File]) -> bool:
    """Tell whether two formats play the same: one file against all, or file by file.

    Two discs of a book are often nearly as long as each other, so two single files need the same name too.
    """
    first, second = _lengths(one), _lengths(other)
    if None in first or None in second or min(sum(filter(None, first)), sum(filter(None, second))) < _LONG_S:
        return False
    if len(first) == len(second):
        named = len(first) > 1 or _bare(one[0]) == _bare(other[0])
        return named and all(_near(a, b) for a, b in zip(first, second, strict=True))
    return 1 in (len(first), len(second)) and _near(sum(filter(None, first)), sum(filter(None, second)))


def _lengths(files: Sequence[File]) -> list[float | None]:
    return sorted((file.duration for file in files), key=lambda length: length or 0.0)


def _near(one: float | None, other: float | None) -> bool:
    return abs((one or 0.0) - (other or 0.0)) <= _ALIKE * max(one or 0.0, other or 0.0)


def _bare(file: File) -> str:
    """Return a file's name without what stands in brackets: `Emma (Unabridged)` is `Emma`."""
    return " ".join(_BRACKETS.sub(" ", fold(file.stem)).split())


def _without_copies(files: Sequence[File]) -> list[File]:
    """Drop later containers whose chapters repeat those of an earlier one: copies, or other readings."""
    kept: list[File] = []
    for file in files:
        if not any(_repeats(file, earlier) for earlier in kept):
            kept.append(file)
    return kept


def _repeats(file: File, earlier: File) -> bool:
    """Tell whether two files have the same chapters; `Chapter 1` says nothing without its time."""
    marks, others = file.said.marks, earlier.said.marks
    if file.extension not in BOOK_CONTAINERS or len(marks) < 2 or len(marks) != len(others):
        return False
    titles = [fold(mark.title) for mark in marks]
    if titles != [fold(mark.title) for mark in others]:
        return False
    telling = len({residue(title) for title in titles} - {""}) > len(titles) // 2
    return telling or all(abs(a.start - b.start) < 1.0 for a, b in zip(marks, others, strict=True))
