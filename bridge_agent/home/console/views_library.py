"""Libraries and books as the console tells them: scan states, a book's state, its chapters and files."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bridge_agent.home.console import words
from bridge_agent.home.console.words import State, Tag

Library = Mapping[str, Any]

_BOOKS = {
    "whole": Tag("Whole", "✓", "ok"),
    "incomplete": Tag("Incomplete", "!", "warn"),
    "missing": Tag("Missing", "✕", "bad"),
}
_BOOK_LINES = {
    "whole": "All its files were there at the last scan.",
    "incomplete": "Some of its files were missing or could not be read at the last scan.",
    "missing": "Its files were not there at the last scan; it is kept in the list in case they come back.",
}


@dataclass(frozen=True)
class LibraryView:
    """What a page says of one library."""

    id: int
    name: str
    root: str
    books: str
    has_books: bool
    tag: Tag
    line: str
    scanning: bool
    done: int
    total: int | None
    scanned_at: str | None


@dataclass(frozen=True)
class BookView:
    """What a list says of one book."""

    path: str
    title: str
    by: str
    tag: Tag
    whole: bool
    line: str


def library_view(library: Library, now: datetime) -> LibraryView:
    """Say everything of a library; `library` is its entry of GET /libraries."""
    scan = library.get("scan") or {}
    state = str(scan.get("state") or "idle")
    done = int(words.number_in(scan, "done") or 0)
    total = words.number_in(scan, "total")
    return LibraryView(
        id=int(library["id"]),
        name=str(library["name"]),
        root=str(library["root"]),
        books=words.counted(int(library.get("books") or 0), "book"),
        has_books=bool(library.get("books")),
        tag=_scan_tag(state, scan),
        line=_scan_line(state, scan, now),
        scanning=state == "running",
        done=done,
        total=int(total) if total else None,
        scanned_at=words.text_in(scan, "finished_at"),
    )


def libraries_state(libraries: list[LibraryView], admin: bool) -> State:
    """Return the sentence over the list of libraries."""
    if not libraries:
        more = "Add a folder of audiobooks below." if admin else "Ask an admin of this server to add one."
        return State("There are no libraries yet.", more, "off")
    failed = [library for library in libraries if library.tag.tone == "bad"]
    if failed:
        names = words.joined([f"“{library.name}”" for library in failed[:3]])
        return State(f"{names} could not be scanned.", "What went wrong stands with it below.", "bad")
    running = [library for library in libraries if library.scanning]
    if running:
        names = words.joined([f"“{library.name}”" for library in running[:3]])
        return State(f"Scanning {names}.", "Books appear as they are found.", "on")
    if len(libraries) == 1:
        return State("1 library, scanned.", "It is scanned once a day, and whenever you ask.", "ok")
    count = words.counted(len(libraries), "library", "libraries")
    return State(f"{count}, all scanned.", "They are scanned once a day, and whenever you ask.", "ok")


def book_view(book: Mapping[str, Any]) -> BookView:
    """Say of a book what a list shows; `book` is its entry of GET /libraries/{id}/books."""
    state = str(book.get("state") or "whole")
    parts = [words.counted(int(words.number_in(book, "files") or 0), "file")]
    duration = words.number_in(book, "duration")
    if duration:
        parts.insert(0, words.long_or_short(int(duration)))
    author, series = words.text_in(book, "author"), words.text_in(book, "series")
    return BookView(
        path=str(book["path"]),
        title=words.text_in(book, "title") or words.name_of(str(book["path"])),
        by=" · ".join(text for text in (author, series if series != author else None) if text),
        tag=book_tag(state),
        whole=state == "whole",
        line=" · ".join(parts),
    )


def book_tag(state: str) -> Tag:
    """Return a book's state in a word with a mark."""
    return _BOOKS.get(state, Tag(state, "•"))


def book_line(state: str) -> str:
    """Return what a book's state means."""
    return _BOOK_LINES.get(state, "")


def _scan_tag(state: str, scan: Mapping[str, Any]) -> Tag:
    if state == "done" and words.text_in(scan, "error"):
        return Tag("Scanned, with a doubt", "!", "warn")
    return {
        "idle": Tag("Not scanned yet", "○"),
        "running": Tag("Scanning", "●", "on"),
        "done": Tag("Scanned", "✓", "ok"),
        "failed": Tag("Scan failed", "✕", "bad"),
    }.get(state, Tag(state, "•"))


def _scan_line(state: str, scan: Mapping[str, Any], now: datetime) -> str:
    done, total = int(words.number_in(scan, "done") or 0), words.number_in(scan, "total")
    match state:
        case "running":
            return f"{done:,} of {int(total):,} looked at" if total else "Looking through its folders"
        case "failed":
            return words.text_in(scan, "error") or "The scan ended early; the server’s log says why."
        case "done" if words.text_in(scan, "error"):
            return str(scan["error"])
        case "done":
            return f"scanned {words.day_and_time(words.moment(scan.get('finished_at')), now)}"
        case _:
            return "A scan begins by itself in a moment."
