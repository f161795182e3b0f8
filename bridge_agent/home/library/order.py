"""Track order: discs before tracks, always natural, also with gaps (A-33…A-50)."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from bridge_agent.home.library.facts import File, inside
from bridge_agent.home.library.kinds import BOOK_CONTAINERS
from bridge_agent.home.library.numbers import WORD_PATTERN, value_of
from bridge_agent.home.library.parts import is_extra, part_of, place_in_book, titled_part
from bridge_agent.home.library.text import fold, natural

Numbers = tuple[int, ...]

_RUN = re.compile(r"\d+")
_SPELT = re.compile(rf"\b(chapter|part|kapitel|teil|disc|cd|track|section)\s+({WORD_PATTERN})\b")
_DISC_TOKEN = re.compile(r"(?<![^\W\d_])(?:cd|disc|disk)[\s_.\-#]*(\d{1,3})")
_FIRST, _NUMBERED, _LAST = 0, 1, 2


@dataclass(frozen=True)
class Counted:
    """The tracks of one book in order, and the (disc, track) numbers that the order came from.

    `numbers` has one entry a file that has numbers, `discs` the discs that folders, tags or names tell of;
    `total` is what the tags say each disc, or the book, has.
    """

    files: tuple[File, ...]
    numbers: tuple[tuple[int, int], ...] = ()
    discs: frozenset[int] = frozenset()
    total: int | None = None


def in_order(files: Sequence[File], folder: str) -> Counted:
    """Put a book's tracks into reading order; `folder` is the book's folder, under which all of them lie.

    The folder's discs come first, then tags or names, whichever tells more tracks apart (a tie: tags, A-35),
    and the natural order of the whole path decides what is left.
    """
    if len(files) == 1:
        return _alone(files[0])
    folders = {file.path: _folder_key(file, folder) for file in files}
    in_folders = frozenset(parts[0] for _, parts in folders.values() if parts)
    by_tags = _tag_numbers(files, by_disc=not in_folders)
    by_names = _name_numbers(files)
    use_tags = _telling(files, by_tags, folders) >= _telling(files, by_names, folders) and bool(by_tags)
    numbers = by_tags if use_tags else by_names

    def key(file: File) -> tuple[object, ...]:
        place, parts = folders[file.path]
        return place, parts, *_within(file, numbers.get(file.path)), natural(file.path), file.path

    ordered = tuple(sorted(files, key=key))
    counted = _counted(ordered, numbers, folders, use_tags)
    discs = in_folders or frozenset(disc for disc, _ in counted if disc)
    return Counted(ordered, counted, discs, _total(files) if use_tags else None)


def _alone(file: File) -> Counted:
    """Count a single file: a book container is whole by itself, whatever number somebody gave it."""
    said = file.said
    if file.extension in BOOK_CONTAINERS or not said.track or not said.tracks:
        return Counted((file,))
    return Counted((file,), ((0, said.track),), total=said.tracks)


def _within(file: File, numbers: Numbers | None) -> tuple[int, Numbers]:
    """Return a file's place in its folder: a prologue before, an epilogue after the numbered ones (A-44)."""
    if numbers:
        return _NUMBERED, numbers
    return (_LAST if place_in_book(file.stem) > 0 else _FIRST), ()


def _folder_key(file: File, folder: str) -> tuple[int, Numbers]:
    """Return the place of a file's folder in the book: top files, then discs, then extras."""
    below = inside(folder, file.folder)
    place, key = _NUMBERED, []
    for name in below.split("/") if below else []:
        part = part_of(name) or ((split := titled_part(name)) and split[1]) or None
        if part is not None:
            key += [part.number, part.side]
        elif name.isdecimal():
            key += [int(name), 0]
        elif is_extra(name):
            place = _FIRST if place_in_book(name) < 0 else _LAST
    if not key and not below:
        # A file above the discs opens the book, unless its name says that it closes it.
        place = _LAST if place_in_book(file.stem) > 0 and not _RUN.search(file.stem) else _NUMBERED
    return place, tuple(key)


def _tag_numbers(files: Sequence[File], *, by_disc: bool) -> dict[str, Numbers]:
    """Return (disc, track) by path from the tags; discs count where no folder tells them and all files do."""
    discs = by_disc and all(file.said.disc for file in files)
    return {
        file.path: ((file.said.disc or 0) if discs else 0, file.said.track)
        for file in files
        if file.said.track is not None
    }


def _name_numbers(files: Sequence[File]) -> dict[str, Numbers]:
    """Return all numbers in each name, a disc's first where the leading ones do not tell all apart."""
    names = {file.path: _spelt_out(fold(file.stem)) for file in files}
    numbers = {path: tuple(int(run) for run in _RUN.findall(name)) for path, name in names.items()}
    heads = Counter(found[0] for found in numbers.values() if found)
    if any(count > 1 for count in heads.values()):
        tokens = {path: _DISC_TOKEN.search(name) for path, name in names.items()}
        if all(tokens.values()):
            return {
                path: (int(token[1]), *(int(r) for r in _RUN.findall(names[path].replace(token[0], " ", 1))))
                for path, token in tokens.items()
                if token is not None
            }
    return {path: found for path, found in numbers.items() if found}


def _spelt_out(name: str) -> str:
    """Return a name with `chapter one` written as `chapter 1`."""
    return _SPELT.sub(lambda match: f"{match[1]} {value_of(match[2])}", name)


def _telling(
    files: Sequence[File], numbers: dict[str, Numbers], folders: dict[str, tuple[int, Numbers]]
) -> int:
    """Return how many tracks a source of numbers tells apart."""
    return len({(folders[f.path], numbers[f.path]) for f in files if f.path in numbers})


def _counted(
    ordered: Sequence[File],
    numbers: dict[str, Numbers],
    folders: dict[str, tuple[int, Numbers]],
    tagged: bool,
) -> tuple[tuple[int, int], ...]:
    """Return each numbered file as (disc, track): which column counts is found, constant ones are dropped."""
    found = []
    rows = [numbers[file.path] for file in ordered if file.path in numbers]
    columns = (0, 1) if tagged else _columns(rows)
    for file in ordered:
        place, parts = folders[file.path]
        if file.path not in numbers or place != _NUMBERED or not columns:
            continue
        own = numbers[file.path]
        disc = parts[0] if parts else own[columns[0]] if len(columns) > 1 else 0
        found.append((disc, own[columns[-1]]))
    return tuple(found)


def _columns(rows: list[Numbers]) -> tuple[int, ...]:
    """Return which columns of numbers count: one that tells all apart, or the first two that vary."""
    width = min((len(row) for row in rows), default=0)
    varying = [i for i in range(width) if len({row[i] for row in rows}) > 1]
    for column in varying:
        if len({row[column] for row in rows}) == len(rows):
            return (column,)
    return tuple(varying[:2])


def _total(files: Sequence[File]) -> int | None:
    totals = {file.said.tracks for file in files}
    return totals.pop() if len(totals) == 1 else None
