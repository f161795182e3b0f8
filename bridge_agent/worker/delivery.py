"""Delivery: a finished partial is stored at the Bridge and handed in, until it is answered."""

import hashlib
import logging
from uuid import uuid4

import msgspec

from bridge_agent.base.backoff import full_jitter
from bridge_agent.base.clock import Clock
from bridge_agent.base.threads import in_thread
from bridge_agent.protocol import coordinator as wire
from bridge_agent.worker.claim import Claim
from bridge_agent.worker.coordinator import Coordinator
from bridge_agent.worker.errors import BridgeAway, NotTaken, PartFailed, TokenRefused
from bridge_agent.worker.shelf import Kept, Shelf

_RETRY_S = 1.0
_LONGEST_RETRY_S = 60.0

_log = logging.getLogger(__name__)


class Delivery:
    """Hands one partial in under its claim."""

    def __init__(
        self, claim: Claim, kept: Kept, shelf: Shelf, coordinator: Coordinator, clock: Clock
    ) -> None:
        self._claim = claim
        self._kept = kept
        self._shelf = shelf
        self._coordinator = coordinator
        self._clock = clock

    async def run(self, metrics: dict[str, float]) -> None:
        """Deliver; raises ClaimLost, and PartFailed where the partial is given up."""
        tries = 0
        while True:
            try:
                await self._once(metrics)
            except (BridgeAway, TokenRefused):
                tries += 1
                await self._clock.sleep(full_jitter(tries, _RETRY_S, _LONGEST_RETRY_S))
            except (NotTaken, PartFailed) as error:
                await self._shelf.taken(self._kept)
                raise PartFailed("result_refused", error.message) from error
            else:
                await self._shelf.taken(self._kept)
                return

    async def _once(self, metrics: dict[str, float]) -> None:
        if not self._kept.artifact_id:
            await self._claim.until_trusted()
            await self._store()
        manifest = wire.Manifest(artifact_id=self._kept.artifact_id, content_type=wire.PARTIAL_TYPE)
        async with self._claim.talking:
            # From here on a beat may be refused because the result was taken.
            self._claim.handing_in = True
            await self._coordinator.complete(self._claim.ref, manifest, metrics)

    async def _store(self) -> None:
        content = self._kept.content.encode()
        stored = await self._coordinator.upload(self._claim.ref, uuid4().hex, content)
        if (stored.sha256.lower(), stored.size_bytes) != await in_thread(_sum, content):
            raise PartFailed(
                "upload_mismatch", "The Bridge stored other bytes than were sent; the part is tried again."
            )
        self._kept = msgspec.structs.replace(self._kept, artifact_id=stored.artifact_id)
        try:
            await self._shelf.keep(self._kept)
        except OSError as error:
            _log.warning("That a part is stored can't be written down: %s", error)

    async def lost(self) -> None:
        """Keep the partial for reuse: its claim is lost, but its part may come again."""
        try:
            await self._shelf.lost(self._kept)
        except OSError as error:
            _log.warning("A finished part can't be kept for reuse: %s", error)


def _sum(content: bytes) -> tuple[str, int]:
    return hashlib.sha256(content).hexdigest(), len(content)
