"""A finding: a stable code, how bad it is, one sentence, and what to do."""

from dataclasses import asdict, dataclass
from typing import Literal

Level = Literal["ok", "warn", "bad"]


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at; a code never changes its meaning, where all is well nothing is to do."""

    code: str
    level: Level
    sentence: str
    what_to_do: str = ""

    def wire(self) -> dict[str, str]:
        """Return it as JSON has it."""
        return asdict(self)


def ok(code: str, sentence: str) -> Finding:
    """Return a finding that asks for nothing."""
    return Finding(code, "ok", sentence)


def warn(code: str, sentence: str, what_to_do: str) -> Finding:
    """Return a finding with which the Bridge works, though not as well as it could."""
    return Finding(code, "warn", sentence, what_to_do)


def bad(code: str, sentence: str, what_to_do: str) -> Finding:
    """Return a finding that keeps the Bridge from working."""
    return Finding(code, "bad", sentence, what_to_do)


def from_message(code: str, level: Level, message: str) -> Finding:
    """Part an error's one sentence into what happened and what to do, at its first semicolon or full stop."""
    places = [(at, mark) for mark in ("; ", ". ") if (at := message.find(mark)) > 0]
    if not places:
        return Finding(code, level, message)
    at, mark = min(places)
    rest = message[at + len(mark) :]
    return Finding(code, level, message[:at] + ".", rest[:1].upper() + rest[1:])
