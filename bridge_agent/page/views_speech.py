"""Speech in plain words: the book under way, the model that comes in, the engine, and why there is none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from bridge_agent.page.speech import Speech, Who
from bridge_agent.settings import BridgeSettings
from bridge_agent.transcription.engines.errors import INSTALL
from bridge_agent.web.rendering import filesize, span

HERE = "this computer"
"""What the pipeline calls this machine's own engine."""
NOT_INSTALLED = "No speech engine is installed here, so this Bridge transcribes nothing yet."

_TAIL = 170


@dataclass(frozen=True)
class Under:
    """A book under way, or the model that it waits for: how far, in figures; the words as they are heard."""

    sentence: str
    done: float
    total: float
    figures: tuple[str, ...]
    heard: str = ""
    trouble: str = ""


@dataclass(frozen=True)
class NoEngine:
    """Why nothing is transcribed by this machine; `command` mends it, where one does."""

    sentence: str
    command: str = ""


@dataclass(frozen=True)
class Engine:
    """The engine as Settings show it: facts by name, what did not work, what is downloading."""

    facts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    download: Under | None


def under_way(speech: Speech | None, hindered: Mapping[str, str]) -> dict[str, Under]:
    """Return the books under way by whom they are for: `server_id/job_id` for a server's job.

    `hindered` are the workers that something keeps from their work, by name, each with what it is.
    """
    if speech is None:
        return {}
    views = [view for view in speech.pipeline.views() if view["addressee"] and view["total_seconds"] > 0]
    return {view["addressee"]: _book(view, speech.pipeline.executors, hindered) for view in views}


def download(speech: Speech | None) -> Under | None:
    """Return the model that comes in now, None where none does."""
    found = {} if speech is None else speech.models.downloads()
    for name, (done, total) in found.items():
        sentence = f"Downloading the speech model “{name}”, once"
        if total <= 0:
            return Under(sentence, 0, 0, (filesize(done),))
        return Under(sentence, done, total, (percent(done, total), f"{filesize(done)} of {filesize(total)}"))
    return None


def no_engine(speech: Speech | None, settings: BridgeSettings) -> NoEngine | None:
    """Say why this machine transcribes nothing itself, and what helps; None where it does."""
    missing = find_spec("faster_whisper") is None
    if speech is None:
        return NoEngine(NOT_INSTALLED, INSTALL) if missing else None
    why = speech.engines.why_none()
    if why is None:
        return None
    own_engine = settings.speech_processes != 0 and not settings.speech_server
    return NoEngine(NOT_INSTALLED, INSTALL) if missing and own_engine else NoEngine(why)


def engine(speech: Speech | None, settings: BridgeSettings) -> Engine | None:
    """Say with what this machine hears; None where it does not."""
    if speech is None or speech.engines.why_none() is not None:
        return None
    view = speech.engines.view()
    facts = _known(view["engines"]) or (
        ("Model", settings.speech_model),
        ("Computed on", "found out with the first book"),
    )
    busy = sum(1 for child in view["children"] if child["state"] == "busy")
    memory = sum(child["memory"] or 0 for child in view["children"])
    processes = f"{view['size']}"
    if view["children"]:
        processes += f", {len(view['children'])} started" + (f", {busy} at work" if busy else "")
    more = [("Processes", processes), ("Memory", filesize(memory) if memory else "")]
    return Engine(
        facts=(*facts, *((name, value) for name, value in more if value)),
        notes=tuple(view["notes"]),
        download=download(speech),
    )


def percent(done: float, total: float) -> str:
    """Write a share; it says 100 only when all is done."""
    return f"{int(100 * done / total)} %"


def time_left(seconds: float) -> str:
    """Write about how long something will still take."""
    minutes = round(seconds / 60)
    if minutes < 1:
        return "less than a minute left"
    if minutes < 90:
        return f"about {minutes} minute{'s' if minutes > 1 else ''} left"
    return f"about {minutes // 60} h {minutes % 60:02d} left"


def tail(text: str) -> str:
    """Return the last words of a text, from the beginning of one on."""
    words = " ".join(text.split())
    if len(words) <= _TAIL:
        return words
    cut = words[-_TAIL:]
    # A language without spaces has no word to begin with.
    return "…" + (cut.partition(" ")[2] or cut)


def _book(view: Mapping[str, Any], executors: Sequence[Who], hindered: Mapping[str, str]) -> Under:
    done, total, speed = view["done_seconds"], view["total_seconds"], view["speed"]
    figures = [percent(done, total), f"{span(done)} of {span(total)}"]
    if speed > 0 and view["left_seconds"] is not None:
        figures += [f"{speed:.0f} times real time" if speed >= 10 else f"{speed:.1f} times real time"]
        figures += [time_left(view["left_seconds"])]
    else:
        figures += ["speed and time left in a moment"]
    if who := _who(view.get("at_work"), executors):
        figures += [who]
    others = any(each.places and each.name not in hindered for each in executors)
    troubles = [] if others else [f"“{name}” is of no help now: {why}" for name, why in hindered.items()]
    return Under("Transcribing", done, total, tuple(figures), tail(view["words"]), "; ".join(troubles))


def _who(at_work: Mapping[str, int] | None, executors: Sequence[Who]) -> str:
    """Say who is at it: `2 here, 1 at games-room`."""
    counts = at_work if at_work is not None else {each.name: each.places for each in executors}
    return ", ".join(
        f"{count} here" if name == HERE else f"{count} at {name}" for name, count in counts.items() if count
    )


def _known(engines: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, str], ...]:
    if not engines:
        return ()
    return (
        ("Engine", ", ".join(dict.fromkeys(f"{each['name']} {each['version']}" for each in engines))),
        ("Model", ", ".join(dict.fromkeys(str(each["model"]) for each in engines))),
        (
            "Computed on",
            "; ".join(dict.fromkeys(f"{each['device']}, {each['compute_type']}" for each in engines)),
        ),
    )
