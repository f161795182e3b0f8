"""A claim in this worker's hands: its lease kept alive by heartbeats, beside the work that it is for."""

import asyncio

from bridge_agent.base.backoff import full_jitter
from bridge_agent.base.clock import Clock
from bridge_agent.worker.coordinator import Coordinator, Ref
from bridge_agent.worker.errors import BridgeAway, ClaimLost, NotTaken, TokenRefused
from bridge_agent.worker.lease import Lease

SLICE_S = 5.0
"""The longest single wait: the loop's own timers stand still while the machine sleeps."""
_RETRY_S = 1.0
_LONGEST_RETRY_S = 30.0


class Claim:
    """One claim; `keep` runs as long as it is wanted."""

    def __init__(self, ref: Ref, lease: Lease | None, coordinator: Coordinator, clock: Clock) -> None:
        """Hold a claim; without a lease (after a restart) nothing is believed before the first beat."""
        self.ref = ref
        self.talking = asyncio.Lock()
        """Held while a beat or the result is on its way, so that neither overtakes the other."""
        self.handing_in = False
        """Whether the result may have been taken already: a beat's refusal then means nothing."""
        self._lease = lease
        self._coordinator = coordinator
        self._clock = clock
        self._beaten = False
        self._tries = 0
        self._stir = asyncio.Event()
        self._renewed = asyncio.Event()

    @property
    def trusted(self) -> bool:
        """Whether it may be believed in: it was renewed in time, and once at least (law 5)."""
        return self._beaten and self._lease is not None and self._lease.trusted(self._clock.monotonic())

    async def keep(self) -> None:
        """Beat at once, then before half of each lease's rest is gone; raises ClaimLost."""
        while not self.handing_in:
            due = self._due()
            while (left := due - self._clock.monotonic()) > 0 and not self._stir.is_set():
                await self._clock.wait(self._stir, min(left, SLICE_S))
            self._stir.clear()
            self._tries = 0 if await self._beat() else self._tries + 1
        await asyncio.Event().wait()

    async def until_trusted(self) -> None:
        """Wait until the Bridge has renewed the claim."""
        while not self.trusted:
            self._renewed.clear()
            if not self._tries:
                self._stir.set()
            await self._clock.wait(self._renewed, SLICE_S)

    def _due(self) -> float:
        now = self._clock.monotonic()
        if self._tries:
            return now + full_jitter(self._tries, _RETRY_S, _LONGEST_RETRY_S)
        return now if self._lease is None or not self._beaten else self._lease.beat_at

    async def _beat(self) -> bool:
        async with self.talking:
            if self.handing_in:
                return True
            try:
                self._lease = await self._coordinator.heartbeat(self.ref)
            except (BridgeAway, TokenRefused):
                return False
            except NotTaken as error:
                raise ClaimLost(error.message) from error
        self._beaten = True
        self._renewed.set()
        return True
