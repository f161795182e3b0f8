"""Asking the server for a book: again while it is away for a moment, in plain words where it knows none."""

import re
from typing import Protocol

from bridge_agent.base.clock import Clock
from bridge_agent.base.errors import BridgeError
from bridge_agent.link.errors import Rejected, ServerAway
from bridge_agent.protocol.bridge import Book
from bridge_agent.protocol.text import cut

PAUSES_S = (1.0, 2.0, 4.0, 8.0, 15.0)
PASSING = frozenset({"unreachable", "busy", "not_ready", "redirected", "not_a_server"})
"""What may be over in a moment; anything else is final."""

_TRIES_AGAIN = re.compile(
    r"(?<=\.) The Bridge tries again by itself\.|; the Bridge tries again by itself(?=\.)"
)


class NoList(BridgeError):
    """The server gave no list of the book’s files; queue the job anew when it answers again."""

    code = "no_list"


class BookUnknown(BridgeError):
    """The server does not know the book any more; scan the library on the server, then queue the job anew."""

    code = "not_found"


class Books(Protocol):
    """Whom to ask for a book's files."""

    async def book(self, library_id: int, path: str | None) -> Book:
        """Return a book, the library's sample book without a path; raises BridgeError."""
        ...


async def ask_for_book(books: Books, clock: Clock, library_id: int, path: str | None) -> Book:
    """Return a book; raises BookUnknown, NoList for a server that stays away, and as `book` does."""
    for pause in PAUSES_S:
        try:
            return await _ask(books, library_id, path)
        except ServerAway as away:
            if away.kind not in PASSING:
                raise _no_list(away) from away
            await clock.sleep(min(max(pause, away.retry_after or 0.0), PAUSES_S[-1]))
    try:
        return await _ask(books, library_id, path)
    except ServerAway as away:
        raise _no_list(away) from away


def _no_list(away: ServerAway) -> NoList:
    """Word why there is no book to work on: unlike the link, a job that failed is not tried again."""
    why = _TRIES_AGAIN.sub("", away.message)
    return NoList(f"The server gave no list of the book’s files, so queue the job anew later. {why}")


async def _ask(books: Books, library_id: int, path: str | None) -> Book:
    try:
        return await books.book(library_id, path)
    except Rejected as error:
        if error.status == 404:
            raise BookUnknown(
                f"The server does not know the book {cut(path or '', 400)} any more ({error.message}); "
                "scan the library on the server, then queue the job anew."
            ) from error
        raise
