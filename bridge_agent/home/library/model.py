"""What the index gives out: libraries with their scans, pages of books, a book's details, a file to serve."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from bridge_agent.base.errors import BridgeError
from bridge_agent.protocol.bridge import BookFile, Chapter, Library

ScanState = Literal["idle", "running", "done", "failed"]
BookState = Literal["whole", "incomplete", "missing"]


class BadCursor(BridgeError):
    """This place in the list is not one that the server gave out; begin the list anew without “after”."""

    code = "bad_cursor"


@dataclass
class Scan:
    """How the library's scan stands; `done` and `total` count files."""

    state: ScanState = "idle"
    done: int = 0
    total: int = 0
    finished_at: str | None = None
    error: str | None = None


@dataclass
class LibraryInfo:
    """A library: its root as it was given, how many books are there, how its scan stands."""

    id: int
    name: str
    root: str
    books: int = 0
    scan: Scan = field(default_factory=Scan)

    def wire(self) -> dict[str, Any]:
        """Return its entry of GET /libraries."""
        scan = self.scan
        return {
            "id": self.id,
            "name": self.name,
            "root": self.root,
            "books": self.books,
            "scan": {
                "state": scan.state,
                "done": scan.done,
                "total": scan.total,
                "finished_at": scan.finished_at,
                "error": scan.error,
            },
        }

    def for_bridge(self) -> Library:
        """Return what the Bridge is told of it (R-040)."""
        return Library(id=self.id, name=self.name, root=self.root)


@dataclass(frozen=True)
class BookItem:
    """A book as a list shows it; `duration` in seconds, `size` in bytes, `files` its tracks."""

    path: str
    title: str
    author: str
    series: str
    sequence: str
    duration: float | None
    size: int
    files: int
    state: BookState

    def wire(self) -> dict[str, Any]:
        """Return its entry of GET /libraries/{id}/books."""
        return {
            "path": self.path,
            "title": self.title,
            "author": self.author,
            "series": self.series or None,
            "duration": self.duration,
            "size": self.size,
            "files": self.files,
            "state": self.state,
        }


@dataclass(frozen=True)
class BookPage:
    """A page of books by title; `next_after` is where the next one begins, None at the end."""

    books: list[BookItem]
    next_after: str | None

    def wire(self) -> dict[str, Any]:
        """Return the answer of GET /libraries/{id}/books."""
        return {"books": [book.wire() for book in self.books], "next_after": self.next_after}


@dataclass(frozen=True)
class BookDetails:
    """What a book's own page shows; `cover` is a path for `media_file`, `notes` are plain sentences."""

    item: BookItem
    files: list[BookFile]
    chapters: list[Chapter]
    subtitle: str
    authors: list[str]
    # The authors as the tags or folders wrote them.
    credit: str
    narrator: str
    year: str
    description: str
    language: str
    asin: str
    isbn: str
    cover: str | None
    versions: list[str]
    notes: list[str]

    def wire(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            **self.item.wire(),
            "sequence": self.item.sequence or None,
            # The list's entry counts the files; the page shows them.
            "files": [
                {"path": file.path, "size": file.size, "duration": file.duration} for file in self.files
            ],
            "chapters": [{"title": c.title, "start": c.start, "end": c.end} for c in self.chapters],
            "subtitle": self.subtitle or None,
            "authors": self.authors,
            "credit": self.credit or None,
            "narrator": self.narrator or None,
            "year": self.year or None,
            "description": self.description or None,
            "language": self.language or None,
            "asin": self.asin or None,
            "isbn": self.isbn or None,
            "cover": self.cover,
            "versions": self.versions,
            "notes": self.notes,
        }


@dataclass(frozen=True)
class MediaFile:
    """A file that may be served: its real place on this machine and its type."""

    path: Path
    content_type: str
