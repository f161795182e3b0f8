"""A link for each test, and a fake server to tie it to."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from bridge_agent.base.clock import Clock, SystemClock
from tests.fakes.server import FakeServer
from tests.unit.link.rig import Rig

MakeRig = Callable[..., Rig]


@pytest.fixture
async def server() -> AsyncIterator[FakeServer]:
    async with FakeServer() as fake:
        yield fake


@pytest.fixture
async def rigs(tmp_path: Path) -> AsyncIterator[MakeRig]:
    """Make rigs, on the real clock unless one is given; all are stopped at the end."""
    made: list[Rig] = []

    def make(clock: Clock | None = None, folder: str = "data", **settings: object) -> Rig:
        made.append(Rig(tmp_path / folder, clock or SystemClock(), **settings))
        return made[-1]

    yield make
    for rig in made:
        await rig.stop()
