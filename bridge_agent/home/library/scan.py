"""A scan of one library: finds new, changed, moved and gone books; reads no unchanged file again.

The walk, the reading and the sorting run in threads, what is found is written in batches, and what a scan
has read it never reads again, however it ends.
"""

import asyncio
import logging
import os
import threading
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

from bridge_agent.base.clock import Clock
from bridge_agent.base.errors import BridgeError
from bridge_agent.base.tasks import Tasks
from bridge_agent.base.threads import TooManyStuck, in_thread
from bridge_agent.base.threads import files as file_calls
from bridge_agent.home.library import ledger
from bridge_agent.home.library.assembly import Assembled, assemble
from bridge_agent.home.library.changes import Changes, KnownFile, Shelf, batches, compare, shelf_of
from bridge_agent.home.library.facts import File
from bridge_agent.home.library.grouping import group
from bridge_agent.home.library.kinds import kind_of
from bridge_agent.home.library.ledger import SQL
from bridge_agent.home.library.matching import Known, Pool
from bridge_agent.home.library.model import LibraryInfo
from bridge_agent.home.library.plan import Plan, Planner
from bridge_agent.home.library.sidecars import read_sidecar
from bridge_agent.home.library.tags import UNREADABLE, read_tags
from bridge_agent.home.library.walk import Listing, Stats, Stopped, Walk
from bridge_agent.store import Database

_log = logging.getLogger(__name__)

T = TypeVar("T")

RULES = 2
"""Raised when the rules sort the same files into other books: the next scan then sorts all shelves anew."""

_ROOT_S = 20.0
# A folder, or a hundred files, that takes longer lies on a disk that has gone.
_SILENT_S = 300.0
_TELL_S = 0.5
_STRETCH = 5000
_BATCH_FILES = 400
_READ_FILES = 100
_WRITE_BOOKS = 250
# So many books, and half of a library, do not vanish without a disk having gone.
_WAVE = 20
_NEVER = -1


class ScanFailed(BridgeError):
    """The scan could not be done; check the library's folder, then scan again."""

    code = "scan_failed"


