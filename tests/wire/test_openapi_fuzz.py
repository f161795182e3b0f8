"""What schemathesis makes of the document: whatever is sent, the answer is as it says, and never a 500."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import ignored_auth, negative_data_rejection, positive_data_acceptance

from bridge_agent.worker_api.openapi.coordinator import COORDINATOR
from bridge_agent.worker_api.openapi.document import document
from bridge_agent.worker_api.openapi.operations import Wire
from bridge_agent.worker_api.openapi.worker_v1 import WORKER_V1
from tests.fakes.clock import FakeClock
from tests.wire.coordinator_rig import CoordinatorRig, serving

pytestmark = pytest.mark.slow
# What is right by its schema may still be refused (two chunks of one index), and many wrong tokens are a 429.
# Workers of /worker/v1 send more than they need to, which is passed over.
_LEFT_OUT = {
    COORDINATOR.tag: [positive_data_acceptance, ignored_auth],
    WORKER_V1.tag: [positive_data_acceptance, ignored_auth, negative_data_rejection],
}


@pytest.fixture
async def rig(tmp_path: Path, clock: FakeClock) -> AsyncIterator[CoordinatorRig]:
    async with serving(tmp_path, clock) as rig:
        yield rig


@pytest.mark.parametrize("wire", [COORDINATOR, WORKER_V1], ids=lambda wire: wire.tag)
async def test_whatever_is_sent_the_answer_is_as_documented(rig: CoordinatorRig, wire: Wire) -> None:
    worker = await rig.worker("w")
    paths = {operation.path: document()["paths"][operation.path] for operation in wire.operations}
    schema = schemathesis.openapi.from_dict({**document(), "paths": paths})
    seen = await asyncio.to_thread(try_all, schema, wire, rig.url, worker.token or "")
    assert seen == len(wire.operations)


def try_all(schema: Any, wire: Wire, url: str, token: str) -> int:
    """Send a dozen requests of every kind to each operation; return how many operations that were."""
    seen = 0
    for found in schema.get_all_operations():
        operation = found.ok()

        @settings(max_examples=12, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy())
        def one(case: Any) -> None:
            case.headers = {**(case.headers or {}), "Authorization": f"Bearer {token}"}
            case.call_and_validate(base_url=url, excluded_checks=_LEFT_OUT[wire.tag])

        one()
        seen += 1
    return seen
