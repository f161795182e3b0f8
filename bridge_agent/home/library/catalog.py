"""Questions to the index: units that read books, pages of them, and the files that may be served."""

import base64
import json
import sqlite3
from typing import Any

import msgspec

from bridge_agent.home.library.model import BadCursor, BookDetails, BookItem, BookPage
from bridge_agent.home.library.text import nfc, query_words
from bridge_agent.protocol.bridge import Book, BookFile, Chapter
from bridge_agent.store import Queries

SQL = Queries("bridge_agent.home.library", "catalog.sql")

MOST_BOOKS = 500
# Up to so many hits are fetched and sorted; more are dense enough to be met while walking by title.
_FEW = 2000
_MOST_MATCHED = 6
# The longest prefix that has an index of its own; what follows it is compared afterwards.
_PREFIX = 6


class StoredDetails(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The JSON of `book_details`."""

    subtitle: str = ""
    narrators: list[str] = []
    authors: list[str] = []
    credit: str = ""
    series: list[list[str]] = []
    year: str = ""
    description: str = ""
    language: str = ""
    asin: str = ""
    isbn: str = ""
    cover: str | None = None
    chapters: list[tuple[str, float, float]] = []
    versions: list[str] = []
    notes: list[str] = []


def page(connection: sqlite3.Connection, library_id: int, q: str, after: str | None, limit: int) -> BookPage:
    """Return a page of books by title; raises BadCursor."""
    key, path = _read_cursor(after)
    limit = max(1, min(limit, MOST_BOOKS))
    place = {"library_id": library_id, "after_key": key, "after_path": path, "limit": limit + 1}
    rows = _search(connection, q, place) if q.strip() else _rows(connection, "list_books", place)
    more = len(rows) > limit
    rows = rows[:limit]
    return BookPage(
        [_item(row) for row in rows],
        _cursor(rows[-1]["sort_key"], rows[-1]["path"]) if more else None,
    )


def find(connection: sqlite3.Connection, library_id: int, path: str) -> sqlite3.Row | None:
    """Return a book's row by its path, in whichever Unicode form it is asked for."""
    given = {"library_id": library_id, "path": path, "path_key": nfc(path)}
    row: sqlite3.Row | None = connection.execute(SQL["book_at"], given).fetchone()
    return row or connection.execute(SQL["book_at_key"], given).fetchone()


def book(connection: sqlite3.Connection, library_id: int, path: str) -> Book | None:
    """Return a book for the Bridge, or None for a path that is no book's."""
    row = find(connection, library_id, path)
    return None if row is None else _book(connection, row)


def sample(connection: sqlite3.Connection, library_id: int) -> Book | None:
    """Return the first whole book among the first five by title (R-097)."""
    row = connection.execute(SQL["sample"], {"library_id": library_id}).fetchone()
    return None if row is None else _book(connection, row)


def details(connection: sqlite3.Connection, library_id: int, path: str) -> BookDetails | None:
    """Return everything about a book, or None for a path that is no book's."""
    row = find(connection, library_id, path)
    if row is None:
        return None
    stored = _stored(connection, row["id"])
    return BookDetails(
        item=_item(row),
        files=_tracks(connection, row),
        chapters=_chapters(stored),
        subtitle=stored.subtitle,
        authors=stored.authors,
        credit=stored.credit,
        narrator=row["narrator"],
        year=stored.year,
        description=stored.description,
        language=stored.language,
        asin=stored.asin,
        isbn=stored.isbn,
        cover=stored.cover,
        versions=stored.versions,
        notes=stored.notes,
    )


def media(connection: sqlite3.Connection, library_id: int, path: str) -> sqlite3.Row | None:
    """Return the row of an indexed track or cover, by its path in whichever Unicode form."""
    for name, wanted in (("media_at", path), ("media_at", nfc(path)), ("media_at_key", nfc(path))):
        given = {"library_id": library_id, "path": wanted}
        row: sqlite3.Row | None = connection.execute(SQL[name], given).fetchone()
        if row is not None:
            return row
    return None


def _search(connection: sqlite3.Connection, q: str, place: dict[str, Any]) -> list[sqlite3.Row]:
    wanted = query_words(q)
    if not wanted:
        return []
    match = " AND ".join(f'"{word[:_PREFIX]}"*' for word in wanted)
    found = connection.execute(SQL["search_ids"], {"match": match, "limit": _FEW + 1}).fetchall()
    needles = {f"w{i}": "" for i in range(_MOST_MATCHED)}
    needles |= {f"w{i}": f" {word}" for i, word in enumerate(wanted[:_MOST_MATCHED])}
    if len(found) > _FEW:
        return _rows(connection, "list_matching", place | needles)
    return _rows(connection, "list_found", place | needles | {"ids": json.dumps([row[0] for row in found])})


def _rows(connection: sqlite3.Connection, name: str, given: dict[str, Any]) -> list[sqlite3.Row]:
    return connection.execute(SQL[name], given).fetchall()


def _book(connection: sqlite3.Connection, row: sqlite3.Row) -> Book:
    return Book(
        library_id=row["library_id"],
        path=row["path"],
        title=row["title"],
        author=row["author"],
        files=_tracks(connection, row),
        chapters=_chapters(_stored(connection, row["id"])),
    )


def _tracks(connection: sqlite3.Connection, row: sqlite3.Row) -> list[BookFile]:
    given = {"book_id": row["id"], "missing": row["state"] == "missing"}
    rows = connection.execute(SQL["tracks_of"], given).fetchall()
    return [BookFile(path=r["path"], size=r["size"], duration=r["duration"]) for r in rows]


def _stored(connection: sqlite3.Connection, book_id: int) -> StoredDetails:
    row = connection.execute(SQL["details_of"], {"book_id": book_id}).fetchone()
    return StoredDetails() if row is None else msgspec.json.decode(row["details"], type=StoredDetails)


def _chapters(stored: StoredDetails) -> list[Chapter]:
    return [Chapter(title=title, start=start, end=end) for title, start, end in stored.chapters]


def _item(row: sqlite3.Row) -> BookItem:
    return BookItem(
        path=row["path"],
        title=row["title"],
        author=row["author"],
        series=row["series"],
        sequence=row["sequence"],
        duration=row["duration"],
        size=row["size"],
        files=row["files"],
        state=row["state"],
    )


def _cursor(key: str, path: str) -> str:
    raw = json.dumps([key, path], ensure_ascii=False, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _read_cursor(text: str | None) -> tuple[str, str]:
    if not text:
        return "", ""
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        key, path = msgspec.json.decode(raw, type=tuple[str, str])
    except (ValueError, msgspec.MsgspecError) as error:
        raise BadCursor from error
    return key, path
