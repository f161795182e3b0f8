"""The rows of kept transcripts, as units of work over the store."""

import sqlite3
from collections.abc import Sequence

import msgspec

from bridge_agent.store import Queries
from bridge_agent.transcription.transcripts import index
from bridge_agent.transcription.transcripts.fold import words
from bridge_agent.transcription.transcripts.kept import Kept
from bridge_agent.transcription.transcripts.stretches import Stretch

SQL = Queries("bridge_agent.transcription.transcripts", "transcripts.sql")


def kept(row: sqlite3.Row) -> Kept:
    """Return the entry of a row of the list."""
    return msgspec.structs.replace(msgspec.json.decode(row["entry"], type=Kept), id=row["id"])


def row(connection: sqlite3.Connection, query: str, **given: object) -> tuple[Kept, str] | None:
    """Return the entry and the folder that a query names, None where there is no such row."""
    found = connection.execute(SQL[query], given).fetchone()
    return None if found is None else (kept(found), found["folder"])


def put(
    connection: sqlite3.Connection,
    folder: str,
    reuse_key: str,
    made: Kept,
    titles: Sequence[str],
    found: Sequence[Stretch],
) -> Kept:
    """Keep a row with all that finds it, in place of one of the same reuse key; return it with its id."""
    given = {
        "reuse_key": reuse_key,
        "folder": folder,
        "title": made.title,
        "author": made.author,
        "words": " ".join(words(f"{made.title} {made.author} {made.path}")),
        "entry": msgspec.json.encode(made),
    }
    transcript_id = int(connection.execute(SQL["put"], given).fetchone()["id"])
    connection.execute(SQL["remove_chapters"], {"transcript_id": transcript_id})
    connection.executemany(
        SQL["add_chapter"],
        [{"transcript_id": transcript_id, "number": n, "title": title} for n, title in enumerate(titles)],
    )
    index.add(connection, transcript_id, found)
    return msgspec.structs.replace(made, id=transcript_id)


def remove(connection: sqlite3.Connection, transcript_id: int) -> None:
    """Forget a row and all that finds it."""
    index.remove(connection, transcript_id)
    connection.execute(SQL["remove"], {"id": transcript_id})
