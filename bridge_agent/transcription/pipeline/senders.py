"""Replies: telling whoever asked how a recording ended; one that can't be delivered changes nothing else."""

import logging
from collections import Counter
from collections.abc import Mapping
from typing import Literal, Protocol

from bridge_agent.transcription.pipeline.recordings import Recording

_log = logging.getLogger(__name__)

SILENT = "none"
"""The sender of those who wait for no reply: they look for themselves (P-067)."""

Reason = Literal["not_running", "no_addressee", "failed"]


class NotRunning(Exception):
    """The sender's entry point does not run in this start of the program, or not for this addressee."""


class Sender(Protocol):
    """A way to tell those who came by it."""

    async def send(self, addressee: str, ended: Recording) -> None:
        """Tell how a recording ended; raises NotRunning."""
        ...


class Replies:
    """The senders by name, and what could not be delivered (P-060 … P-067).

    A reply is sent after the state it tells of was saved, once, and never later: what could not be delivered
    is to be had where all the others are (P-064, P-066).
    """

    def __init__(self, senders: Mapping[str, Sender] | None = None) -> None:
        self.senders: dict[str, Sender] = dict(senders or {})
        self.undelivered: Counter[Reason] = Counter()
        """How many replies could not be delivered, by reason."""

    async def deliver(self, ended: Recording) -> bool:
        """Tell whoever asked how a recording ended; tell whether it was told. Raises nothing."""
        if ended.sender == SILENT:
            return False
        if not ended.addressee:
            # Who came by this way always has an address: its loss is a sign of damage.
            self._not_delivered(ended, "no_addressee", logging.ERROR, "nobody is named to be told")
            return False
        sender = self.senders.get(ended.sender)
        try:
            if sender is None:
                raise NotRunning
            await sender.send(ended.addressee, ended)
        except NotRunning:
            self._not_delivered(
                ended, "not_running", logging.WARNING, f"the way “{ended.sender}” is not open in this start"
            )
        except Exception as error:
            # Its text might hold what was to be told; its kind does not (P-065).
            self._not_delivered(ended, "failed", logging.WARNING, f"sending failed ({type(error).__name__})")
        else:
            return True
        return False

    def _not_delivered(self, ended: Recording, reason: Reason, level: int, why: str) -> None:
        self.undelivered[reason] += 1
        _log.log(level, "The end of recording %d (%s) was not told: %s.", ended.id, ended.state, why)
