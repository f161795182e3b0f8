"""The search across all transcripts: from the newest to the oldest, and through each book in order."""

import base64
import binascii
import itertools
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bridge_agent.base.errors import BridgeError
from bridge_agent.transcription.formats.breaks import unspaced_end
from bridge_agent.transcription.transcripts.fold import found, words
from bridge_agent.transcription.transcripts.index import SQL, TAIL, transcript_of
from bridge_agent.transcription.transcripts.match import INDEXED_PHRASE, written
from bridge_agent.transcription.transcripts.query import Query
from bridge_agent.transcription.transcripts.snippets import Piece, look, marked_up, pieces

MOST = 100
"""As many hits as a page has at most."""
_FOLLOWING = 7


class BadCursor(BridgeError):
    """This page of the search no longer exists; search again."""

    code = "bad_cursor"


@dataclass(frozen=True)
class Hit:
    """A place in a book: `start` in seconds, `pieces` its text in marked and plain stretches."""

    transcript_id: int
    title: str
    author: str
    chapter: str
    start: float
    pieces: tuple[Piece, ...]

    def wire(self) -> dict[str, object]:
        """Return the hit as the wire has it; the snippet is safe as HTML."""
        return {
            "transcript_id": self.transcript_id,
            "title": self.title,
            "author": self.author,
            "chapter": self.chapter,
            "start": self.start,
            "snippet": marked_up(self.pieces),
        }


@dataclass(frozen=True)
class Hits:
    """A page of hits; `next_after` asks for the next one, None at the end."""

    hits: tuple[Hit, ...]
    next_after: str | None

    def wire(self) -> dict[str, object]:
        """Return the answer of `GET /api/search`."""
        return {"hits": [hit.wire() for hit in self.hits], "next_after": self.next_after}


def search(connection: sqlite3.Connection, query: Query, after: str | None, limit: int) -> Hits:
    """Return a page of hits. Words that nobody says whole are looked for as beginnings.

    Raises BadCursor for a cursor that this did not make.
    """
    wide, place = _read(after)
    limit = max(1, min(limit, MOST))
    wider = query.widened() or query
    if wide:
        return _page(connection, wider, place, limit, wide=True)
    page = _page(connection, query, place, limit, wide=False)
    if page.hits or after is not None or wider == query:
        return page
    return _page(connection, wider, 0, limit, wide=True)


def _page(connection: sqlite3.Connection, query: Query, after: int, limit: int, *, wide: bool) -> Hits:
    match = written(connection, query)
    if match is None:
        return Hits((), None)
    hits: list[tuple[int, Hit]] = []
    for stretch in _matching(connection, match, after, limit + 1):
        if hit := _hit(connection, query, stretch):
            hits.append((stretch, hit))
        if len(hits) > limit:
            return Hits(tuple(hit for _, hit in hits[:limit]), _written(wide, hits[limit - 1][0]))
    return Hits(tuple(hit for _, hit in hits), None)


def _matching(connection: sqlite3.Connection, match: str, after: int, batch: int) -> Iterator[int]:
    while True:
        given = {"match": match, "after": after, "limit": batch}
        rows = connection.execute(SQL["find"], given).fetchall()
        for row in rows:
            yield row["rowid"]
        if len(rows) < batch:
            return
        after = rows[-1]["rowid"]


def _hit(connection: sqlite3.Connection, query: Query, stretch: int) -> Hit | None:
    """Return the hit at a stretch; None where the words stand in the next one, which is a hit by itself."""
    rows = connection.execute(SQL["stretch"], {"id": stretch, "more": _FOLLOWING}).fetchall()
    texts = [
        row["text"] for row in itertools.takewhile(lambda row: row["chapter"] == rows[0]["chapter"], rows)
    ]
    if not texts:
        return None
    own = list(found(texts[0]))
    longest = max(len(term.words) for term in query.terms)
    seen = look(query, own, _following(texts[1:], TAIL if longest <= INDEXED_PHRASE else longest))
    if not (seen.begins_here and seen.complete):
        return None
    if len(query.terms) > 1 and not seen.inside and _said_in(query, texts[1:2]):
        return None
    transcript_id = transcript_of(stretch)
    whose = connection.execute(
        SQL["place"], {"transcript_id": transcript_id, "chapter": rows[0]["chapter"]}
    ).fetchone()
    if whose is None:
        return None
    return Hit(
        transcript_id=transcript_id,
        title=whose["title"],
        author=whose["author"],
        chapter=whose["chapter"] or "",
        start=rows[0]["start_ms"] / 1000,
        pieces=_shown(texts, seen.marked),
    )


def _said_in(query: Query, texts: Sequence[str]) -> bool:
    return any(look(query, list(found(text)), ()).inside for text in texts)


def _following(texts: Sequence[str], most: int) -> list[str]:
    said: list[str] = []
    for text in texts:
        said += words(text)
        if len(said) >= most:
            break
    return said[:most]


def _shown(texts: Sequence[str], marked: frozenset[int]) -> tuple[Piece, ...]:
    """Return as many stretches as hold the marked words."""
    text = texts[0]
    own = list(found(text))
    for following in texts[1:]:
        if max(marked) < len(own):
            break
        text += ("" if unspaced_end(text) else " ") + following
        own = list(found(text))
    return pieces(text, own, marked)


def _written(wide: bool, stretch: int) -> str:
    raw = f"{'w' if wide else 'x'}{stretch:x}"
    return base64.urlsafe_b64encode(raw.encode("ascii")).decode("ascii").rstrip("=")


def _read(after: str | None) -> tuple[bool, int]:
    if after is None:
        return False, 0
    try:
        raw = base64.urlsafe_b64decode(after + "=" * (-len(after) % 4)).decode("ascii")
        if raw[:1] not in ("w", "x") or len(raw) > 17:
            raise BadCursor
        return raw[0] == "w", int(raw[1:], 16)
    except (binascii.Error, UnicodeError, ValueError):
        raise BadCursor from None
