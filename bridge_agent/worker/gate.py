"""The gate before every question: shut while the Bridge wants quiet, or refuses the token (never hammer)."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from bridge_agent.base.clock import Clock
from bridge_agent.worker.errors import TokenRefused

CONFIRM_S = 4.0
"""Before a refusal is confirmed by a second question."""
_QUIET_S = 5.0
_MOST_QUIET_S = 600.0

_log = logging.getLogger(__name__)

Accepted = Callable[[], Awaitable[bool]]
"""Asks the Bridge whether it takes the token; raises BridgeAway."""


class Gate:
    """Lets questions through, or holds them back; at most one asks whether the token is taken again."""

    def __init__(self, clock: Clock, retry_s: float | None) -> None:
        """Be open; a refused token is asked about again every `retry_s` seconds, or never for None."""
        self._clock = clock
        self._retry_s = retry_s
        self._quiet_until = 0.0
        self._refused = False
        self._welcomed = False
        self._asking = asyncio.Lock()

    @property
    def refused(self) -> bool:
        """Whether the token is known to be refused."""
        return self._refused

    @property
    def stays(self) -> bool:
        """Whether the worker goes on when it is refused: the Bridge took it before."""
        return self._welcomed and self._retry_s is not None

    def welcome(self) -> None:
        """Note that the Bridge takes this worker."""
        self._welcomed = True

    def hush(self, seconds: float | None) -> None:
        """Let nothing through for so long (429)."""
        pause = min(_MOST_QUIET_S, _QUIET_S if seconds is None else seconds)
        self._quiet_until = max(self._quiet_until, self._clock.monotonic() + pause)

    async def enter(self, accepted: Accepted) -> None:
        """Wait until a question may be asked; raises TokenRefused where that is not waited for."""
        if (pause := self._quiet_until - self._clock.monotonic()) > 0:
            await self._clock.sleep(pause)
        while self._refused:
            if self._retry_s is None:
                raise TokenRefused
            async with self._asking:
                if self._refused:
                    await self._clock.sleep(self._retry_s)
                    self._refused = not await accepted()
                    if not self._refused:
                        _log.info("The Bridge takes this worker’s token again.")

    async def turned_away(self, accepted: Accepted) -> None:
        """Confirm a refusal, a few seconds later and at another door; raises TokenRefused when it is true."""
        async with self._asking:
            if self._refused:
                raise TokenRefused
            await self._clock.sleep(CONFIRM_S)
            if await accepted():
                return
            self._refused = True
        if self.stays:
            _log.error("%s It is asked again every %d s.", TokenRefused().message, self._retry_s)
        raise TokenRefused
