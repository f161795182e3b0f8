"""The paired Bridge as the console tells it: the state sentence, what it sees, who works for it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bridge_agent.home.console import words
from bridge_agent.home.console.views_jobs import kind_word
from bridge_agent.home.console.words import State, Tag
from bridge_agent.protocol.bridge import is_web_address

Bridge = Mapping[str, Any]

_WORKERS = {
    "idle": Tag("Ready", "○"),
    "working": Tag("Working", "●", "on"),
    "offline": Tag("Offline", "–"),
}


@dataclass(frozen=True)
class SeenLibrary:
    """A library as the Bridge sees it."""

    name: str
    path: str | None
    tag: Tag
    line: str
    checked_at: str | None


@dataclass(frozen=True)
class WorkerView:
    """A transcription worker that is connected to the Bridge."""

    name: str
    tag: Tag
    line: str
    speed: str


@dataclass(frozen=True)
class BridgeView:
    """What the Bridge page says."""

    state: State
    short: Tag
    paired: bool
    online: bool
    paired_at: str | None
    paired_by: str | None
    heard_at: str | None
    code_until: str | None
    version: str | None
    kinds: str
    ui_url: str | None
    libraries: tuple[SeenLibrary, ...]
    workers: tuple[WorkerView, ...]


def bridge_view(bridge: Bridge, libraries: Mapping[int, str], now: datetime) -> BridgeView:
    """Say everything of the Bridge; `bridge` is what GET /admin/bridge gives (R-046)."""
    status = bridge.get("status")
    status = status if isinstance(status, Mapping) else {}
    seen = seen_libraries(status, libraries)
    url = words.text_in(status, "ui_url")
    kinds = [kind_word(kind) for kind in status.get("kinds") or [] if isinstance(kind, str)]
    return BridgeView(
        state=bridge_state(bridge, seen, now),
        short=short_tag(bridge),
        paired=bool(bridge.get("paired")),
        online=bool(bridge.get("online")),
        paired_at=words.text_in(bridge, "paired_at"),
        paired_by=_person(bridge.get("paired_by")),
        heard_at=words.text_in(bridge, "last_heartbeat_at"),
        code_until=_still_coming(words.text_in(bridge, "pending_code_expires_at"), now),
        version=words.text_in(status, "version"),
        kinds=words.joined(kinds),
        ui_url=url if url and is_web_address(url) else None,
        libraries=seen,
        workers=tuple(
            _worker(worker) for worker in status.get("workers") or [] if isinstance(worker, Mapping)
        ),
    )


def short_tag(bridge: Bridge) -> Tag:
    """Return the Bridge's state in a word with a mark."""
    if not bridge.get("paired"):
        return Tag("Not paired", "○")
    if bridge.get("online"):
        return Tag("Online", "●", "ok")
    if not bridge.get("last_heartbeat_at"):
        return Tag("Not heard yet", "◌")
    return Tag("Offline", "!", "warn")


def bridge_state(bridge: Bridge, seen: tuple[SeenLibrary, ...], now: datetime) -> State:
    """Return the sentence at the top of the Bridge page, and the one below it."""
    if not bridge.get("paired"):
        return _unpaired(bridge, now)
    heard = words.moment(bridge.get("last_heartbeat_at"))
    if heard is None:
        return State(
            "A Bridge is paired and has not called in yet.",
            "It does so within seconds of its pairing; if it does not, see that it is running.",
            "warn",
        )
    if not bridge.get("online"):
        return State(
            "The Bridge is offline.",
            "Last heard from it {ago}. Jobs wait for it; see that its computer is on and that the Bridge is "
            "running there.",
            "warn",
            words.text_in(bridge, "last_heartbeat_at"),
        )
    blind = [library for library in seen if library.tag.tone == "warn"]
    if blind:
        names = words.joined([f"“{library.name}”" for library in blind[:3]])
        return State(
            f"The Bridge is online, but does not see {_of(len(blind), len(seen))}.",
            f"On the Bridge’s own page, say where {names} {'lies' if len(blind) == 1 else 'lie'} there.",
            "warn",
        )
    at = words.text_in(bridge, "last_heartbeat_at")
    return State("The Bridge is online.", "Heard from it {ago}.", "ok", at)


def seen_libraries(status: Mapping[str, Any], libraries: Mapping[int, str]) -> tuple[SeenLibrary, ...]:
    """Return the server's libraries as the last heartbeat tells of them; those not told of come last."""
    checks = [check for check in status.get("libraries") or [] if isinstance(check, Mapping)]
    told = tuple(_seen(check, libraries) for check in checks if check.get("library_id") in libraries)
    ids = {check.get("library_id") for check in checks}
    waiting = Tag("Not checked yet", "◌")
    missing = tuple(
        SeenLibrary(name, None, waiting, "The Bridge has not looked for it yet.", None)
        for id, name in libraries.items()
        if id not in ids and status
    )
    return told + missing


def _unpaired(bridge: Bridge, now: datetime) -> State:
    until = words.moment(bridge.get("pending_code_expires_at"))
    if until is not None and until > now:
        return State(
            "A code waits for its Bridge.",
            "Once a Bridge uses it, this page says so by itself.",
            "on",
        )
    return State(
        "No Bridge is paired.",
        "A Bridge is a program on a computer at home that checks files and transcribes books "
        "for this server.",
        "off",
    )


def _seen(check: Mapping[str, Any], libraries: Mapping[int, str]) -> SeenLibrary:
    name = libraries[int(check["library_id"])]
    path = words.text_in(check, "path")
    at = words.text_in(check, "checked_at")
    error = words.text_in(check, "error")
    if check.get("ok") is not True:
        return SeenLibrary(name, path, Tag("Not seen", "!", "warn"), error or "Its files were not found.", at)
    parts = []
    checked = int(words.number_in(check, "files_checked") or 0)
    if checked:
        matched = int(words.number_in(check, "files_matched") or 0)
        parts.append(f"{matched} of {words.counted(checked, 'sample file')} match")
    parts.append("can be written" if check.get("writable") is True else "can be read, not written")
    if error:
        parts.append(error)
    return SeenLibrary(name, path, Tag("Seen", "✓", "ok"), " · ".join(parts), at)


def _worker(worker: Mapping[str, Any]) -> WorkerView:
    state = words.text_in(worker, "state") or "offline"
    about = [text for key in ("engine", "device") if (text := words.text_in(worker, key))]
    job = words.number_in(worker, "job_id")
    if job is not None:
        about.append(f"at job {int(job)}")
    speed = words.number_in(worker, "seconds_per_second")
    return WorkerView(
        name=words.text_in(worker, "name") or "a worker",
        tag=_WORKERS.get(state, Tag(state, "•")),
        line=", ".join(about),
        speed=f"{speed:.0f}×" if speed is not None and speed >= 1 else "",
    )


def _of(some: int, of: int) -> str:
    if some == of:
        return "the library" if of == 1 else "any of the libraries"
    return f"{some} of {words.counted(of, 'library', 'libraries')}"


def _person(by: object) -> str | None:
    """Return a name, whether the status gives it bare or inside an object."""
    return by if isinstance(by, str) and by else words.text_in(by, "username")


def _still_coming(text: str | None, now: datetime) -> str | None:
    until = words.moment(text)
    return text if until is not None and until > now else None
