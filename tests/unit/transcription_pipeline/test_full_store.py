"""A store whose disk is full: what was heard is written down once there is room, and no claim leaks."""

import asyncio
from pathlib import Path

import pytest

from bridge_agent.base.errors import BridgeError
from bridge_agent.transcription.pipeline import tasks, troubles
from bridge_agent.transcription.pipeline.tasks import Task
from tests.fakes.clock import FakeClock
from tests.fakes.full_disk import Filling
from tests.fakes.pipeline import FakeExecutor, Rig


@pytest.fixture
def filling(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> Filling:
    store = Filling(rig.db)
    rig.pipeline._db = rig.pipeline.desk._db = store
    object.__setattr__(rig.pipeline._tools, "db", store)
    monkeypatch.setattr(troubles, "_has_room", lambda folder: not store.full)
    return store


@pytest.fixture
def rig(tmp_path: Path, clock: FakeClock) -> Rig:
    """A machine that hears a part in 5 s, and another that takes its time."""
    executors = [FakeExecutor(clock, seconds=5), FakeExecutor(clock, "slow", seconds=60)]
    return Rig(tmp_path, clock, executors=executors)


async def found(rig: Rig, id_: int) -> list[Task]:
    return await rig.db.read(lambda c: tasks.of_recording(c, id_))


def once(rig: Rig, parts: int) -> bool:
    heard = rig.executors[0].heard + rig.executors[1].heard
    return heard == dict.fromkeys(range(parts), 1)


async def test_words_that_found_no_room_are_written_down_once_there_is_some(rig: Rig, filling: Filling):
    id_, running = await rig.start(rig.order(rig.book("abcd")))
    await rig.until(lambda: rig.executor.at_work)
    await rig.pass_time(3)
    filling.full = True
    await rig.until(lambda: sum(rig.executor.heard.values()) == 1)
    await rig.pass_time(1)
    assert filling.refused
    filling.full = False
    await rig.pass_time(1)
    assert [task.state for task in await found(rig, id_)].count("done") == 1
    assert await rig.finish(running) < 120
    assert once(rig, 4)
    assert (await found(rig, id_))[0].attempt == 2
    await rig.until(lambda: not list((rig.folder / "cut" / str(id_)).iterdir()))


async def test_words_that_found_no_room_outlive_the_run(rig: Rig, filling: Filling):
    rig.executors.pop()
    id_, running = await rig.start(rig.order(rig.book("abcd")))
    await rig.until(lambda: rig.executor.at_work)
    filling.full = True
    with pytest.raises(BridgeError, match="full"):
        await rig.finish(running, within=60)
    assert dict(rig.executor.heard) == {0: 1}
    filling.full = False
    again, running = await rig.start(rig.order(rig.book("abcd")))
    await rig.finish(running)
    assert again == id_
    assert dict(rig.executor.heard) == dict.fromkeys(range(4), 1)


async def test_a_run_that_is_cancelled_while_the_store_is_full_ends(rig: Rig, filling: Filling):
    id_, running = await rig.start(rig.order(rig.book("abcd")))
    await rig.until(lambda: rig.executor.at_work and rig.executors[1].at_work)
    filling.full = True
    running.cancel()
    done, _ = await asyncio.wait({running}, timeout=5)
    assert done
    assert running.cancelled()
    filling.full = False
    await rig.pipeline.desk.settle()
    assert {(task.holder, task.tries) for task in await found(rig, id_)} == {(None, 0)}
