"""One SQLite file: a writer that runs whole units of work, and a reader beside it.

A *unit* is a plain function over a `sqlite3.Connection`. It runs whole on the writer's thread inside one
transaction, so a cancelled caller leaves nothing half done, and what must be atomic (R-010, R-031) needs no
lock of its own. Units that wait while the disk syncs are committed together, each in a savepoint of its own:
every caller still hears of its unit only after the commit that made it durable. All SQL is sync and testable
on `InlineDatabase`, the twin without a thread that a simulated household uses.
"""

import asyncio
import contextlib
import logging
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

import aiosqlite

from bridge_agent.base.clock import Clock, SystemClock, to_text
from bridge_agent.base.errors import BridgeError
from bridge_agent.base.files import PRIVATE, network_file_system
from bridge_agent.base.tasks import Tasks
from bridge_agent.store import migrations

T = TypeVar("T")
Unit = Callable[[sqlite3.Connection], T]
Durability = Literal["FULL", "NORMAL"]

_log = logging.getLogger(__name__)
_JOURNAL_LIMIT = 64 << 20


class StoreCorrupt(BridgeError):
    """The data file is damaged."""

    code = "store_corrupt"


class StoreFull(BridgeError):
    """The disk that holds the data folder is full; free some space, and the work goes on by itself."""

    code = "store_full"


class Database(Protocol):
    """What the rooms ask of a store."""

    async def write(self, unit: Unit[T]) -> T:
        """Run a unit in one transaction and return its result once it is durable.

        The unit's own exception rolls it back and is raised here. A cancelled caller does not stop it.
        """
        ...

    async def read(self, unit: Unit[T]) -> T:
        """Run a unit that only reads, beside the writer."""
        ...

    async def close(self) -> None:
        """Finish what was asked for and close the file; harmless when repeated."""
        ...


def configure(connection: sqlite3.Connection, durability: Durability, writing: bool) -> None:
    """Set the pragmas of a connection; a reading one never writes and never checkpoints."""
    connection.row_factory = sqlite3.Row
    run = connection.execute
    run("PRAGMA busy_timeout=5000")
    run("PRAGMA foreign_keys=ON")
    run("PRAGMA temp_store=MEMORY")
    if writing:
        run("PRAGMA journal_mode=WAL")
        run(f"PRAGMA synchronous={durability}")
        # On macOS a plain fsync does not reach the platter.
        run("PRAGMA fullfsync=ON")
        run("PRAGMA checkpoint_fullfsync=ON")
        run(f"PRAGMA journal_size_limit={_JOURNAL_LIMIT}")
    else:
        # SQLite before 3.51.3 can lose a WAL reset raced by a second connection's checkpoint.
        run("PRAGMA wal_autocheckpoint=0")
        run("PRAGMA query_only=ON")


@dataclass
class _Waiting:
    unit: Unit[Any]
    answer: "asyncio.Future[Any]"
    result: object = None
    error: BaseException | None = None


class _Connection(aiosqlite.Connection):
    """aiosqlite's connection and thread, with a way to run one function whole on it."""

    async def run_whole(self, work: Callable[[sqlite3.Connection], T]) -> T:
        result: T = await self._execute(lambda: work(self._conn))  # type: ignore[no-untyped-call]
        return result


def _connect(path: Path) -> _Connection:
    def connector() -> sqlite3.Connection:
        # Each thread call runs alone on one thread after another; isolation_level=None is autocommit.
        return sqlite3.connect(path, isolation_level=None, check_same_thread=False)

    return _Connection(connector, iter_chunk_size=64)


