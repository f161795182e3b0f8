"""The library index: which books a home server has, where they lie, and the scans that keep this true."""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal

from bridge_agent.base.clock import Clock, to_text
from bridge_agent.base.errors import BridgeError
from bridge_agent.base.tasks import Tasks, cancel_and_wait
from bridge_agent.base.threads import files as file_calls
from bridge_agent.home.library import catalog, media
from bridge_agent.home.library.catalog import SQL
from bridge_agent.home.library.ledger import SQL as SCAN_SQL
from bridge_agent.home.library.model import BookDetails, BookPage, LibraryInfo, MediaFile, Scan
from bridge_agent.home.library.scan import RULES, LibraryScan
from bridge_agent.home.library.walk import Stopped
from bridge_agent.protocol.bridge import Book
from bridge_agent.store import Database, open_database

_log = logging.getLogger(__name__)

OnMoved = Callable[[int, str, str], Awaitable[None]]
OnChanged = Callable[[int], None]

FILE = "library.sqlite3"
_FILE_CALL_S = 10.0


class NoSuchFolder(BridgeError):
    """This folder is not there; give the path of a folder that this machine sees."""

    code = "no_such_folder"


async def _nobody_moved(library_id: int, old_path: str, new_path: str) -> None:
    _log.debug("A book of library %d moved from %s to %s.", library_id, old_path, new_path)


def _nobody_changed(library_id: int) -> None:
    _log.debug("Library %d changed.", library_id)


