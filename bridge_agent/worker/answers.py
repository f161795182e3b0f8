"""Answers of the coordinator, judged: what each status means, and whether it is the coordinator's at all."""

from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

import msgspec
from multidict import CIMultiDictProxy

from bridge_agent.protocol.coordinator import Message, Refusal
from bridge_agent.protocol.text import clean
from bridge_agent.worker.errors import BridgeAway, ClaimLost, NotTaken

_MOST_TEXT = 200

T = TypeVar("T", bound=Message)


@dataclass(frozen=True)
class Answer:
    """A status with its headers and body; `began` is when its request did, on the monotonic clock."""

    status: int
    headers: CIMultiDictProxy[str]
    body: bytes
    began: float
    where: str

    def refusal(self) -> Refusal | None:
        """Return the body of a coordinator's error; None for a page of something in between."""
        try:
            found = msgspec.json.decode(self.body, type=Refusal)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        return found if found.error else None

    def date(self) -> datetime | None:
        """Return what time it is there."""
        try:
            found = parsedate_to_datetime(self.headers.get("Date", ""))
        except (TypeError, ValueError, OverflowError):
            return None
        return found if found.tzinfo is not None else None

    def retry_after(self) -> float | None:
        """Return the seconds that it asks to be left alone; dates and nonsense count as none."""
        text = self.headers.get("Retry-After", "").strip()
        return float(text) if text.isascii() and text.isdigit() else None


def value(answer: Answer, kind: type[T]) -> T | None:
    """Return the body of a success, None for a refusal of the coordinator's own; raises BridgeAway."""
    if answer.status not in (200, 201, 202):
        error = fail(answer)
        if isinstance(error, BridgeAway):
            raise error
        return None
    try:
        return msgspec.json.decode(answer.body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise strange(answer) from error


def fail(answer: Answer, *, held: bool = True) -> Exception:
    """Return what a status other than the wanted one means; `held` tells whether a claim was spoken of."""
    status = answer.status
    if 300 <= status < 400:
        return BridgeAway(
            f"The address {answer.where} leads elsewhere; set BRIDGE_WORKER_URL to the address that the "
            "invitation on the Bridge’s page shows."
        )
    if status >= 500 or status == 429:
        return BridgeAway(
            f"The Bridge at {answer.where} has no time just now (status {status}); it is asked again.",
            answer.retry_after(),
        )
    refusal = answer.refusal()
    if refusal is None:
        return strange(answer)
    if held and status in (404, 409):
        return ClaimLost(f"The part is not this worker’s any more ({said(refusal)}); it goes on with others.")
    return NotTaken(
        f"The Bridge did not take what was sent ({status}, {said(refusal)}); update the older of the two."
    )


def strange(answer: Answer) -> BridgeAway:
    """Return what an answer means that is not the coordinator's."""
    return BridgeAway(
        f"What answers at {answer.where} is not a Bridge’s worker listener (status {answer.status}); check "
        "BRIDGE_WORKER_URL."
    )


def said(refusal: Refusal) -> str:
    """Return a refusal's words, cleaned."""
    return f"“{clean(refusal.error, _MOST_TEXT)}”"
