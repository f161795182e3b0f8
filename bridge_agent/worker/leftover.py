"""A leftover: a part that an earlier run finished and could not hand in."""

import asyncio
import logging

from bridge_agent.base.clock import Clock
from bridge_agent.base.tasks import Tasks, cancel_and_wait
from bridge_agent.worker.claim import Claim
from bridge_agent.worker.coordinator import Coordinator, Ref
from bridge_agent.worker.delivery import Delivery
from bridge_agent.worker.errors import ClaimLost, PartFailed
from bridge_agent.worker.shelf import Kept, Shelf

_log = logging.getLogger(__name__)


async def hand_in(kept: Kept, shelf: Shelf, coordinator: Coordinator, clock: Clock, tasks: Tasks) -> bool:
    """Hand a leftover in if its claim still lives; tell whether it was taken."""
    claim = Claim(Ref(kept.worker_id, kept.task_id, kept.attempt), None, coordinator, clock)
    # It may have been taken already: then a beat's refusal would say the wrong thing.
    claim.handing_in = bool(kept.artifact_id)
    delivery = Delivery(claim, kept, shelf, coordinator, clock)
    beats = tasks.spawn(claim.keep(), "heartbeats of a leftover", awaited=True)
    work = tasks.spawn(delivery.run({}), "delivery of a leftover", awaited=True)
    try:
        await asyncio.wait({beats, work}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            await cancel_and_wait(work)
        (beats if work.cancelled() else work).result()
    except ClaimLost:
        await delivery.lost()
        return False
    except PartFailed as error:
        _log.warning("A part that was finished earlier was not taken: %s", error.message)
        return False
    finally:
        await cancel_and_wait(beats, work)
    _log.info("A part that was finished earlier is handed in.")
    return True
