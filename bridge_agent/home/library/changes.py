"""Changes: what a walk found against what the index knew; pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from bridge_agent.home.library.text import nfc
from bridge_agent.home.library.walk import Listing, Stats, below

KnownFile = tuple[str, int, int, int, int, int | None]
"""Path, size, mtime_ns, grouped, whether it is a track, book id."""


@dataclass
class Shelf:
    """What is different on one shelf: a folder, or a file, directly at the root; names are byte-exact."""

    names: set[str] = field(default_factory=set)
    # New and changed files, to be read.
    changed: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    # Whether some of its files are known and unchanged.
    known: bool = False


@dataclass
class Changes:
    """All shelves with something to do, by their names in NFC, and what it means for the books."""

    shelves: dict[str, Shelf] = field(default_factory=dict)
    # Books none of whose tracks is there.
    vanished: set[int] = field(default_factory=set)
    # Whether a book's tracks have all changed in place: books may have changed places.
    displaced: bool = False
    unchanged: int = 0


def shelf_of(path: str) -> str:
    """Return the shelf that a path lies on: the first part of it, in NFC."""
    return nfc(path.partition("/")[0])


def compare(listing: Listing, known: Sequence[KnownFile], all_anew: bool) -> Changes:
    """Find what changed; `all_anew` makes every shelf be sorted again, without reading unchanged files.

    What could not be read stays as it was known: nothing below it is gone.
    """
    _keep_unreadable(listing, known)
    changes = Changes()
    stats = {path: (size, mtime) for path, size, mtime, *_ in known}
    changed = [path for path, found in listing.files.items() if stats.get(path) != found]
    gone = [path for path in stats if path not in listing.files]
    changes.unchanged = len(listing.files) - len(changed)
    for path in sorted(changed):
        _shelf(changes, path).changed.append(path)
    for path in gone:
        _shelf(changes, path).gone.append(path)
    for path, _, _, grouped, _, _ in known:
        if all_anew or not grouped:
            _shelf(changes, path)
    _mark_known(changes, known, set(changed))
    _judge_books(changes, known, set(gone), set(changed))
    return changes


def _keep_unreadable(listing: Listing, known: Sequence[KnownFile]) -> None:
    paths = below(listing.unreadable, (entry[0] for entry in known))
    if paths:
        kept: Mapping[str, Stats] = {path: (size, mtime) for path, size, mtime, *_ in known if path in paths}
        listing.files = {**kept, **listing.files}


def _shelf(changes: Changes, path: str) -> Shelf:
    shelf = changes.shelves.setdefault(shelf_of(path), Shelf())
    shelf.names.add(path.partition("/")[0])
    return shelf


def _mark_known(changes: Changes, known: Sequence[KnownFile], changed: set[str]) -> None:
    for path, *_ in known:
        shelf = changes.shelves.get(shelf_of(path)) if changes.shelves else None
        if shelf is not None:
            # A shelf found under one Unicode form may be known under the other.
            shelf.names.add(path.partition("/")[0])
            shelf.known = shelf.known or path not in changed


def _judge_books(changes: Changes, known: Sequence[KnownFile], gone: set[str], changed: set[str]) -> None:
    tracks: Counter[int] = Counter()
    lost: Counter[int] = Counter()
    altered: Counter[int] = Counter()
    for path, _, _, _, track, book_id in known:
        if track and book_id is not None:
            tracks[book_id] += 1
            lost[book_id] += path in gone
            altered[book_id] += path in changed
    changes.vanished = {book_id for book_id, count in tracks.items() if lost[book_id] == count}
    changes.displaced = any(altered[book_id] == count for book_id, count in tracks.items())


def batches(shelves: Mapping[str, Shelf], most_files: int, together: bool) -> Iterable[list[Shelf]]:
    """Put shelves into batches of about so many files to read, or all into one."""
    batch: list[Shelf] = []
    count = 0
    for name in sorted(shelves):
        batch.append(shelves[name])
        count += max(1, len(shelves[name].changed))
        if count >= most_files and not together:
            yield batch
            batch, count = [], 0
    if batch:
        yield batch
