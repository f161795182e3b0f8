"""One link: the time between a pairing (or a start) and its end, and the rules of its state."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from bridge_agent.link.client import ServerClient
from bridge_agent.link.record import Pairing

State = Literal["unpaired", "connecting", "online", "offline", "refused"]

ONLINE_S = 120.0
"""How old the last heartbeat may be (R-047)."""


@dataclass
class Session:
    """What is known of the link; a new one for each pairing and each start."""

    pairing: Pairing
    client: ServerClient | None = None
    refused: bool = False
    copied: bool = False
    reason: str = ""
    heard_at: float | None = None
    """Monotonic seconds of the last heartbeat that went through."""
    heard_wall: datetime | None = None
    misses: int = 0
    """How many heartbeats failed since the last that went through."""
    vault_tries: int = 0
    """How often the vault was asked for the token and was not ready."""

    def online(self, monotonic: float) -> bool:
        """Tell whether the last heartbeat is under two minutes old and none failed since (R-047)."""
        return (
            not self.refused
            and self.misses == 0
            and self.heard_at is not None
            and monotonic - self.heard_at < ONLINE_S
        )

    def state(self, monotonic: float) -> State:
        """Return the state that the page shows."""
        if self.refused:
            return "refused"
        if self.online(monotonic):
            return "online"
        if self.heard_at is None and self.misses == 0:
            return "connecting"
        return "offline"