class LibraryIndex:
    """All libraries of one home server, in a SQLite file of their own.

    `on_moved` is awaited for each book found at another path, again after a crash, until it returns; it must
    be idempotent. `on_changed` is called on the loop when a library's scan or books changed visibly.
    """

    def __init__(self, database: Database, data_dir: Path, clock: Clock, tasks: Tasks) -> None:
        self._database = database
        self._covers = data_dir / "covers"
        self._clock = clock
        self._tasks = tasks
        self._libraries: dict[int, LibraryInfo] = {}
        self._due: set[int] = set()
        self._waiting: dict[int, bool] = {}
        self._worker: asyncio.Task[None] | None = None
        self._scan: LibraryScan | None = None
        self._closed = False
        self.notes: list[str] = []
        self.on_moved: OnMoved = _nobody_moved
        self.on_changed: OnChanged = _nobody_changed

    @classmethod
    async def open(cls, data_dir: Path, clock: Clock, tasks: Tasks) -> "LibraryIndex":
        """Open the index in a data folder; a damaged file is set aside and made anew. Raises BridgeError."""
        opened = await open_database(data_dir / FILE, "bridge_agent.home.library.schema", "NORMAL", clock)
        index = cls(opened.database, data_dir, clock, tasks)
        index.notes = opened.notes
        try:
            await index._load()
        except BaseException:
            await opened.database.close()
            raise
        return index

    async def close(self) -> None:
        """Stop a running scan at once, keeping what it has found so far, and close the file."""
        self._closed = True
        if self._scan is not None:
            self._scan.stop()
        if self._worker is not None:
            await cancel_and_wait(self._worker)
        await self._database.close()

    def libraries(self) -> list[LibraryInfo]:
        """Return all libraries in the order they were added, with their scans as they stand now."""
        return list(self._libraries.values())

    def get(self, library_id: int) -> LibraryInfo | None:
        """Return one library, or None."""
        return self._libraries.get(library_id)

    async def add(self, name: str, root: str | Path) -> LibraryInfo:
        """Add a library without scanning it; raises NoSuchFolder for a root that is no absolute path."""
        text = _tidy_root(root)
        added = {"name": name.strip(), "root": text, "added_at": to_text(self._clock.now())}
        row = await self._database.write(lambda c: c.execute(SQL["add_library"], added).fetchone())
        info = LibraryInfo(id=row["id"], name=added["name"], root=text)
        self._libraries[info.id] = info
        self._due.add(info.id)
        self.on_changed(info.id)
        return info

    async def remove(self, library_id: int) -> bool:
        """Forget a library and its books; nothing on its disk is touched. Tell whether there was one."""
        if self._libraries.pop(library_id, None) is None:
            return False
        self._waiting.pop(library_id, None)
        self._due.discard(library_id)
        if self._scan is not None and self._scan.library_id == library_id:
            self._scan.stop()
        given = {"library_id": library_id}
        await self._database.write(lambda c: c.execute(SQL["remove_library"], given).fetchall())
        self.on_changed(library_id)
        return True

    def request_scan(self, library_id: int, asked: bool = True) -> None:
        """Begin a scan soon; harmless while one runs (another follows it) and for an unknown id.

        `asked` tells that a person wants it: only such a scan believes that most books are really gone.
        """
        info = self._libraries.get(library_id)
        if info is None or self._closed:
            return
        self._waiting[library_id] = asked or self._waiting.get(library_id, False)
        if info.scan.state != "running":
            info.scan = Scan("running", 0, 0, info.scan.finished_at, None)
            self.on_changed(library_id)
        if self._worker is None or self._worker.done():
            self._worker = self._tasks.spawn(self._work(), "library scans")

    def request_due_scans(self) -> None:
        """Scan the libraries that were never scanned to the end: new ones, and those cut short by a stop."""
        for library_id in sorted(self._due):
            self.request_scan(library_id, asked=False)

    def request_all_scans(self) -> None:
        """Scan all libraries, as is done daily."""
        for library_id in list(self._libraries):
            self.request_scan(library_id, asked=False)

    async def tell_moves(self) -> None:
        """Tell `on_moved` of the moves that a crash kept from being told; call it once it is set."""
        for row in await self._database.read(lambda c: c.execute(SQL["moves"]).fetchall()):
            await self.on_moved(row["library_id"], row["old_path"], row["new_path"])
            told = {"id": row["id"]}
            await self._database.write(lambda c, told=told: c.execute(SQL["end_move"], told))  # type: ignore[misc]

    async def settled(self) -> None:
        """Wait until no scan is running or waiting."""
        while self._worker is not None and not self._worker.done():
            await asyncio.shield(self._worker)

    async def books(
        self, library_id: int, q: str = "", after: str | None = None, limit: int = 50
    ) -> BookPage:
        """Return a page of books by title, of those that hold all words of `q`; raises BadCursor."""
        return await self._database.read(lambda c: catalog.page(c, library_id, q, after, limit))

    async def book(self, library_id: int, path: str) -> Book | None:
        """Return a book with its files in reading order, or None where this path is no book's."""
        return await self._database.read(lambda c: catalog.book(c, library_id, path))

    async def sample_book(self, library_id: int) -> Book | None:
        """Return the first whole book among the first five by title (R-097), or None."""
        return await self._database.read(lambda c: catalog.sample(c, library_id))

    async def has_book(self, library_id: int, path: str) -> bool:
        """Tell whether a path is an indexed book's."""
        return await self._database.read(lambda c: catalog.find(c, library_id, path)) is not None

    async def details(self, library_id: int, path: str) -> BookDetails | None:
        """Return everything about a book for its page, or None."""
        return await self._database.read(lambda c: catalog.details(c, library_id, path))

    async def media_file(self, library_id: int, path: str) -> MediaFile | None:
        """Return an indexed audio file or cover that may be served, or None for anything else.

        Raises TimeoutError when the disk does not answer.
        """
        info = self._libraries.get(library_id)
        if info is None or "\0" in path:
            return None
        track, inside = media.split_embedded(path)
        row = await self._database.read(lambda c: catalog.media(c, library_id, track))
        if row is None:
            return None
        if inside:
            return await file_calls.call(_FILE_CALL_S, media.embedded_cover, info.root, row, self._covers)
        return await file_calls.call(_FILE_CALL_S, media.locate, info.root, row["path"])

    async def _tell_what_can_be_told(self) -> None:
        try:
            await self.tell_moves()
        except Exception as error:
            # They are kept and told again at the next scan or start; the scan itself has not failed.
            _log.exception("A moved book's jobs could not follow it yet: %s", error)

    async def _load(self) -> None:
        for row in await self._database.read(lambda c: c.execute(SQL["libraries"]).fetchall()):
            scan = Scan(
                row["scan_state"] or "idle",
                row["scan_files"],
                row["scan_files"],
                row["scan_finished_at"],
                row["scan_error"],
            )
            info = LibraryInfo(row["id"], row["name"], row["root"], row["books"], scan)
            self._libraries[info.id] = info
            if row["scan_state"] is None:
                self._due.add(info.id)

    async def _work(self) -> None:
        while self._waiting and not self._closed:
            library_id = next(iter(self._waiting))
            asked = self._waiting.pop(library_id)
            info = self._libraries.get(library_id)
            if info is not None:
                await self._run_scan(info, asked)

    async def _run_scan(self, info: LibraryInfo, asked: bool) -> None:
        scan = LibraryScan(
            self._database,
            self._clock,
            self._tasks,
            info,
            asked,
            lambda library_id: self.on_changed(library_id),
            self._tell_what_can_be_told,
        )
        self._scan = scan
        state: Literal["done", "failed"] = "done"
        error: str | None = None
        try:
            await self._tell_what_can_be_told()
            error = await scan.run()
        except Stopped:
            return
        except BridgeError as failure:
            state, error = "failed", failure.message
        except Exception as failure:
            if info.id not in self._libraries:
                # Removed in the middle of its scan: there is nothing left to write to.
                return
            _log.exception("The scan of “%s” failed: %s", info.name, failure)
            state, error = (
                "failed",
                "The scan broke off; the log says why, and another scan may well go through.",
            )
        finally:
            self._scan = None
        if info.id not in self._libraries:
            return
        await self._end_scan(info, scan, state, error)

    async def _end_scan(
        self, info: LibraryInfo, scan: LibraryScan, state: Literal["done", "failed"], error: str | None
    ) -> None:
        finished = to_text(self._clock.now())
        total = info.scan.total
        ended = {
            "library_id": info.id,
            "state": state,
            "files": total,
            "finished_at": finished,
            "error": error,
            "doubted": scan.doubted,
            "rules": RULES,
        }
        try:
            await self._database.write(lambda c: c.execute(SCAN_SQL["end_scan"], ended))
            given = {"library_id": info.id}
            counted = await self._database.read(lambda c: c.execute(SQL["count_books"], given).fetchone())
            info.books = counted[0]
            self._due.discard(info.id)
        except BridgeError as failure:
            state, error = "failed", failure.message
        again = info.id in self._waiting
        info.scan = Scan("running" if again else state, total, total, finished, error)
        if error:
            _log.warning("Scan of “%s”: %s", info.name, error)
        self.on_changed(info.id)


def _tidy_root(root: str | Path) -> str:
    """Return a root as it is kept: absolute, without a last slash (A-92), links in it left as they are."""
    text = str(root).strip()
    if not text or "\0" in text or not Path(text).expanduser().is_absolute():
        raise NoSuchFolder(f"“{text}” is no absolute path; give the whole path of the library's folder.")
    return os.path.normpath(Path(text).expanduser())
