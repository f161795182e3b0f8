"""The words that pages share: marks for states, times and figures as a person says them."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from bridge_agent.base.clock import from_text
from bridge_agent.web.rendering import span

_SHORT_S = 0.095
"""Below this, tenths of a second would say nothing."""

Tone = Literal["", "ok", "warn", "bad", "on", "off"]


@dataclass(frozen=True)
class Tag:
    """A state as a page shows it: a word with a mark, and a tone that only repeats what they say."""

    word: str
    mark: str
    tone: Tone = ""


@dataclass(frozen=True)
class State:
    """How things are: the sentence at the top of a page, the one below it, and the dot's tone.

    Where `more` has `{ago}` in it, the page writes there how long ago `at` was, and keeps it true.
    """

    sentence: str
    more: str
    tone: Tone = ""
    at: str | None = None


def moment(text: object) -> datetime | None:
    """Read a time of the wire; None for what is none, since a page never fails on one."""
    if not isinstance(text, str):
        return None
    try:
        return from_text(text)
    except ValueError:
        return None


def ago(then: datetime | None, now: datetime) -> str:
    """Say how long ago something was: `12 seconds ago`, `3 hours ago`; a coming time counts as now."""
    if then is None:
        return "never"
    seconds = max(0, int((now - then).total_seconds()))
    if seconds < 5:
        return "just now"
    for size, word in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            return counted(seconds // size, word) + " ago"
    return counted(seconds, "second") + " ago"


def left(until: datetime | None, now: datetime) -> str:
    """Say how much time is left as `14:32`; `0:00` once it is over or where there is no end."""
    seconds = 0 if until is None else max(0, int((until - now).total_seconds()))
    return f"{seconds // 60}:{seconds % 60:02d}"


def day_and_time(then: datetime | None, now: datetime) -> str:
    """Write a moment in the server's own time zone: `14:02` today, else with its day."""
    if then is None:
        return "never"
    local, today = then.astimezone(), now.astimezone()
    clock = f"{local:%H:%M}"
    if local.date() == today.date():
        return f"today {clock}"
    if local.date() == (today - timedelta(days=1)).date():
        return f"yesterday {clock}"
    year = "" if local.year == today.year else f" {local.year}"
    return f"{local.day} {local:%b}{year}, {clock}"


def counted(number: int, word: str, plural: str | None = None) -> str:
    """Write a number with its word: `1 file`, `1,204 files`."""
    return f"{number:,} {word if number == 1 else plural or word + 's'}"


def joined(parts: list[str]) -> str:
    """Join words as a sentence does: `a, b and c`."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def long_or_short(seconds: float) -> str:
    """Write a length of time as a line of figures says it: `5 ms`, `0.4 s`, `4 min 10`."""
    if 0 < seconds < _SHORT_S:
        return f"{max(1, round(seconds * 1000))} ms"
    return span(max(0.0, seconds))


def name_of(path: str) -> str:
    """Return the last part of a path: what a person calls the book or file."""
    return path.rstrip("/").rpartition("/")[2] or path


def text_in(box: object, key: str) -> str | None:
    """Return a text out of what another machine sent; None where it is something else or empty."""
    value = box.get(key) if isinstance(box, dict) else None
    return value if isinstance(value, str) and value else None


def number_in(box: object, key: str) -> float | None:
    """Return a number out of what another machine sent; None where it is something else."""
    value = box.get(key) if isinstance(box, dict) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if value == value and abs(value) < 1e18 else None
