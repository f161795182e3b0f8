"""A book's files as this machine sees them: found, compared, their real paths known."""

from dataclasses import dataclass
from pathlib import Path

from bridge_agent.base.clock import Clock
from bridge_agent.base.errors import BridgeError
from bridge_agent.base.threads import files as disk
from bridge_agent.jobs.handlers.asking import Books, ask_for_book
from bridge_agent.jobs.handlers.base import AttentionNeeded, JobContext
from bridge_agent.jobs.handlers.comparing import compare_files
from bridge_agent.jobs.handlers.verify import ASKING, FINDING, Places
from bridge_agent.mapping import sight
from bridge_agent.mapping.compare import LIMIT_S, Findings, NoAnswer
from bridge_agent.mapping.resolve import NOT_HERE, Finder, NotHere
from bridge_agent.protocol.bridge import Book, Library
from bridge_agent.protocol.text import cut
from bridge_agent.transcription.pipeline.order import SourceFile

_LOOK_S = 5.0
_NAME_BYTES = 200


class FilesMissing(BridgeError):
    """Some of the book’s files are not here; scan the library on the server, then queue the job anew."""

    code = "files_missing"


@dataclass(frozen=True)
class Source:
    """A book with its files here, in reading order, and what is odd about them."""

    book: Book
    files: tuple[SourceFile, ...]
    folder: Path
    stem: str
    """What files beside the book are named after."""
    warnings: tuple[str, ...] = ()


class Sources:
    """Finds the files of the books that jobs are about."""

    def __init__(self, places: Places, books: Books, clock: Clock, limit_s: float = LIMIT_S) -> None:
        """Take the rooms it asks; a folder that gives no answer for `limit_s` seconds counts as dead."""
        self._places = places
        self._books = books
        self._clock = clock
        self._limit_s = limit_s

    async def find(self, job: JobContext) -> Source:
        """Go through the steps mapping, lookup and stat.

        Raises AttentionNeeded for a library that is not seen now (it goes on when it is), FilesMissing, and
        what the server's answers raise.
        """
        job.progress("mapping", FINDING)
        library, root = await self._places.place_of(job.library_id)
        job.progress("lookup", ASKING)
        book = await ask_for_book(self._books, self._clock, job.library_id, job.path or None)
        if not book.files:
            raise FilesMissing(
                "The server lists no audio files of this book; scan the library there, then queue it anew."
            )
        findings = await self._compare(job, library, root, book)
        missing = [one for one in findings.wrong if one.seen.error is not None]
        if missing:
            first = missing[0]
            raise FilesMissing(
                f"{len(missing)} of the book’s {findings.total} files can’t be read here, the first is "
                f"{cut(first.file.path, _NAME_BYTES)} ({first.error}); mend that, or scan the library on the "
                "server, then queue the job anew."
            )
        return await self._real(root, book, findings)

    async def _compare(self, job: JobContext, library: Library, root: Path, book: Book) -> Findings:
        try:
            return await compare_files(job, library, root, book, self._clock, self._limit_s)
        except (sight.NotSeen, NoAnswer) as away:
            raise AttentionNeeded(away.message, lambda: self._seen(library.id)) from away
        except OSError as error:
            why = f"the folder {root} can’t be resolved ({error.strerror or error})"
            raise AttentionNeeded(
                sight.not_seen(library, why).message, lambda: self._seen(library.id)
            ) from error

    async def _seen(self, library_id: int) -> None:
        """Wait until the library is seen, where the mapping says by then that it is."""
        while True:
            await self._clock.sleep(_LOOK_S)
            _, root = await self._places.place_of(library_id)
            if (await sight.look(root, self._limit_s)).seen:
                return

    async def _real(self, root: Path, book: Book, findings: Findings) -> Source:
        paths = await disk.call(self._limit_s, _real_paths, root, book)
        single = len(book.files) == 1 and book.files[0].path == book.path
        files = tuple(
            SourceFile(
                path=path,
                relative=_within(file.path, book.path, single),
                expected_s=file.duration,
            )
            for file, path in zip(book.files, paths, strict=True)
        )
        first = Path(paths[0])
        return Source(
            book=book,
            files=files,
            folder=first.parent,
            stem=first.stem if single else first.parent.name,
            warnings=tuple(
                f"{cut(one.file.path, _NAME_BYTES)} is not as the server has scanned it ({one.error}); "
                "it was transcribed as it is here."
                for one in findings.wrong
            ),
        )


def _real_paths(root: Path, book: Book) -> list[Path]:
    finder = Finder(root)
    found = []
    for file in book.files:
        try:
            found.append(Path(finder.file(file.path)[0].path))
        except (NotHere, OSError) as error:
            raise FilesMissing(
                f"The book’s file {cut(file.path, _NAME_BYTES)} went away while it was looked at "
                f"({NOT_HERE if isinstance(error, NotHere) else error}); queue the job anew."
            ) from error
    return found


def _within(path: str, book: str, single: bool) -> str:
    """Return a file's path within its book: a book that moves keeps its transcript byte for byte."""
    if single:
        return path.rpartition("/")[2]
    return path.removeprefix(f"{book}/") if book else path
