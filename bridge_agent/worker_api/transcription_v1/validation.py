"""What the routes take, checked in the order of their own server: the first fault is the one that is told."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bridge_agent.worker_api.transcription_v1.bodies import Body
from bridge_agent.worker_api.transcription_v1.errors import WireError

MOST_TEXT = 100_000
"""In UTF-16 units, as JavaScript counts."""
MOST_PARTS = 5000
MOST_ERROR = 2000
UNKNOWN_ERROR = "Unknown worker error"
# What JavaScript's trim() takes away.
_BLANK = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
_MISSING = object()


@dataclass(frozen=True)
class Heard:
    """The words that a worker sends; `said` holds the fields beside them that were sent at all."""

    text: str | None
    parts: list[dict[str, str]] | None
    said: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Failure:
    """A failure as a worker tells it."""

    error: str
    retryable: bool


def newest(body: Body) -> bool:
    """Tell whether a claim asks for the newest; anything else means the oldest."""
    return body.get("bucket") == "newest"


def local_source_path(body: Body) -> str:
    """Return where a worker keeps the part, as it was sent, blanks at its ends too."""
    path = body.get("localSourcePath", _MISSING)
    if path is _MISSING:
        raise WireError(400, "local_source_path_required")
    if not isinstance(path, str):
        raise WireError(400, "invalid_local_source_path")
    if not path.strip(_BLANK):
        raise WireError(400, "local_source_path_required")
    return path


def progress(body: Body) -> Heard:
    """Return the words so far."""
    text = body.get("text", _MISSING)
    if text is not _MISSING and not isinstance(text, str):
        raise WireError(400, "invalid_progress_text")
    if isinstance(text, str) and units(text) > MOST_TEXT:
        raise WireError(400, "progress_text_too_large")
    parts = _parts(body)
    if not (isinstance(text, str) and text.strip(_BLANK)) and not parts:
        raise WireError(400, "progress_text_required")
    return Heard(text if isinstance(text, str) else None, parts, _said(body))


def result(body: Body) -> Heard:
    """Return what came of a part; its text may be empty."""
    text = body.get("text")
    if not isinstance(text, str):
        raise WireError(400, "result_text_required")
    if units(text) > MOST_TEXT:
        raise WireError(400, "result_text_too_large")
    return Heard(text, _parts(body), _said(body))


def failure(body: Body) -> Failure:
    """Return a failure; nothing that is sent is refused."""
    error = body.get("error")
    told = cut(error, MOST_ERROR) if isinstance(error, str) else UNKNOWN_ERROR
    return Failure(told, "retryable" not in body or truthy(body["retryable"]))


def truthy(value: object) -> bool:
    """Tell what JavaScript takes for true: every object, every text but the empty one, `"false"` too."""
    if isinstance(value, dict | list):
        return True
    return bool(value)


def units(text: str) -> int:
    """Return how long a text is in UTF-16 units."""
    return len(text) + sum(1 for character in text if ord(character) > 0xFFFF)


def cut(text: str, most: int) -> str:
    """Return a text's first UTF-16 units, a character that would be cut in two left out."""
    if units(text) <= most:
        return text
    return text.encode("utf-16-le", "surrogatepass")[: 2 * most].decode("utf-16-le", "ignore")


def _parts(body: Body) -> list[dict[str, str]] | None:
    if "parts" not in body:
        return None
    parts = body["parts"]
    if not isinstance(parts, list) or len(parts) > MOST_PARTS:
        raise WireError(400, "invalid_result_parts")
    return [_part(part) for part in parts]


def _part(part: object) -> dict[str, str]:
    if not isinstance(part, dict):
        raise WireError(400, "invalid_result_part")
    if "timeCode" in part and not isinstance(part["timeCode"], str):
        raise WireError(400, "invalid_result_part_timecode")
    if not isinstance(part.get("text"), str):
        raise WireError(400, "invalid_result_part_text")
    return {name: part[name] for name in ("timeCode", "text") if name in part}


def _said(body: Body) -> dict[str, Any]:
    for name, code in (("language", "invalid_language"), ("engine", "invalid_engine")):
        if name in body and not isinstance(body[name], str):
            raise WireError(400, code)
    if "duration" in body and not _is_duration(body["duration"]):
        raise WireError(400, "invalid_duration")
    if "metadata" in body and not isinstance(body["metadata"], dict):
        raise WireError(400, "invalid_engine_metadata")
    return {name: body[name] for name in ("language", "engine", "duration", "metadata") if name in body}


def _is_duration(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value) and value >= 0
    except OverflowError:
        # A whole number beyond what a float holds is infinite to JavaScript.
        return False