class ThreadedDatabase:
    """The store of a running process: aiosqlite's writer thread and one reader thread."""

    def __init__(self, writer: _Connection, reader: _Connection) -> None:
        self._writer = writer
        self._reader = reader
        self._waiting: list[_Waiting] = []
        self._tasks = Tasks("store")
        self._flush: asyncio.Task[None] | None = None
        self._closed = False

    async def write(self, unit: Unit[T]) -> T:
        """Run a unit in one transaction, together with others that wait for the same sync."""
        if self._closed:
            raise BridgeError("The store is closed; start the program again.")
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(unit, answer))
        if self._flush is None:
            self._flush = self._tasks.spawn(self._flush_all(), "flush")
        return await asyncio.shield(answer)

    async def read(self, unit: Unit[T]) -> T:
        """Run a reading unit on the reader's thread."""
        return await self._reader.run_whole(unit)

    async def close(self) -> None:
        """Finish all waiting units, then close reader and writer, the writer last."""
        if self._closed:
            return
        self._closed = True
        while self._flush is not None:
            await asyncio.shield(self._flush)
        await self._reader.close()
        await self._writer.close()

    async def _flush_all(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, []
                try:
                    await self._writer.run_whole(lambda c, b=batch: _run_batch(c, b))  # type: ignore[misc]
                except BaseException as error:
                    for waiting in batch:
                        waiting.error = waiting.error or _worded(error)
                for waiting in batch:
                    _settle(waiting)
        finally:
            self._flush = None


def _settle(waiting: _Waiting) -> None:
    if waiting.answer.cancelled():
        return
    if waiting.error is not None:
        waiting.answer.set_exception(waiting.error)
        # A caller that was cancelled never fetches it; reading it here keeps asyncio from complaining.
        waiting.answer.exception()
    else:
        waiting.answer.set_result(waiting.result)


def _run_batch(connection: sqlite3.Connection, batch: list[_Waiting]) -> None:
    """Run units under one commit; a unit's own failure undoes that unit alone."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        for waiting in batch:
            connection.execute("SAVEPOINT unit")
            try:
                waiting.result = waiting.unit(connection)
            except Exception as error:
                if not connection.in_transaction:
                    raise
                connection.execute("ROLLBACK TO unit")
                waiting.error = _worded(error)
            connection.execute("RELEASE unit")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _worded(error: BaseException) -> BaseException:
    if isinstance(error, sqlite3.Error):
        name = getattr(error, "sqlite_errorname", "") or ""
        if name.startswith(("SQLITE_FULL", "SQLITE_IOERR_WRITE")):
            return StoreFull()
        if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
            return StoreCorrupt()
    return error


class InlineDatabase:
    """The same store without threads, for simulations and tests that need one order of events."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    async def write(self, unit: Unit[T]) -> T:
        """Run a unit in one transaction, here and now."""
        waiting = _Waiting(unit, asyncio.get_running_loop().create_future())
        _run_batch(self._connection, [waiting])
        _settle(waiting)
        result: T = await waiting.answer
        return result

    async def read(self, unit: Unit[T]) -> T:
        """Run a reading unit, here and now."""
        return unit(self._connection)

    async def close(self) -> None:
        """Close the file."""
        self._connection.close()


@dataclass
class Opened:
    """A store that is open, and what a person should be told about how it was opened."""

    database: ThreadedDatabase
    notes: list[str] = field(default_factory=list)


async def open_database(
    path: Path, migrations_package: str, durability: Durability = "FULL", clock: Clock | None = None
) -> Opened:
    """Open a file (made if missing, 0600), check it, bring it to the newest schema.

    A damaged file is moved aside under a name with the time and a new one begun; the note says so. Raises
    BridgeError for a network file system, on which write-ahead logging loses data, and NewerStore.
    """
    if kind := network_file_system(path.parent):
        raise BridgeError(
            f"The data folder {path.parent} lies on a network file system ({kind}), where SQLite can lose "
            "data; choose a folder on a local disk."
        )
    notes: list[str] = []
    try:
        writer = await _open_writer(path, migrations_package, durability)
    except StoreCorrupt:
        aside = _move_aside(path, clock or SystemClock())
        notes.append(
            f"The data file {path.name} was damaged; it was kept as {aside.name} and a new one begun."
        )
        _log.error("%s", notes[-1])
        writer = await _open_writer(path, migrations_package, durability)
    try:
        reader = await _open(path)
        try:
            await reader.run_whole(lambda c: configure(c, durability, writing=False))
        except BaseException:
            await reader.close()
            raise
    except BaseException:
        await writer.close()
        raise
    return Opened(ThreadedDatabase(writer, reader), notes)


def _touch_private(path: Path) -> None:
    if not path.exists():
        path.touch(PRIVATE)


async def _open(path: Path) -> _Connection:
    connection = _connect(path)
    opening = Tasks("store").spawn(_wait_for(connection), "open", awaited=True)
    try:
        await asyncio.shield(opening)
    except asyncio.CancelledError:
        # aiosqlite's thread is no daemon, and answers to this loop: a start that is broken off here must
        # neither keep the process alive nor leave a thread behind that finds the loop closed.
        await asyncio.wait({opening})
        if opening.exception() is None:
            await connection.close()
        raise
    return connection


async def _wait_for(connection: _Connection) -> None:
    await connection


async def _open_writer(path: Path, package: str, durability: Durability) -> _Connection:
    _touch_private(path)
    writer = await _open(path)

    def prepare(connection: sqlite3.Connection) -> None:
        configure(connection, durability, writing=True)
        found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise StoreCorrupt
        migrations.apply(connection, package)

    try:
        await writer.run_whole(prepare)
    except BaseException as error:
        await writer.close()
        worded = _worded(error)
        if worded is error:
            raise
        raise worded from error
    return writer


def open_inline(path: Path | str, migrations_package: str) -> InlineDatabase:
    """Open a file (or ":memory:") without threads and bring it to the newest schema."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    configure(connection, "FULL", writing=True)
    migrations.apply(connection, migrations_package)
    return InlineDatabase(connection)


def _move_aside(path: Path, clock: Clock) -> Path:
    stamp = to_text(clock.now()).replace(":", "").replace(".", "")
    aside = path.with_name(f"{path.stem}.damaged-{stamp}{path.suffix}")
    path.rename(aside)
    for suffix in ("-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + suffix).rename(aside.with_name(aside.name + suffix))
    return aside
