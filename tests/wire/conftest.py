"""What the tests over the wire share: a home server with a clock that the test moves."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes.clock import FakeClock
from tests.wire.server_rig import Rig, serving


@pytest.fixture
async def house(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Rig]:
    """A home server with six books, an admin signed in, nothing paired."""
    async with serving(tmp_path, clock) as rig:
        yield rig