class LibraryScan:
    """One run; `asked` tells that a person wants it, who may be believed that most books are gone."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        tasks: Tasks,
        info: LibraryInfo,
        asked: bool,
        on_changed: Callable[[int], None],
        tell_moves: Callable[[], Awaitable[None]],
    ) -> None:
        self.library_id = info.id
        self.doubted = 0
        self._database = database
        self._clock = clock
        self._tasks = tasks
        self._info = info
        self._asked = asked
        self._on_changed = on_changed
        self._tell_moves = tell_moves
        self._stop = threading.Event()
        self._told = clock.monotonic()
        self._there: set[str] = set()
        # Whether the index knows anything of this library yet.
        self._indexed = True

    def stop(self) -> None:
        """Tell the scan to end at the next file; safe from any thread."""
        self._stop.set()

    async def run(self) -> str | None:
        """Scan, and return a sentence about what could not be read, or None.

        Raises ScanFailed with a plain sentence, and Stopped after `stop`.
        """
        given = {"library_id": self.library_id}
        state = await self._database.write(lambda c: c.execute(SQL["begin_scan"], given).fetchone())
        listing = await self._walk()
        known = await self._known()
        if not listing.anything and known:
            raise ScanFailed(
                f"The folder {self._info.root} is empty, as when its disk is not mounted; nothing was marked "
                "missing. Check the disk, then scan again."
            )
        changes = await in_thread(compare, listing, known, state["rules"] != RULES)
        self._there = set(listing.files)
        self._progress(changes.unchanged, len(listing.files), always=True)
        pool = await self._pool(changes)
        self._indexed = bool(known or pool.left())
        for batch in batches(changes.shelves, _BATCH_FILES, changes.displaced):
            await self._batch(batch, listing, pool)
        await self._mark_missing(pool, state["doubted"])
        return _remarks(listing)

    async def _walk(self) -> Listing:
        root = self._info.root
        try:
            there = await file_calls.call(_ROOT_S, os.path.isdir, root)
        except (TimeoutError, TooManyStuck) as error:
            raise self._silent() from error
        if not there:
            raise ScanFailed(
                f"The folder {root} is not there; check that its disk is connected, then scan again."
            )
        walk = Walk(root, self._stop.is_set)
        work = self._tasks.spawn(in_thread(walk.run), "walk", awaited=True)
        try:
            await self._watch(walk, _when_done(work))
            return await work
        finally:
            # On a dead mount the thread may never come back; nobody waits for it.
            work.cancel()

    async def _watch(self, walk: Walk, ended: asyncio.Event) -> None:
        """Tell of a walk's progress until it has ended; raises ScanFailed when the disk goes silent."""
        steps, since = walk.steps, self._clock.monotonic()
        while not await self._clock.wait(ended, _TELL_S):
            self._progress(0, walk.looked)
            if walk.steps != steps:
                steps, since = walk.steps, self._clock.monotonic()
            elif self._clock.monotonic() - since > _SILENT_S:
                raise self._silent()

    async def _known(self) -> list[KnownFile]:
        """Read what the index knows in stretches, so that lists and searches come in between."""
        known: list[KnownFile] = []
        after = ""
        while True:
            stretch = await self._read(lambda c, a=after: ledger.known_files(c, self.library_id, a, _STRETCH))
            known += stretch
            if len(stretch) < _STRETCH:
                return known
            after = stretch[-1][0]

    async def _pool(self, changes: Changes) -> Pool:
        books = await self._read(lambda c: ledger.books_with(c, changes.vanished))
        books += await self._read(lambda c: ledger.missing_books(c, self.library_id))
        return Pool(books)

    async def _batch(self, batch: Sequence[Shelf], listing: Listing, pool: Pool) -> None:
        """Read what changed on some shelves, sort them into books and write these."""
        names = sorted({name for shelf in batch for name in shelf.names})
        gone = [path for shelf in batch for path in shelf.gone]
        rows: list[Known] = []
        if self._indexed:
            # Before the files are read, so that the rows tell of their tracks as they were.
            rows = await self._read(lambda c: ledger.books_on(c, self.library_id, names))
        fresh = await self._read_files(batch, listing)
        files = await self._all_files(batch, names, fresh, set(gone))
        found = await in_thread(self._sort, files)
        plan = await in_thread(Planner(rows, pool, self._there).plan, found, files, gone)
        await self._write(plan, rows, {file.path for file in fresh})

    async def _read_files(self, batch: Sequence[Shelf], listing: Listing) -> list[File]:
        changed = [path for shelf in batch for path in shelf.changed]
        fresh: list[File] = []
        for start in range(0, len(changed), _READ_FILES):
            paths = changed[start : start + _READ_FILES]
            try:
                read = await file_calls.call(_SILENT_S, self._read_some, paths, listing.files)
            except (TimeoutError, TooManyStuck) as error:
                raise self._silent() from error
            await self._database.write(lambda c, r=read: ledger.put_facts(c, self.library_id, r))  # type: ignore[misc]
            fresh += read
            self._progress(self._info.scan.done + len(read), self._info.scan.total)
        return fresh

    def _read_some(self, paths: Sequence[str], stats: dict[str, Stats]) -> list[File]:
        found = []
        root = os.path.realpath(self._info.root)
        for path in paths:
            if self._stop.is_set():
                raise Stopped
            found.append(_read_file(root, path, *stats[path]))
        return found

    async def _all_files(
        self, batch: Sequence[Shelf], names: list[str], fresh: list[File], gone: set[str]
    ) -> list[File]:
        if not any(shelf.known for shelf in batch):
            return fresh
        read = {file.path for file in fresh}
        rest = await self._read(lambda c: ledger.files_on(c, self.library_id, names))
        return fresh + [file for file in rest if file.path not in read and file.path not in gone]

    def _sort(self, files: Sequence[File]) -> list[Assembled]:
        found = []
        for books in group(files):
            if self._stop.is_set():
                raise Stopped
            if (book := assemble(books)) is not None:
                found.append(book)
        return found

    async def _write(self, plan: Plan, rows: Sequence[Known], fresh: set[str]) -> None:
        if plan.moved or plan.deleted or plan.moves:
            await self._database.write(lambda c: ledger.write_moves(c, self.library_id, plan))
        moved = {put.id for put in plan.moved}
        digests = {row.id: row.digest for row in rows}
        todo = [
            put
            for put in plan.puts
            if (put.id is None or put.id not in moved)
            and (
                put.id is None
                or digests.get(put.id) != put.digest
                or any(file.path in fresh for file, _, _ in put.book.roles)
            )
        ]
        for start in range(0, len(todo), _WRITE_BOOKS):
            some = todo[start : start + _WRITE_BOOKS]
            await self._database.write(lambda c, s=some: ledger.write_books(c, self.library_id, s, digests))  # type: ignore[misc]
            if self._stop.is_set():
                raise Stopped
        await self._database.write(lambda c: ledger.write_rest(c, self.library_id, plan))
        if plan.moves:
            await self._tell_moves()
        self._info.books += sum(put.id is None for put in todo)
        self._progress(self._info.scan.done, self._info.scan.total)

    async def _mark_missing(self, pool: Pool, doubted: int) -> None:
        """Mark what has vanished and is nowhere else, after a second look."""
        gone = [book for book in pool.left() if book.state != "missing"]
        if not gone:
            return
        if len(gone) >= _WAVE and 2 * len(gone) >= self._info.books:
            self.doubted = len(gone)
            if not (self._asked and doubted and len(gone) <= 1.1 * doubted):
                raise ScanFailed(
                    f"{len(gone)} of {max(self._info.books, len(gone))} books are gone at once, as when a "
                    "disk is not mounted; nothing was marked missing. If they are gone for good, scan again."
                )
        try:
            sure = await in_thread(self._look_again, gone)
        except OSError as error:
            raise ScanFailed(
                f"The folder {self._info.root} went away during the scan; check its disk, then scan again."
            ) from error
        self.doubted = 0
        await self._database.write(lambda c: ledger.miss(c, [book.id for book in sure]))

    def _look_again(self, gone: Sequence[Known]) -> list[Known]:
        """Return the books whose tracks a second walk of their shelf does not find either."""
        shelves: dict[str, dict[str, Stats]] = {}
        sure = []
        for book in gone:
            shelf = shelf_of(book.path)
            if shelf not in shelves:
                shelves[shelf] = Walk(self._info.root, self._stop.is_set).look_again(shelf)
            sizes = (shelves[shelf].get(track.path, (0, 0))[0] for track in book.tracks)
            if not any(sizes):
                sure.append(book)
        return sure

    def _silent(self) -> ScanFailed:
        return ScanFailed(
            f"The folder {self._info.root} does not answer; check the network drive that it lies on, "
            "then scan again."
        )

    async def _read(self, unit: Callable[..., T]) -> T:
        if self._stop.is_set():
            raise Stopped
        return await self._database.read(unit)

    def _progress(self, done: int, total: int, *, always: bool = False) -> None:
        scan = self._info.scan
        scan.done, scan.total = done, total
        now = self._clock.monotonic()
        if always or now - self._told >= _TELL_S:
            self._told = now
            self._on_changed(self.library_id)


