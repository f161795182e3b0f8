"""A query as FTS5 reads it, written from folded words alone: nothing a person types is ever its syntax."""

import sqlite3
from collections.abc import Sequence

from bridge_agent.transcription.transcripts.index import SQL, TAIL
from bridge_agent.transcription.transcripts.pairs import cover, pair_of, pairs
from bridge_agent.transcription.transcripts.query import Query, Term

INDEXED_PHRASE = TAIL + 1
"""Words of a phrase that the index surely holds together; what follows is compared with the text."""
_MEANINGS = 120
"""As many words as a beginning can mean, the commonest ones."""
_MEANINGS_BESIDE = 60
"""As many where other words must be there too: each step of that search asks for all of them."""


def written(connection: sqlite3.Connection, query: Query) -> str | None:
    """Return the query for `MATCH`; None where it has no words, or one that is never said.

    It may let through a little too much, never too little.
    """
    parts = []
    for term in query.terms:
        part = _term(connection, term, _MEANINGS if len(query.terms) == 1 else _MEANINGS_BESIDE)
        if part is None:
            return None
        parts.append(part)
    return " AND ".join(parts) or None


def _term(connection: sqlite3.Connection, term: Term, most: int) -> str | None:
    whole = term.words[:-1] if term.beginning else term.words
    if any(connection.execute(SQL["known_word"], {"word": word}).fetchone() is None for word in whole):
        return None
    if not term.beginning or len(whole) >= INDEXED_PHRASE:
        return _phrase(whole[:INDEXED_PHRASE])
    first = term.words[-1]
    span = {"first": first, "after": first + "\U0010ffff", "limit": most}
    meanings = [row["word"] for row in connection.execute(SQL["words_like"], span)]
    if not meanings:
        return None
    if not whole:
        return "(" + " OR ".join(_quoted(word) for word in meanings) + ")"
    ends = " OR ".join(_phrase((whole[-1], word)) for word in meanings)
    return f"{_phrase(whole)} AND ({ends})" if len(whole) > 1 else f"({ends})"


def _phrase(said: Sequence[str]) -> str:
    """Write a phrase, by pairs where it has any."""
    if len(said) == 2 and (pair := pair_of(*said)):
        return _quoted(pair)
    if pairs(said):
        return "(" + " AND ".join(_quoted(word) for word in cover(said)) + ")"
    return _quoted(" ".join(said))


def _quoted(words: str) -> str:
    return f'"{words}"'
