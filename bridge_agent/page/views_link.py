"""The link in plain words: the page's first sentence, what stands under it, what to do."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bridge_agent.page.views_times import When, Words, moment_of

CAUSES = (
    "It was unpaired in the console, another Bridge was paired, "
    "or the admin who paired it is no longer an enabled admin."
)
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


@dataclass(frozen=True)
class Head:
    """The largest sentence of a page: its mark (`ok`, `warn`, `bad`, `off`), the lines under it."""

    mark: str
    title: str
    lines: tuple[Words, ...]


def head(link: dict[str, Any], running: list[dict[str, Any]], now: datetime, full: bool = False) -> Head:
    """Say how things are, from the status as the API tells it; `full` while the disk takes no job."""
    if full and link["state"] == "online":
        said = "No job can be written down now; free some space on it, and the work goes on by itself."
        return Head("bad", "The disk that holds the data folder is full.", ([said],))
    return _HEADS[link["state"]](link, running, now)


def _unpaired(link: dict[str, Any], running: list[dict[str, Any]], now: datetime) -> Head:
    lines: list[Words] = [["The server’s console makes a code that works once, for 15 minutes."]]
    if (next_try := moment_of(link["next_try_at"])) is not None:
        lines = [["The code from this Bridge’s settings is tried again ", When("in", next_try), "."]]
    return Head("off", "Not paired with a server yet.", tuple(lines))


def _connecting(link: dict[str, Any], running: list[dict[str, Any]], now: datetime) -> Head:
    first = link["reason"] or "Waiting for the first heartbeat to go through; no job runs before that."
    return Head("warn", f"Connecting to {server_name(link)}.", ([first], *_next_try(link)))


def _online(link: dict[str, Any], running: list[dict[str, Any]], now: datetime) -> Head:
    heard = moment_of(link["last_heartbeat_at"])
    line: list[str | When] = []
    if heard is not None:
        line += ["Heard from the server ", When("ago", heard), ". "]
    waits = [job for job in running if job["state"] == "needs_attention"]
    line.append("The next job starts as soon as the server has one." if not running else _busy_line(waits))
    mark = "warn" if waits else "ok"
    return Head(mark, f"Connected to {server_name(link)}. {_doing(running, waits)}", (line,))


def _busy_line(waits: list[dict[str, Any]]) -> str:
    if waits:
        return "Look below for what is asked of you; everything else goes on."
    return "A free lane asks for more work at once."


def _doing(running: list[dict[str, Any]], waits: list[dict[str, Any]]) -> str:
    busy = [job for job in running if job["state"] == "running"]
    if waits and not busy:
        return (
            "One job needs you." if len(waits) == 1 else f"{counted(len(waits)).capitalize()} jobs need you."
        )
    if not busy:
        return "Nothing to do right now."
    kinds = {job["kind"] for job in busy}
    verb = _VERBS.get(kinds.pop(), "Working on") if len(kinds) == 1 else "Working on"
    return f"{verb} {counted(len(busy))} book{'s' if len(busy) > 1 else ''}."


_VERBS = {"bridge.verify": "Verifying", "transcribe.book": "Transcribing"}


def _offline(link: dict[str, Any], running: list[dict[str, Any]], now: datetime) -> Head:
    lines: list[Words] = []
    if link["reason"]:
        lines.append([link["reason"]])
    heard = moment_of(link["last_heartbeat_at"])
    last: list[str | When] = []
    if heard is not None:
        last += ["Last heard from ", When("ago", heard), ", at ", When("at", heard), ". "]
    if running:
        last.append("What runs here goes on; its reports wait. ")
    tries = _next_try(link)
    if tries:
        last += tries[0]
    if last:
        lines.append(last)
    return Head("warn", f"{server_name(link)} can’t be reached.", tuple(lines))


def _refused(link: dict[str, Any], running: list[dict[str, Any]], now: datetime) -> Head:
    said = link["reason"] if is_copy(link) else CAUSES
    lines: list[Words] = [[said], *_next_try(link)]
    return Head("bad", f"{server_name(link)} refuses this Bridge.", tuple(lines))


def is_copy(link: dict[str, Any]) -> bool:
    """Tell whether the Bridge is refused for another reason: its data folder is a copy of another's."""
    return "copy of another Bridge" in (link["reason"] or "")


def _next_try(link: dict[str, Any]) -> list[Words]:
    next_try = moment_of(link["next_try_at"])
    if next_try is None:
        return []
    return [["Tries again ", When("in", next_try), ", at ", When("at", next_try), "."]]


_HEADS = {
    "unpaired": _unpaired,
    "connecting": _connecting,
    "online": _online,
    "offline": _offline,
    "refused": _refused,
}


def server_name(link: dict[str, Any]) -> str:
    """Name the server as a person knows it."""
    return str(link["server_name"] or link["server_url"] or "the server")


def counted(number: int) -> str:
    """Write a small number as a word."""
    return _NUMBERS[number] if number < len(_NUMBERS) else str(number)


_STATE_WORDS = {
    "unpaired": "Not paired",
    "connecting": "Connecting",
    "online": "Online",
    "offline": "Can’t be reached",
    "refused": "Refused",
}


def state_word(state: str) -> str:
    """Return the word for a link's state."""
    return _STATE_WORDS[state]


def parted(sentence: str) -> tuple[str, str]:
    """Part a sentence into what happened and what to do, at its first semicolon or full stop."""
    ends = [at for mark in ("; ", ". ") if (at := sentence.find(mark)) > 0]
    if not ends:
        return sentence, ""
    end = min(ends)
    rest = sentence[end + 2 :]
    return sentence[:end] + ".", rest[:1].upper() + rest[1:]
