"""The ledger: units by which a scan reads what the index knew and writes what it found."""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from bridge_agent.home.library.assembly import Assembled
from bridge_agent.home.library.facts import File, Sidecar, Tags
from bridge_agent.home.library.kinds import kind_of
from bridge_agent.home.library.matching import Known, Track
from bridge_agent.home.library.plan import Plan, Put
from bridge_agent.home.library.text import nfc
from bridge_agent.store import Queries

SQL = Queries("bridge_agent.home.library", "scan.sql")

_tags = msgspec.json.Decoder(Tags)
_sidecar = msgspec.json.Decoder(Sidecar)


def known_files(
    connection: sqlite3.Connection, library_id: int, after: str, limit: int
) -> list[tuple[str, int, int, int, int, int | None]]:
    """Return a stretch of (path, size, mtime_ns, grouped, track, book_id), by path after `after`."""
    given = {"library_id": library_id, "after": after, "limit": limit}
    return [tuple(row) for row in connection.execute(SQL["known_files"], given)]


def files_on(connection: sqlite3.Connection, library_id: int, names: Iterable[str]) -> list[File]:
    """Return all files of some shelves with what was read of them."""
    found = []
    for name in names:
        for row in connection.execute(SQL["files_at"], {"library_id": library_id, "name": name}):
            found.append(_file(row))
    return found


def books_on(connection: sqlite3.Connection, library_id: int, names: Iterable[str]) -> list[Known]:
    """Return the known books of some shelves with their tracks."""
    rows = []
    for name in names:
        rows += connection.execute(SQL["books_at"], {"library_id": library_id, "name": name}).fetchall()
    return _with_tracks(connection, rows)


def books_with(connection: sqlite3.Connection, ids: Iterable[int]) -> list[Known]:
    """Return the books with the given ids with their tracks."""
    given = {"ids": json.dumps(sorted(ids))}
    return _with_tracks(connection, connection.execute(SQL["books_by_id"], given).fetchall())


def missing_books(connection: sqlite3.Connection, library_id: int) -> list[Known]:
    """Return the books that are missing with the tracks they had."""
    rows = connection.execute(SQL["missing_books"], {"library_id": library_id}).fetchall()
    return _with_tracks(connection, rows)


def put_facts(connection: sqlite3.Connection, library_id: int, files: Iterable[File]) -> None:
    """Keep what was read of new and changed files."""
    rows = []
    for file in files:
        facts = file.tags or file.sidecar
        key = nfc(file.path)
        rows.append(
            {
                "library_id": library_id,
                "path": file.path,
                "path_key": None if key == file.path else key,
                "size": file.size,
                "mtime_ns": file.mtime_ns,
                "facts": None if facts is None else msgspec.json.encode(facts).decode(),
                "duration": file.duration,
            }
        )
    connection.executemany(SQL["put_facts"], rows)


def write_moves(connection: sqlite3.Connection, library_id: int, plan: Plan) -> None:
    """Write what moved and what was given up, with the moves for the jobs, in one go."""
    deleted = [{"id": book_id} for book_id in plan.deleted]
    moved = [{"id": put.id} for put in plan.moved if put.id is not None]
    connection.executemany(SQL["part_book"], deleted + moved)
    connection.executemany(SQL["delete_book"], deleted)
    connection.executemany(SQL["park_book"], moved)
    for put in plan.moved:
        _put_book(connection, library_id, put)
    told = [{"library_id": library_id, "old_path": old, "new_path": new} for old, new in plan.moves]
    connection.executemany(SQL["put_move"], told)


def write_books(
    connection: sqlite3.Connection, library_id: int, puts: Sequence[Put], digests: dict[int, str]
) -> None:
    """Write books with their files; `digests` holds those by id of what stands there already."""
    for put in puts:
        if put.id is None or digests.get(put.id) != put.digest:
            _put_book(connection, library_id, put)
        else:
            _put_roles(connection, library_id, put.id, put)


def write_rest(connection: sqlite3.Connection, library_id: int, plan: Plan) -> None:
    """Write down that the other files of the shelves belong to no book, and forget those that are gone."""
    free = [{"library_id": library_id, "path": path} for path in plan.free]
    connection.executemany(SQL["part_file"], free)
    gone = [{"library_id": library_id, "path": path} for path in plan.forgotten]
    connection.executemany(SQL["forget_file"], gone)


def miss(connection: sqlite3.Connection, ids: Iterable[int]) -> int:
    """Mark books as missing, keeping the tracks they had; return how many were not so before."""
    count = 0
    for book_id in ids:
        given = {"id": book_id}
        count += len(connection.execute(SQL["miss_book"], given).fetchall())
        connection.execute(SQL["miss_tracks"], given)
        connection.execute(SQL["forget_rest"], given)
    return count


def _put_book(connection: sqlite3.Connection, library_id: int, put: Put) -> None:
    values = _values(library_id, put)
    if put.id is None:
        book_id = int(connection.execute(SQL["insert_book"], values).fetchone()[0])
    else:
        book_id = put.id
        connection.execute(SQL["update_book"], values | {"id": book_id})
    details = msgspec.json.encode(put.book.details).decode()
    connection.execute(SQL["put_details"], {"id": book_id, "details": details})
    connection.execute(SQL["unput_words"], {"id": book_id})
    connection.execute(SQL["put_words"], {"id": book_id, "words": put.book.words})
    _put_roles(connection, library_id, book_id, put)


def _put_roles(connection: sqlite3.Connection, library_id: int, book_id: int, put: Put) -> None:
    roles = [
        {"library_id": library_id, "path": file.path, "book_id": book_id, "role": role, "position": position}
        for file, role, position in put.book.roles
    ]
    connection.executemany(SQL["put_role"], roles)
    lost = [{"library_id": library_id, "path": path} for path in put.lost]
    connection.executemany(SQL["lose_file"], lost)


def _values(library_id: int, put: Put) -> dict[str, Any]:
    book: Assembled = put.book
    return {
        "library_id": library_id,
        "path": book.path,
        "path_key": book.path_key,
        "title": book.title,
        "author": book.author,
        "series": book.series,
        "sequence": book.sequence,
        "narrator": book.narrator,
        "sort_key": book.sort_key,
        "words": book.words,
        "duration": book.duration,
        "size": book.size,
        "files": len(book.tracks),
        "state": put.state,
        "evidence": book.evidence,
        "digest": put.digest,
    }


def _file(row: sqlite3.Row) -> File:
    facts, path = row["facts"], row["path"]
    kind = kind_of(path.rpartition("/")[2])
    return File(
        path,
        row["size"],
        row["mtime_ns"],
        tags=_tags.decode(facts) if facts and kind == "audio" else None,
        sidecar=_sidecar.decode(facts) if facts and kind == "sidecar" else None,
    )


def _with_tracks(connection: sqlite3.Connection, rows: Sequence[sqlite3.Row]) -> list[Known]:
    tracks: dict[int, list[Track]] = {}
    given = {"ids": json.dumps([row["id"] for row in rows])}
    for row in connection.execute(SQL["tracks_by_id"], given) if rows else ():
        track = Track(row["path"], row["size"], row["duration"], bool(row["present"]), row["sound"])
        tracks.setdefault(row["book_id"], []).append(track)
    return [Known(**dict(row), tracks=tuple(tracks.get(row["id"], ()))) for row in rows]
