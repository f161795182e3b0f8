"""What the tests over the wire share: a home server, and a Bridge for workers, in a test’s own time."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes.clock import FakeClock
from tests.unit.worker_api.rig import WorkRig
from tests.unit.worker_api.wire_rig import Caller, WireRig
from tests.wire.server_rig import Rig, serving


@pytest.fixture
async def house(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Rig]:
    """A home server with six books, an admin signed in, nothing paired."""
    async with serving(tmp_path, clock) as rig:
        yield rig


@pytest.fixture
async def server(rig: WorkRig) -> AsyncIterator[WireRig]:
    """The wire of /worker/v1 over the rig of a test."""
    server = WireRig(rig)
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
async def a(server: WireRig) -> Caller:
    """A worker that was invited there."""
    return await server.worker("a")


@pytest.fixture
async def b(server: WireRig) -> Caller:
    """Another one."""
    return await server.worker("b")