def _read_file(root: str, path: str, size: int, mtime_ns: int) -> File:
    place = str(Path(root, path))
    kind = kind_of(path.rpartition("/")[2])
    if kind == "audio":
        tags = read_tags(place)
        # No file has this time, so that one which could not be opened is tried again by the next scan.
        return File(path, size, _NEVER if tags.broken == UNREADABLE else mtime_ns, tags=tags)
    return File(path, size, mtime_ns, sidecar=read_sidecar(place) if kind == "sidecar" else None)


def _remarks(listing: Listing) -> str | None:
    """Return a sentence about what the scan had to leave out, or None."""
    if listing.unreadable:
        count = len(listing.unreadable)
        what = (
            f"“{listing.unreadable[0]}”"
            if count == 1
            else f"{count} folders or files, “{listing.unreadable[0]}” among them,"
        )
        return (
            f"{what} could not be read and stayed as known before; give the server the right to read there."
        )
    if listing.unnamable:
        count = listing.unnamable
        what, them = ("One name is", "it") if count == 1 else (f"{count} names are", "them")
        return f"{what} no valid Unicode and left out of the index; rename {them} and scan again."
    return None


def _when_done(work: "asyncio.Task[Listing]") -> asyncio.Event:
    ended = asyncio.Event()
    work.add_done_callback(lambda _: ended.set())
    return ended
