"""The heartbeat as the server takes it: structure refused when wrong, free text cleaned (R-037, R-038)."""

import re

import msgspec

from bridge_agent.home import lenient
from bridge_agent.protocol.bridge import (
    MAX_KINDS,
    Heartbeat,
    LibraryCheck,
    Message,
    WorkerStatus,
    is_kind,
    is_web_address,
)
from bridge_agent.protocol.text import PATH_BYTES, VERSION_BYTES, WORKER_TEXT_BYTES, clean
from bridge_agent.web.errors import ApiError

_URL_BYTES = 2048
_LARGEST_ID = 1 << 53
_FIELD = re.compile(r"`(?:\$\.)?([a-z_]+)")


class _Library(Message):
    """A mapping check, its texts optional: an older or newer Bridge must not go offline over one."""

    library_id: int
    path: str | None = None
    ok: bool = False
    readable: bool = False
    writable: bool = False
    checked_at: str | None = None
    files_checked: int = 0
    files_matched: int = 0
    sample_path: str | None = None
    error: str | None = None


class _Worker(Message):
    """A worker's line."""

    name: str | None = None
    state: str | None = None
    engine: str | None = None
    device: str | None = None
    job_id: int | None = None
    seconds_per_second: float | None = None


class _Sent(Message):
    """The body as it comes."""

    kinds: list[str]
    version: str | None = None
    libraries: list[_Library] | None = None
    workers: list[_Worker] | None = None
    ui_url: str | None = None


def parse(raw: bytes) -> Heartbeat:
    """Read, judge and clean a heartbeat; raises ApiError 400 `invalid_status` with the field's name."""
    try:
        sent = lenient.decode(raw or b"{}", _Sent)
    except msgspec.ValidationError as error:
        # A missing field stands before the path, a wrong one after it: the path's first name is the field.
        where = str(error).rpartition("- at ")[2] if "- at " in str(error) else str(error)
        found = _FIELD.search(where)
        raise _refused(found[1] if found else "body", str(error)) from error
    except msgspec.DecodeError as error:
        raise _refused("body", "it is not valid JSON") from error
    _judge_kinds(sent.kinds)
    _judge_libraries(sent.libraries or [])
    _judge_url(sent.ui_url)
    return Heartbeat(
        version=clean(sent.version or "", VERSION_BYTES),
        kinds=sent.kinds,
        libraries=[_cleaned_library(library) for library in sent.libraries or []],
        workers=[_cleaned_worker(worker) for worker in sent.workers or []],
        ui_url=sent.ui_url,
    )


def _refused(field: str, why: str) -> ApiError:
    return ApiError(
        400,
        "invalid_status",
        f"The heartbeat’s “{field}” is wrong: {why}; update the Bridge.",
        extra={"field": field},
    )


def _judge_kinds(kinds: list[str]) -> None:
    if len(kinds) > MAX_KINDS:
        raise _refused("kinds", f"there are over {MAX_KINDS}")
    for kind in kinds:
        if not is_kind(kind):
            raise _refused("kinds", "one is not of the form family.name")
    if len(set(kinds)) != len(kinds):
        raise _refused("kinds", "one is listed twice")


def _judge_libraries(libraries: list[_Library]) -> None:
    ids = [library.library_id for library in libraries]
    if any(not 0 < library_id < _LARGEST_ID for library_id in ids):
        raise _refused("libraries", "a library_id is below 1 or far too large")
    if len(set(ids)) != len(ids):
        raise _refused("libraries", "a library_id is listed twice")


def _judge_url(url: str | None) -> None:
    if url is None:
        return
    odd = clean(url, _URL_BYTES) != url or " " in url
    if odd or not is_web_address(url):
        raise _refused("ui_url", "it is no absolute http(s) address")


def _cleaned_library(sent: _Library) -> LibraryCheck:
    return LibraryCheck(
        library_id=sent.library_id,
        path=clean(sent.path or "", PATH_BYTES),
        ok=sent.ok,
        readable=sent.readable,
        writable=sent.writable,
        checked_at=clean(sent.checked_at or "", VERSION_BYTES),
        files_checked=sent.files_checked,
        files_matched=sent.files_matched,
        sample_path=_cleaned(sent.sample_path, PATH_BYTES),
        error=_cleaned(sent.error, PATH_BYTES),
    )


def _cleaned_worker(sent: _Worker) -> WorkerStatus:
    return WorkerStatus(
        name=clean(sent.name or "", WORKER_TEXT_BYTES),
        state=clean(sent.state or "", WORKER_TEXT_BYTES),
        engine=_cleaned(sent.engine, WORKER_TEXT_BYTES),
        device=_cleaned(sent.device, WORKER_TEXT_BYTES),
        job_id=sent.job_id,
        seconds_per_second=sent.seconds_per_second,
    )


def _cleaned(text: str | None, most: int) -> str | None:
    return None if text is None else clean(text, most)
