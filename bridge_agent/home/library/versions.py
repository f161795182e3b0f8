"""Versions: several formats, or several copies, of one book beside each other (A-26, A-27, #2315)."""

from collections.abc import Sequence
from dataclasses import dataclass

from bridge_agent.home.library.facts import File, inside
from bridge_agent.home.library.kinds import BOOK_CONTAINERS, preference
from bridge_agent.home.library.parts import is_format
from bridge_agent.home.library.text import fold, nfc

_LONG_S = 600.0
_ALIKE = 0.01


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
    first, second = _length(one), _length(other)
    if first is None or second is None or min(first, second) < _LONG_S:
        return False
    return abs(first - second) <= _ALIKE * max(first, second)


def _length(files: Sequence[File]) -> float | None:
    total = 0.0
    for file in files:
        if file.duration is None:
            return None
        total += file.duration
    return total


def _without_copies(files: Sequence[File]) -> list[File]:
    """Drop later containers whose chapters repeat those of an earlier one: copies, or other readings."""
    seen: set[tuple[str, ...]] = set()
    kept = []
    for file in files:
        titles = tuple(fold(mark.title) for mark in file.said.marks)
        repeated = file.extension in BOOK_CONTAINERS and len(titles) > 1 and titles in seen
        if not repeated:
            kept.append(file)
            seen.add(titles)
    return kept
