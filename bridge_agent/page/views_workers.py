"""Workers in plain words: this computer first, then who was invited; what each is, does and did last."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bridge_agent.page import views_speech
from bridge_agent.page.speech import Speech
from bridge_agent.page.views_jobs import Tag
from bridge_agent.page.views_link import counted
from bridge_agent.page.views_times import moment_of
from bridge_agent.settings import BridgeSettings

Worker = Mapping[str, Any]

_TAGS = {
    "working": Tag("●", "Working", "on"),
    "idle": Tag("✓", "Ready", "ok"),
    "offline": Tag("○", "Offline"),
    "paused": Tag("‖", "Paused", "warn"),
    "parked": Tag("!", "Parked", "warn"),
}


@dataclass(frozen=True)
class Row:
    """A worker as its row shows it; `id` is None for this computer, which nobody revokes."""

    id: int | None
    name: str
    tag: Tag
    facts: tuple[str, ...]
    on: tuple[str, ...] = ()
    trouble: str = ""
    seen: datetime | None = None
    unseen: str = ""
    can_pause: bool = False
    can_resume: bool = False


def row(worker: Worker) -> Row:
    """Say what an invited worker is and does; `worker` is as the API tells it."""
    state = str(worker["state"])
    seen = moment_of(worker["last_seen_at"])
    return Row(
        id=worker["id"],
        name=worker["name"],
        tag=_TAGS[state],
        facts=_facts(worker),
        on=_on(worker["on"]),
        trouble=_trouble(worker["reason"] or ""),
        seen=seen,
        unseen="" if seen else "has not called in yet",
        can_pause=state not in ("paused", "parked"),
        can_resume=state in ("paused", "parked"),
    )


def this_computer(speech: Speech | None, settings: BridgeSettings) -> Row:
    """Say what this machine's own engine is and does."""
    missing = views_speech.no_engine(speech, settings)
    if speech is None or missing is not None:
        why = views_speech.NOT_INSTALLED if missing is None else missing.sentence
        word = "Not used" if settings.speech_processes == 0 else "No engine"
        return Row(None, "This computer", Tag("–", word), (why,))
    known = speech.engines.view()["engines"]
    engines = dict.fromkeys(f"{each['name']} {each['model']}" for each in known)
    devices = dict.fromkeys(str(each["device"]) for each in known)
    views = speech.pipeline.views()
    here = [(view, (view.get("at_work") or {}).get(views_speech.HERE, 0)) for view in views]
    speeds = [(view.get("speeds") or {}).get(views_speech.HERE, 0.0) for view, count in here if count]
    facts = [
        ", ".join(engines) or f"model {settings.speech_model}",
        ", ".join(_device(each) for each in devices),
        _speed(max(speeds, default=0.0)),
    ]
    on = tuple(_parts(count, view.get("title") or "") for view, count in here if count)
    return Row(
        None, "This computer", _TAGS["working" if on else "idle"], tuple(each for each in facts if each), on
    )


def head(workers: Sequence[Worker], problem: str | None, url: str | None) -> tuple[str, str, str]:
    """Return the mark, the sentence and the line at the top."""
    if problem:
        return "bad", "Workers can’t reach this Bridge.", problem
    if not workers:
        line = (
            "Another machine, with a GPU or without, can take a share of the books that are transcribed here."
        )
        return "off", "No other machine takes part yet.", line
    where = f"Workers reach this Bridge at {url}." if url else ""
    parked = [worker for worker in workers if worker["state"] == "parked"]
    if parked:
        return "warn", f"{_names(parked)} {_is(parked)} parked.", where
    busy = [worker for worker in workers if worker["state"] == "working"]
    if busy:
        return "on", f"{counted(len(busy)).capitalize()} worker{_s(busy)} at work.", where
    ready = [worker for worker in workers if worker["state"] == "idle"]
    if ready:
        return "ok", f"{counted(len(ready)).capitalize()} worker{_s(ready)} ready.", where
    paused = [worker for worker in workers if worker["state"] == "paused"]
    if any(worker["on"] for worker in paused):
        ends = "It ends" if len(paused) == 1 else "They end"
        return "on", f"{_names(paused)} {_is(paused)} paused. {ends} what is begun.", where
    if paused:
        return "off", f"{_names(paused)} {_is(paused)} paused.", where
    return "off", "No worker is here now.", where


def _facts(worker: Worker) -> tuple[str, ...]:
    model = worker["model"] or ""
    hears = f"{worker['engine']} {model}".strip() if worker["engine"] else model and f"model {model}"
    device = _device(worker["device"]) if worker["device"] else ""
    found = (hears, device, _speed(worker["seconds_per_second"] or 0.0))
    return tuple(each for each in found if each)


def _device(device: str) -> str:
    return {"cuda": "GPU", "cpu": "CPU"}.get(device, device)


def _speed(speed: float) -> str:
    if speed <= 0:
        return ""
    return f"{speed:.0f} s of audio a second" if speed >= 10 else f"{speed:.1f} s of audio a second"


def _on(parts: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    books: dict[str, list[int]] = {}
    for each in parts:
        books.setdefault(each["title"], []).append(each["part"])
    return tuple(f"{_numbered(sorted(numbers))} of {title or 'a book'}" for title, numbers in books.items())


def _numbered(numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return f"Part {numbers[0]}"
    return f"Parts {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


def _parts(count: int, title: str) -> str:
    return f"{counted(count).capitalize()} part{'s' if count > 1 else ''} of {title or 'a book'}"


def _trouble(reason: str) -> str:
    if not reason:
        return ""
    return f"{reason[:1].upper()}{reason[1:]}" + ("" if reason.endswith((".", ".”")) else ".")


def _names(found: Sequence[Worker]) -> str:
    return str(found[0]["name"]) if len(found) == 1 else f"{counted(len(found)).capitalize()} workers"


def _is(found: Sequence[object]) -> str:
    return "is" if len(found) == 1 else "are"


def _s(found: Sequence[object]) -> str:
    return "s" if len(found) > 1 else ""
