"""What the tests of the worker share."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.worker.rig import Rig


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    """A coordinator that listens, and a worker to start."""
    found = Rig(tmp_path)
    await found.bridge.plug_in()
    yield found
    await found.close()
