"""A start that a signal breaks off while a store is being opened leaves no thread behind."""

import asyncio
import threading

import pytest

from bridge_agent.store import open_database

PACKAGE = "bridge_agent.home.schema"


@pytest.mark.parametrize("turns", range(0, 24, 2))
async def test_opening_that_is_cancelled_ends_its_threads(tmp_path, turns: int):
    before = set(threading.enumerate())
    opening = asyncio.ensure_future(open_database(tmp_path / "x.sqlite3", PACKAGE))
    for _ in range(turns):
        await asyncio.sleep(0.0005)
    opening.cancel()
    try:
        opened = await opening
    except asyncio.CancelledError:
        opened = None
    if opened is not None:
        await opened.database.close()
    for _ in range(500):
        left = [t for t in threading.enumerate() if t not in before and "connection" in t.name]
        if not left:
            break
        await asyncio.sleep(0.01)
    assert left == []
