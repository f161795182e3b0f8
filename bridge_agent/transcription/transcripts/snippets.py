"""Snippets: the text of a hit with the words that were looked for marked in it."""

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bridge_agent.transcription.transcripts.fold import Found
from bridge_agent.transcription.transcripts.query import Query, Term

Piece = tuple[str, bool]
"""A stretch of text, and whether it is marked."""


@dataclass(frozen=True)
class Seen:
    """Which words of a stretch and what follows it a query means, by number.

    `begins_here` says whether any of it begins in the stretch itself, `complete` whether all of it is said,
    `inside` whether all of it is said in the stretch itself.
    """

    marked: frozenset[int]
    begins_here: bool
    complete: bool
    inside: bool


def look(query: Query, own: Sequence[Found], following: Sequence[str]) -> Seen:
    """Find a query's words in a stretch's own words and in those that follow it."""
    said = [*(each.word for each in own), *following]
    marked: set[int] = set()
    here, complete, inside = False, True, True
    for term in query.terms:
        begins = list(_places(term, said))
        complete = complete and bool(begins)
        here = here or any(begin < len(own) for begin in begins)
        inside = inside and any(begin + len(term.words) <= len(own) for begin in begins)
        for begin in begins:
            marked.update(range(begin, begin + len(term.words)))
    return Seen(frozenset(marked), here, complete, inside)


def pieces(text: str, own: Sequence[Found], marked: frozenset[int]) -> tuple[Piece, ...]:
    """Cut a text into marked and plain stretches; neighbouring marked words are one."""
    cut: list[Piece] = []
    at = 0
    numbers = [n for n in sorted(marked) if n < len(own)]
    while numbers:
        first = last = numbers.pop(0)
        while numbers and numbers[0] == last + 1:
            last = numbers.pop(0)
        start, end = own[first].start, own[last].end
        if start > at:
            cut.append((text[at:start], False))
        cut.append((text[start:end], True))
        at = end
    if at < len(text):
        cut.append((text[at:], False))
    return tuple(cut)


def marked_up(cut: Sequence[Piece]) -> str:
    """Return the wire's snippet: safe as HTML, marked words in `<mark>`."""
    return "".join(
        f"<mark>{html.escape(text, quote=False)}</mark>" if mark else html.escape(text, quote=False)
        for text, mark in cut
    )


def _places(term: Term, said: Sequence[str]) -> Iterator[int]:
    first, length = term.words[0], len(term.words)
    for place in range(len(said) - length + 1):
        if length > 1 and said[place] != first:
            continue
        if tuple(said[place : place + length - 1]) != term.words[:-1]:
            continue
        last = said[place + length - 1]
        if last == term.words[-1] or (term.beginning and last.startswith(term.words[-1])):
            yield place
