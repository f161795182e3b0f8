"""One book: its files in reading order, its chapters, its jobs, and the Verify button."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import quote

from aiohttp import web

from bridge_agent.home.console import transcripts, words
from bridge_agent.home.console.access import field, me, takes_page
from bridge_agent.home.console.asking import NotAsked, ask_verify
from bridge_agent.home.console.library_pages import library_of
from bridge_agent.home.console.pages import go, render
from bridge_agent.home.console.shared import jobs_of_book
from bridge_agent.home.console.transcripts import Offer
from bridge_agent.home.console.views_library import book_line, book_tag
from bridge_agent.home.keys import HOME
from bridge_agent.home.library.model import BookDetails, LibraryInfo
from bridge_agent.protocol.bridge import API

if TYPE_CHECKING:
    from bridge_agent.home.app import HomeServer


@dataclass(frozen=True)
class FileRow:
    """A file of the book; `length` in words."""

    name: str
    length: str
    size: int


@dataclass(frozen=True)
class ChapterRow:
    """A chapter of the book, its times in words."""

    title: str
    begins: str
    length: str


@takes_page()
async def show(request: web.Request) -> web.StreamResponse:
    """GET /libraries/{id}/book?path=."""
    return await book_page(request, library_of(request), request.query.get("path", ""))


@takes_page(admin=True)
async def verify(request: web.Request) -> web.StreamResponse:
    """POST /libraries/{id}/verify: a book of the form's `path`, or the library's sample book (R-097)."""
    library = library_of(request)
    # Browsers send a line break in a field as CR LF, whatever the name on the disk has.
    path = field(request, "path").replace("\r\n", "\n")
    hold = field(request, "hold_seconds").strip()
    try:
        job, code = await ask_verify(request.app[HOME], library.id, path or None, hold)
    except NotAsked as error:
        if path and error.status == HTTPStatus.BAD_REQUEST:
            return await book_page(
                request, library, path, error=error.message, hold=hold, status=error.status
            )
        missing = error.code == "not_found" and not path
        return go(request, f"/libraries/{library.id}", said="no_book" if missing else error.code)
    return go(request, f"/jobs/{job.id}", said=code)


async def book_page(
    request: web.Request,
    library: LibraryInfo,
    path: str,
    *,
    error: str = "",
    hold: str = "",
    offer: Offer | None = None,
    status: int = 200,
) -> web.Response:
    """Render a book's page, after a form that was not taken with what was typed; raises a 404."""
    home = request.app[HOME]
    book = await home.library.details(library.id, path)
    if book is None:
        raise web.HTTPNotFound
    who = me(request)
    context: dict[str, object] = {
        "title": book.item.title,
        "place": "libraries",
        "live": "job",
        "library": library,
        "book": book,
        "by": _by(book),
        "tag": book_tag(book.item.state),
        "state_line": book_line(book.item.state),
        "length": _length(book),
        "cover": _cover(library, book),
        "files": [_file(file.path, file.duration, file.size) for file in book.files],
        "chapters": [
            ChapterRow(c.title, clock_time(c.start), words.long_or_short(int(max(0.0, c.end - c.start))))
            for c in book.chapters
        ],
        "error": error,
        "hold": hold or "0",
    }
    if who is not None and who.admin:
        context |= await _work(home, library.id, path, offer)
    return render(request, "book.html", context, status=status)


async def _work(home: "HomeServer", library_id: int, path: str, offer: Offer | None) -> dict[str, object]:
    """Return what admins see beside a book: its jobs, its transcript, and whether it can be transcribed."""
    bridge = await home.bridge.view()
    return {
        "jobs": await jobs_of_book(home, library_id, path),
        "transcript": await transcripts.transcript_of(home, library_id, path, bridge),
        "transcribe": (offer or transcripts.offer()) if transcripts.offered(bridge) else None,
    }


def clock_time(seconds: float) -> str:
    """Write a place in a book: `0:46`, `1:02:10`."""
    whole = max(0, int(seconds))
    hours, rest = divmod(whole, 3600)
    if hours:
        return f"{hours}:{rest // 60:02d}:{rest % 60:02d}"
    return f"{rest // 60}:{rest % 60:02d}"


def _by(book: BookDetails) -> list[str]:
    item = book.item
    series = "" if item.series == item.author else item.series
    if series and item.sequence:
        series = f"{series}, {item.sequence}"
    narrator = f"read by {book.narrator}" if book.narrator else ""
    return [text for text in (item.author, series, narrator, book.year) if text]


def _length(book: BookDetails) -> str:
    parts = [words.counted(book.item.files, "file")]
    if book.item.duration:
        parts.insert(0, words.long_or_short(int(book.item.duration)))
    return " · ".join(parts)


def _cover(library: LibraryInfo, book: BookDetails) -> str | None:
    return None if book.cover is None else f"{API[1:]}/media/{library.id}/{quote(book.cover)}"


def _file(path: str, duration: float | None, size: int) -> FileRow:
    length = "" if duration is None else words.long_or_short(int(duration))
    return FileRow(words.name_of(path), length, size)


def add_routes(app: web.Application) -> None:
    """Add the book's page and the Verify button's address."""
    app.router.add_get("/libraries/{id}/book", show)
    app.router.add_post("/libraries/{id}/verify", verify)
