"""The gate: whose token a request carries, on either wire; each wire words the refusal in its own way."""

import logging
import sqlite3

from bridge_agent.base.clock import Clock
from bridge_agent.base.errors import BridgeError
from bridge_agent.worker_api.damping import Damping
from bridge_agent.worker_api.tokens import Member, Tokens

_log = logging.getLogger(__name__)


class Refused(BridgeError):
    """This token is nobody’s; ask for a new one on the Bridge’s page."""

    code = "unauthorized"
    status = 401


class Damped(BridgeError):
    """Too many requests with a wrong token came from this address; wait, then send the right one."""

    code = "rate_limited"
    status = 429

    def __init__(self, seconds: float) -> None:
        """Hold how long to wait."""
        super().__init__()
        self.retry_after = max(1, round(seconds))


class Gate:
    """Lets the workers in that were invited."""

    def __init__(self, tokens: Tokens, clock: Clock) -> None:
        self._tokens = tokens
        self._damping = Damping(clock)

    async def admit(self, token: str | None, address: str) -> Member:
        """Return whose token this is; raises Refused, and Damped after too many of these from one address."""
        member = None if token is None else self._tokens.find(token)
        if member is None:
            wait = self._damping.refused(address)
            raise Refused if wait is None else Damped(wait)
        try:
            await self._tokens.saw(member)
        except (BridgeError, sqlite3.Error) as error:
            # When it was seen is worth no refusal: its results count.
            _log.warning("A worker’s sign of life can’t be written down: %s", error)
        return member
