"""Pools of scripted engines, which end with their test."""

from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import pytest

from bridge_agent.base.clock import SystemClock
from bridge_agent.base.tasks import Tasks
from bridge_agent.transcription.engines.limits import Limits
from bridge_agent.transcription.engines.pool import EnginePool
from bridge_agent.transcription.engines.wishes import Wishes
from bridge_agent.transcription.models.models import Models

QUICK = Limits(look=0.05, cancel=0.3, idle=60.0, silent=20.0, still=20.0, least=20.0)


@pytest.fixture
async def pool_of(tmp_path) -> AsyncIterator[Callable[..., EnginePool]]:
    """Build pools: `pool_of(model, processes=…, limits=…)`."""
    tasks, pools = Tasks("test"), []

    def build(model: str = "scripted", *, limits: Limits = QUICK, notes=None, **wishes) -> EnginePool:
        wished = Wishes(**{"processes": 1, "model": model} | wishes)
        pool = EnginePool(
            wished, Models(tmp_path / "models", tasks), SystemClock(), tasks, limits=limits, notes=notes
        )
        pools.append(pool)
        return pool

    yield build
    for pool in pools:
        await pool.stop()
    await tasks.cancel()


@pytest.fixture
def quick() -> Callable[..., Limits]:
    """Short limits, with some changed."""
    return lambda **changed: replace(QUICK, **changed)
