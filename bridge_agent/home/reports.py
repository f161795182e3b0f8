"""A report as the server takes it: refused where its form is wrong, its texts cleaned (R-052, R-065)."""

import json
from dataclasses import dataclass

import msgspec

from bridge_agent.home import lenient
from bridge_agent.home.job import Json
from bridge_agent.protocol.bridge import Progress, Report, encode
from bridge_agent.protocol.states import ENDED, REPORTABLE, JobState
from bridge_agent.protocol.text import MESSAGE_BYTES, RESULT_BYTES, SERVER_ERROR_BYTES, STEP_BYTES, clean
from bridge_agent.web.errors import ApiError

MOST_BYTES = 4 << 20
"""What a report's body may be at all: its result may be written in escapes several times its size."""
_LARGEST_ATTEMPT = 1 << 53
_DEEPEST = 100
"""SQLite takes no JSON deeper than 1000, and whoever writes it out again walks it level by level."""


@dataclass(frozen=True)
class Taken:
    """A report whose form is right."""

    attempt: int
    state: JobState
    progress: str | None
    result: str | None
    error: str | None

    @property
    def ends(self) -> bool:
        """Whether it is a final report."""
        return self.state in ENDED

    def values(self) -> Json:
        """Return what the statement binds."""
        return {**vars(self), "state": self.state.value, "ends": self.ends}


def parse(raw: bytes) -> Taken:
    """Read a report; raises ApiError 400 `invalid_report`, 413 `result_too_large`."""
    try:
        report = lenient.decode(raw or b"{}", Report)
    except msgspec.ValidationError as error:
        raise _refused(f"The report is not right: {error}; update the Bridge.") from error
    except msgspec.DecodeError as error:
        raise _refused("The report is not valid JSON; update the Bridge.") from error
    if report.state not in REPORTABLE:
        raise _refused(
            "A report’s state is running, done, failed, needs_attention or cancelled; update the Bridge."
        )
    return Taken(
        # An attempt that no claim can have had is one that does not hold the job, no wrong form.
        attempt=report.attempt if 0 < report.attempt < _LARGEST_ATTEMPT else 0,
        state=JobState(report.state),
        progress=_progress(report.progress),
        result=_result(report.result),
        error=_error(report.error),
    )


def too_large() -> ApiError:
    """Return the answer to a result over its limit."""
    return ApiError(
        413, "result_too_large", f"A result has at most {RESULT_BYTES // 1024} KiB; report a shorter one."
    )


def _progress(sent: Progress | None) -> str | None:
    if sent is None:
        return None
    cleaned = Progress(
        step=clean(sent.step, STEP_BYTES),
        message=clean(sent.message, MESSAGE_BYTES),
        done=sent.done,
        total=sent.total,
    )
    return encode(cleaned).decode()


def _result(sent: Json | None) -> str | None:
    if sent is None:
        return None
    if _deeper_than(_DEEPEST, sent):
        raise _refused(f"A result is nested at most {_DEEPEST} deep; report a flatter one.")
    try:
        raw = encode(sent)
    except (UnicodeEncodeError, OverflowError):
        raw = json.dumps(sent).encode()
    if len(raw) > RESULT_BYTES:
        raise too_large()
    return raw.decode()


def _deeper_than(most: int, value: object) -> bool:
    level: list[object] = [value]
    for _ in range(most + 1):
        inner: list[object] = []
        for item in level:
            if isinstance(item, dict):
                inner += item.values()
            elif isinstance(item, list):
                inner += item
        if not inner:
            return False
        level = inner
    return True


def _error(sent: str | None) -> str | None:
    return None if sent is None else clean(sent, SERVER_ERROR_BYTES, keep_line_breaks=True)


def _refused(sentence: str) -> ApiError:
    return ApiError(400, "invalid_report", sentence)
