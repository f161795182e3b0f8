"""One mapping check: is the root seen, are the sample book's files there, and if not, where else are they?"""

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from bridge_agent.base.clock import Clock, to_text
from bridge_agent.base.errors import BridgeError
from bridge_agent.link.errors import Rejected
from bridge_agent.mapping import sight
from bridge_agent.mapping.compare import LIMIT_S, Comparison, Findings
from bridge_agent.mapping.proposals import Search
from bridge_agent.mapping.sight import Sight
from bridge_agent.mapping.views import Outcome, Proposal
from bridge_agent.protocol.bridge import MAX_VERIFY_FILES, Book, Library


class Books(Protocol):
    """Whom to ask for the sample book."""

    async def book(self, library_id: int, path: str | None) -> Book:
        """Return the library's sample book without a path; raises BridgeError."""
        ...


class Checker:
    """Checks where a library is; nothing is ever written, `writable` is what the system says of the root."""

    def __init__(self, books: Books, clock: Clock, search: Search, limit_s: float = LIMIT_S) -> None:
        """Take whom to ask and where to search; a folder silent for `limit_s` seconds counts as dead."""
        self._books = books
        self._clock = clock
        self._search = search
        self._limit_s = limit_s

    async def check(self, library: Library, path: str, near: Iterable[Path] = ()) -> tuple[Outcome, bool]:
        """Check a library at a path; return what was found, and whether the check could be finished.

        It can't where the folder is there but the server gives no list to compare it with.
        """
        root = Path(path)
        seen = await sight.look(root, self._limit_s)
        book, away = await self._sample(library)
        findings, error = Findings([], {}), None
        if seen.why is not None:
            error = sight.not_seen(library, seen.why).message
        elif away is not None:
            error = f"The folder {path} is here, but the server gave no files to compare it with: {away}"
        elif book is not None:
            findings, error = await self._compare(library, root, book)
        if error is None and not seen.readable:
            error = (
                f"The folder {path} can’t be listed by the user this program runs as; give that user the "
                "right to read it, then check again."
            )
        proposals: list[Proposal] = []
        if error is not None and book is not None:
            proposals = await self._propose(seen, book, near)
        outcome = self._outcome(library, path, seen, book, findings, error, proposals)
        return outcome, away is None or not seen.seen

    async def _sample(self, library: Library) -> tuple[Book | None, str | None]:
        """Return the sample book, None for a library without books; or why the server does not give it."""
        try:
            return await self._books.book(library.id, None), None
        except Rejected as error:
            return (None, None) if error.status == 404 else (None, error.message)
        except BridgeError as error:
            return None, error.message

    async def _compare(self, library: Library, root: Path, book: Book) -> tuple[Findings, str | None]:
        files = book.files[:MAX_VERIFY_FILES]
        try:
            findings = await Comparison(root, self._clock, self._limit_s).run(files)
            await sight.still_there(library, root, findings, self._limit_s)
        except BridgeError as error:
            return Findings([], {}), error.message
        except OSError as error:
            why = f"the folder {root} can’t be resolved ({error.strerror or error})"
            return Findings([], {}), sight.not_seen(library, why).message
        if not findings.wrong:
            return findings, None
        first = findings.wrong[0]
        return findings, (
            f"{findings.matched} of {findings.total} files of the sample book {book.path} match here, "
            f"{first.file.path} does not ({first.error}); set where this machine sees the library, or scan "
            "it on the server, then check again."
        )

    async def _propose(self, seen: Sight, book: Book, near: Iterable[Path]) -> list[Proposal]:
        starts = [Path(seen.deepest_existing)] if seen.deepest_existing else []
        starts += [place for path in near for place in (path.parent, path.parent.parent)]
        # The root of all is walked last anyway.
        starts = [start for start in starts if start != start.parent]
        found = await self._search.run(book.files, starts)
        return [proposal for proposal in found if proposal.path != str(seen.path)]

    def _outcome(
        self,
        library: Library,
        path: str,
        seen: Sight,
        book: Book | None,
        findings: Findings,
        error: str | None,
        proposals: list[Proposal],
    ) -> Outcome:
        return Outcome(
            library_id=library.id,
            path=path,
            ok=error is None,
            readable=seen.readable,
            writable=seen.writable,
            checked_at=to_text(self._clock.now()),
            files_checked=findings.total,
            files_matched=findings.matched,
            sample_path=None if book is None else book.path,
            error=error,
            deepest_existing=seen.deepest_existing,
            hint=seen.hint,
            proposals=proposals,
        )
