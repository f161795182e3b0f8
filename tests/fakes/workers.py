"""The workers' room of a Bridge, real but for the audio and its listener's port: for pages that show it."""

import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from bridge_agent.base.tasks import Tasks
from bridge_agent.settings import Address, BridgeSettings
from bridge_agent.transcription.pipeline.executor import Together
from bridge_agent.worker_api.opening import Workers, open_members, open_workers
from bridge_agent.worker_api.service.lease import OnPart, WorkerState, WorkerView
from tests.fakes.clock import FakeClock
from tests.unit.worker_api.rig import WorkRig


@contextlib.asynccontextmanager
async def workers_room(folder: Path, clock: Any, **settings: object) -> AsyncIterator[Workers]:
    """Open a workers' room in a folder; its listener takes a free port of this machine."""
    chosen = BridgeSettings(
        data_dir=folder,
        **{"worker_listen": Address("127.0.0.1", 0), **settings},  # type: ignore[arg-type]
    )
    tasks = Tasks("workers")
    members = await open_members(chosen, clock)
    rig = WorkRig(folder, clock if isinstance(clock, FakeClock) else FakeClock(), settings=chosen)
    rig.executors = Together([], members.executors)  # type: ignore[assignment]
    workers = open_workers(chosen, clock, tasks, rig.pipeline, members)
    await workers.start()
    try:
        yield workers
    finally:
        await workers.stop()
        await tasks.cancel()
        await rig.tasks.cancel()
        await rig.workers_db.close()
        await rig.db.close()


def looks(
    workers: Workers, id_: int, state: WorkerState, *, on: Sequence[tuple[str, int]] = (), **more: Any
) -> None:
    """Let a worker look as a test wants it, whatever it does."""
    real = workers.service.workers

    def view(each: WorkerView) -> WorkerView:
        if each.id != id_:
            return each
        parts = tuple(OnPart(1, "server/7", title, number) for title, number in on)
        values = {field: getattr(each, field) for field in WorkerView.__dataclass_fields__}
        return WorkerView(**{**values, "state": state, "on": parts, **more})

    workers.service.workers = lambda: [view(each) for each in real()]  # type: ignore[method-assign]
