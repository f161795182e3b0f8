"""Matching: which known book a book found at another path is, told by its content (A-94…A-101)."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bridge_agent.home.library.assembly import Assembled
from bridge_agent.home.library.text import fold

Print = tuple[int, str]
"""A track's size and the sound in its middle."""

# So much of the old book, by bytes, must be in the new one, and so much of the new one from the old.
_OF_OLD, _OF_NEW = 0.7, 0.5
_LONG_S = 60.0


@dataclass(frozen=True)
class Track:
    """A track as the index knows it."""

    path: str
    size: int
    duration: float | None
    present: bool
    sound: str


@dataclass(frozen=True)
class Known:
    """A book as the index knows it."""

    id: int
    path: str
    path_key: str
    title: str
    state: str
    evidence: str
    digest: str
    duration: float | None
    size: int
    tracks: tuple[Track, ...] = ()


class Pool:
    """Known books whose place is not known: vanished, missing, or pushed from their path by other content."""

    def __init__(self, books: Iterable[Known]) -> None:
        self._books: dict[int, Known] = {}
        self._by_evidence: dict[str, set[int]] = defaultdict(set)
        self._by_print: dict[Print, set[int]] = defaultdict(set)
        self._by_track: dict[str, int] = {}
        self._by_length: dict[tuple[int, int], set[int]] = defaultdict(set)
        for book in books:
            self.add(book)

    def __contains__(self, book_id: int) -> bool:
        return book_id in self._books

    def add(self, book: Known) -> None:
        """Put a book in; harmless when repeated."""
        if book.id in self._books:
            return
        self._books[book.id] = book
        self._by_evidence[book.evidence].add(book.id)
        for track in book.tracks:
            self._by_track[track.path] = book.id
            if track.sound:
                self._by_print[track.size, track.sound].add(book.id)
        if (length := _length(book.tracks)) is not None:
            self._by_length[len(book.tracks), round(length)].add(book.id)

    def needs(self, path: str) -> bool:
        """Tell whether a path is a track of a book that nothing has matched."""
        return self._by_track.get(path) in self._books

    def left(self) -> list[Known]:
        """Return the books that nothing has matched."""
        return list(self._books.values())

    def take(self, book_id: int) -> None:
        """Take a book out: its place is known."""
        self._books.pop(book_id, None)

    def same(self, found: Assembled) -> Known | None:
        """Take out the book with the very same content, best one with the same folder name and title."""
        return self._take(self._by_evidence.get(found.evidence, ()), found)

    def alike(self, found: Assembled) -> Known | None:
        """Take out the book most of whose sound is here, else one of the same title and lengths."""
        return self._take(self._overlapping(found), found) or self._take(self._retagged(found), found)

    def _overlapping(self, found: Assembled) -> list[int]:
        bytes_of: Counter[int] = Counter()
        for file in found.tracks:
            for book_id in self._by_print.get((file.size, file.said.sound), ()):
                bytes_of[book_id] += file.size
        return [
            book_id
            for book_id, count in bytes_of.most_common()
            if (book := self._books.get(book_id)) is not None
            and count >= _OF_OLD * _bytes(book.tracks)
            and count >= _OF_NEW * found.size
        ]

    def _retagged(self, found: Assembled) -> list[int]:
        """Find books of the same title whose tracks have the same lengths: new tags change size and sound."""
        lengths = [file.duration for file in found.tracks]
        if found.duration is None or found.duration < _LONG_S or None in lengths:
            return []
        near = (
            self._by_length.get((len(lengths), round(found.duration) + step), set()) for step in (-1, 0, 1)
        )
        return [
            book_id
            for book_id in set().union(*near)
            if (book := self._books.get(book_id)) is not None
            and fold(book.title) == fold(found.title)
            and _same_lengths(book.tracks, found)
        ]

    def _take(self, candidates: Iterable[int], found: Assembled) -> Known | None:
        books = [self._books[book_id] for book_id in candidates if book_id in self._books]
        if not books:
            return None
        name = found.path_key.rpartition("/")[2]
        best = min(
            books,
            key=lambda book: (
                book.path_key.rpartition("/")[2] != name,
                fold(book.title) != fold(found.title),
                book.path,
            ),
        )
        self.take(best.id)
        return best


def _length(tracks: Sequence[Track]) -> float | None:
    total = 0.0
    for track in tracks:
        if track.duration is None:
            return None
        total += track.duration
    return total if total >= _LONG_S else None


def _bytes(tracks: Sequence[Track]) -> int:
    return sum(track.size for track in tracks) or 1


def _same_lengths(tracks: Sequence[Track], found: Assembled) -> bool:
    old = sorted(track.duration or 0.0 for track in tracks)
    new = sorted(file.duration or 0.0 for file in found.tracks)
    return all(abs(one - other) < 0.2 for one, other in zip(old, new, strict=True))
