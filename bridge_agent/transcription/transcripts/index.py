"""The index of what was said: a transcript's stretches go in whole and come out whole."""

import sqlite3
from collections import Counter
from collections.abc import Sequence

from bridge_agent.store import Queries
from bridge_agent.transcription.transcripts.pairs import JOIN
from bridge_agent.transcription.transcripts.stretches import TAIL, Stretch, indexed

SQL = Queries("bridge_agent.transcription.transcripts", "search.sql")
_ROOM = 20
"""Bits of a stretch's id that count within its transcript: a million stretches, some 1,500 hours."""
_NEWEST = (1 << 31) - 1


def first_id(transcript_id: int) -> int:
    """Return the id of a transcript's first stretch; newer transcripts have smaller ones."""
    return (_NEWEST - transcript_id) << _ROOM


def transcript_of(stretch_id: int) -> int:
    """Return the transcript to which a stretch belongs."""
    return _NEWEST - (stretch_id >> _ROOM)


def add(connection: sqlite3.Connection, transcript_id: int, found: Sequence[Stretch]) -> None:
    """Put a transcript's stretches in, those of the same id before taken out."""
    remove(connection, transcript_id)
    first = first_id(transcript_id)
    said = indexed(found)[: 1 << _ROOM]
    connection.executemany(
        SQL["add_stretch"],
        [
            {"id": first + n, "start_ms": stretch.start, "chapter": stretch.chapter, "text": stretch.text}
            for n, (stretch, _) in enumerate(zip(found, said, strict=False))
        ],
    )
    connection.executemany(
        SQL["index_stretch"], [{"id": first + n, "words": words} for n, words in enumerate(said)]
    )
    connection.executemany(SQL["learn_word"], _counted(said))


def remove(connection: sqlite3.Connection, transcript_id: int) -> None:
    """Take a transcript's stretches out."""
    first = first_id(transcript_id)
    span = {"first": first, "last": first + (1 << _ROOM) - 1}
    rows = connection.execute(SQL["stretches_of"], span).fetchall()
    if not rows:
        return
    said = indexed([Stretch(row["start_ms"], row["chapter"], row["text"]) for row in rows])
    connection.executemany(
        SQL["unindex_stretch"],
        [{"id": row["id"], "words": words} for row, words in zip(rows, said, strict=True)],
    )
    connection.executemany(SQL["unlearn_word"], _counted(said))
    connection.execute(SQL["forget_words"])
    connection.execute(SQL["remove_stretches"], span)


def _counted(said: Sequence[str]) -> list[dict[str, object]]:
    uses = Counter(word for words in said for word in words.split(" ") if word and JOIN not in word)
    # In the order of the words, so that the pages of the vocabulary are walked once.
    return [{"word": word, "uses": uses[word]} for word in sorted(uses)]


__all__ = ["SQL", "TAIL", "add", "first_id", "remove", "transcript_of"]
