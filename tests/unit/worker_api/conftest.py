"""What the tests of workers share."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes.clock import FakeClock
from tests.unit.worker_api.rig import WorkRig


@pytest.fixture
async def rig(tmp_path: Path, clock: FakeClock) -> AsyncIterator[WorkRig]:
    """A pipeline that leaves all parts to workers."""
    rig = WorkRig(tmp_path, clock)
    await rig.open_up()
    yield rig
    await rig.tasks.cancel()
