"""Times as a person says them, and sentences that hold times which a page keeps counting."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from bridge_agent.base.clock import from_text

Form = Literal["at", "ago", "in"]


@dataclass(frozen=True)
class When:
    """A moment within a sentence: told as a time of day, as how long ago, or as how long still."""

    form: Form
    moment: datetime

    def text(self, now: datetime) -> str:
        """Return the words for it at a moment."""
        if self.form == "at":
            return at(self.moment, now)
        if self.form == "ago":
            return ago((now - self.moment).total_seconds())
        return still((self.moment - now).total_seconds())


Words = Sequence[str | When]
"""A sentence in pieces; the moments among them are told anew as time goes on."""


def told(words: Words, now: datetime) -> str:
    """Return a sentence as plain text."""
    return "".join(piece if isinstance(piece, str) else piece.text(now) for piece in words)


def at(moment: datetime, now: datetime) -> str:
    """Write a moment in this machine's own time: `14:02`, or with its day when that is another."""
    here, today = moment.astimezone(), now.astimezone()
    clock = f"{here:%H:%M}"
    if here.date() == today.date():
        return clock
    day = f"{here.day} {here:%B}"
    return f"{day}, {clock}" if here.year == today.year else f"{day} {here.year}, {clock}"


def ago(seconds: float) -> str:
    """Write how long something is over."""
    if seconds < 5:
        return "just now"
    return f"{length(seconds)} ago"


def still(seconds: float) -> str:
    """Write how long something is still to come."""
    if seconds < 1:
        return "any moment now"
    return f"in {length(seconds)}"


def length(seconds: float) -> str:
    """Write a length of time with one unit, as a person says it; the page's script has the same words."""
    for size, unit in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {unit}" + ("s" if count > 1 else "")
    count = max(1, int(seconds))
    return f"{count} second" + ("s" if count > 1 else "")


def moment_of(text: str | None) -> datetime | None:
    """Read a time of the wire; None for none and for what is no time."""
    try:
        return None if text is None else from_text(text)
    except ValueError:
        return None


def since_then(moment: datetime, now: datetime) -> str:
    """Write how long ago a moment was."""
    return ago((now - moment).total_seconds())


def lasting(moment: datetime, now: datetime) -> str:
    """Write how long something has lasted that began at a moment."""
    return length((now - moment).total_seconds())


def slug(text: str) -> str:
    """Return a text as it can stand in an element's id."""
    return "".join(c if c.isascii() and c.isalnum() else "-" for c in text)
