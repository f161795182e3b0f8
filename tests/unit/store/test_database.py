"""The store: whole units, commits shared by those who wait, nothing half done after a cancel."""

import asyncio
import random
import sqlite3
import threading
from pathlib import Path

import pytest

from bridge_agent.base.errors import BridgeError
from bridge_agent.store import database
from bridge_agent.store.database import (
    InlineDatabase,
    StoreFull,
    ThreadedDatabase,
    open_database,
    open_inline,
)

SCHEMA = "bridge_agent.store.bridge_schema"


@pytest.fixture(params=["threaded", "inline"])
async def db(request, tmp_path):
    if request.param == "threaded":
        opened = (await open_database(tmp_path / "a.sqlite3", SCHEMA)).database
    else:
        opened = open_inline(tmp_path / "a.sqlite3", SCHEMA)
    yield opened
    await opened.close()


def put(name: str, value: str):
    return lambda c: c.execute("INSERT INTO meta (name, value) VALUES (?, ?)", (name, value)).rowcount


def names(connection: sqlite3.Connection) -> list[str]:
    return [row[0] for row in connection.execute("SELECT name FROM meta ORDER BY name")]


async def test_a_unit_is_visible_to_readers_once_its_write_returns(db):
    await db.write(put("a", "1"))
    assert await db.read(names) == ["a"]


async def test_a_failing_unit_undoes_itself_alone(db):
    def half(connection: sqlite3.Connection) -> None:
        put("b", "1")(connection)
        raise BridgeError("no")

    outcomes = await asyncio.gather(
        db.write(put("a", "1")), db.write(half), db.write(put("c", "1")), return_exceptions=True
    )
    assert isinstance(outcomes[1], BridgeError)
    assert await db.read(names) == ["a", "c"]


async def test_a_cancelled_caller_leaves_whole_units_and_no_open_transaction(tmp_path):
    db = (await open_database(tmp_path / "a.sqlite3", SCHEMA)).database
    chance = random.Random(7)

    def two(number: int):
        def unit(connection: sqlite3.Connection) -> None:
            put(f"{number}-a", "")(connection)
            put(f"{number}-b", "")(connection)

        return unit

    for number in range(200):
        task = asyncio.create_task(db.write(two(number)))
        for _ in range(chance.randrange(4)):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    found = await db.write(lambda c: names(c))
    pairs = {name.split("-")[0] for name in found}
    assert len(found) == 2 * len(pairs)
    await db.close()


async def test_waiting_units_share_one_commit(tmp_path):
    db = (await open_database(tmp_path / "a.sqlite3", SCHEMA)).database
    commits = 0

    def count(connection: sqlite3.Connection) -> None:
        def trace(statement: str) -> None:
            nonlocal commits
            commits += statement == "COMMIT"

        connection.set_trace_callback(trace)

    await db.write(count)
    commits = 0
    await asyncio.gather(*(db.write(put(str(n), "")) for n in range(50)))
    assert len(await db.read(names)) == 50
    assert commits <= 3
    await db.close()


async def test_a_reader_cannot_write(tmp_path):
    db = (await open_database(tmp_path / "a.sqlite3", SCHEMA)).database
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        await db.read(put("a", "1"))
    await db.close()


async def test_closing_finishes_what_was_asked_for_and_leaves_no_thread(tmp_path):
    before = set(threading.enumerate())
    db = (await open_database(tmp_path / "a.sqlite3", SCHEMA)).database
    writing = [asyncio.create_task(db.write(put(str(n), ""))) for n in range(20)]
    await asyncio.sleep(0)
    await db.close()
    await asyncio.gather(*writing)
    await db.close()
    left = [t for t in threading.enumerate() if t not in before and "connection_worker" in t.name]
    for thread in left:
        # It has told of its end, and may need a moment for the way out.
        thread.join(5)
    assert not any(thread.is_alive() for thread in left)
    with pytest.raises(BridgeError):
        await db.write(put("late", ""))


async def test_a_full_disk_is_a_sentence_and_the_store_works_on_when_space_returns(tmp_path):
    db = (await open_database(tmp_path / "a.sqlite3", SCHEMA)).database
    pages = await db.write(lambda c: c.execute("PRAGMA page_count").fetchone()[0])
    await db.write(lambda c: c.execute(f"PRAGMA max_page_count={pages}").fetchone()[0])
    with pytest.raises(StoreFull, match="free some space"):
        await db.write(put("big", "x" * 1_000_000))
    await db.write(lambda c: c.execute("PRAGMA max_page_count=1000000").fetchone()[0])
    await db.write(put("big", "x" * 1_000_000))
    assert await db.read(names) == ["big"]
    await db.close()


async def test_a_damaged_file_is_kept_aside_and_a_new_one_begun(tmp_path):
    path = tmp_path / "a.sqlite3"
    path.write_bytes(b"this is no database at all, only some words" * 200)
    opened = await open_database(path, SCHEMA)
    assert len(opened.notes) == 1
    assert "damaged" in opened.notes[0]
    assert [p for p in tmp_path.iterdir() if ".damaged-" in p.name]
    assert await opened.database.read(names) == []
    await opened.database.close()


async def test_a_file_of_a_newer_version_is_refused_with_a_next_step(tmp_path):
    path = tmp_path / "a.sqlite3"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version=999")
    connection.close()
    with pytest.raises(BridgeError, match="newer version"):
        await open_database(path, SCHEMA)


async def test_a_network_file_system_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(database, "network_file_system", lambda path: "nfs4")
    with pytest.raises(BridgeError, match="local disk"):
        await open_database(tmp_path / "a.sqlite3", SCHEMA)


async def test_the_file_is_private_and_durable(tmp_path):
    db = (await open_database(tmp_path / "a.sqlite3", SCHEMA)).database

    def pragmas(connection: sqlite3.Connection) -> tuple[str, int]:
        mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
        return mode, connection.execute("PRAGMA synchronous").fetchone()[0]

    assert await db.write(pragmas) == ("wal", 2)
    assert (tmp_path / "a.sqlite3").stat().st_mode & 0o077 == 0
    await db.close()


def test_both_stores_have_the_protocol_s_methods():
    for kind in (ThreadedDatabase, InlineDatabase):
        for name in ("write", "read", "close"):
            assert callable(getattr(kind, name))


async def test_fifty_stores_leave_no_descriptor_behind(tmp_path: Path):
    fds = Path("/proc/self/fd")
    if not fds.exists():
        pytest.fail("this test needs /proc; run it on Linux")
    before = len(list(fds.iterdir()))
    for number in range(50):
        opened = await open_database(tmp_path / f"{number}.sqlite3", SCHEMA)
        await opened.database.close()
    assert len(list(fds.iterdir())) <= before + 2
