"""Secrets shown once: kept for a moment between the form that made them and the page that shows them."""

import secrets
from collections import OrderedDict
from dataclasses import dataclass

from bridge_agent.base.clock import Clock

_KEEP_S = 60.0
_MOST = 64


@dataclass(frozen=True)
class _Kept:
    session: str
    value: object
    until: float


class Once:
    """A shelf that gives each thing out once, to the session that put it there, within a minute (R-002)."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    def put(self, session: str, value: object) -> str:
        """Keep a value for the session of this hash; return the ticket that fetches it."""
        ticket = secrets.token_urlsafe(9)
        self._kept[ticket] = _Kept(session, value, self._clock.monotonic() + _KEEP_S)
        while len(self._kept) > _MOST:
            self._kept.popitem(last=False)
        return ticket

    def take(self, session: str, ticket: str) -> object | None:
        """Give a value out and forget it; None for a ticket that is used, old or another session's."""
        kept = self._kept.get(ticket)
        if kept is None or kept.session != session:
            return None
        del self._kept[ticket]
        return kept.value if self._clock.monotonic() < kept.until else None
