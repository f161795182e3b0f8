"""Holding: work on a part goes on for as long as its claim does, and no longer (law 1)."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from bridge_agent.base.tasks import Tasks
from bridge_agent.transcription.pipeline.desk import Desk
from bridge_agent.transcription.pipeline.tasks import Task

T = TypeVar("T")


async def while_held(desk: Desk, tasks: Tasks, task: Task, work: Coroutine[Any, Any, T]) -> T | None:
    """Do work; None where the claim of its part was ended meanwhile, the work then stopped."""
    running = tasks.spawn(work, f"part {task.number} of {task.recording_id}", awaited=True)
    lost = False

    def watch(moved: Task) -> None:
        nonlocal lost
        if moved.id == task.id and moved.claim != task.claim and not running.done():
            lost = True
            running.cancel()

    desk.moved.append(watch)
    try:
        return await running
    except asyncio.CancelledError:
        me = asyncio.current_task()
        if lost and (me is None or not me.cancelling()):
            return None
        raise
    finally:
        desk.moved.remove(watch)
