"""Bodies of this wire: JSON objects of up to 1 MiB; anything that is not called JSON counts as none."""

import json
from collections.abc import Mapping
from typing import Any

import msgspec
from aiohttp import web

from bridge_agent.web.bodies import MOST_BYTES, read_limited
from bridge_agent.web.errors import ApiError
from bridge_agent.worker_api.transcription_v1.errors import WireError

Body = Mapping[str, Any]


async def read(request: web.Request) -> Body:
    """Return a request's body; `{}` for none, for one of another type, and for an array.

    Raises WireError 400 `invalid_json`, 413 `payload_too_large`.
    """
    if not request.can_read_body or request.content_type != "application/json":
        return {}
    try:
        raw = await read_limited(request, MOST_BYTES)
    except ApiError as error:
        raise WireError(413, "payload_too_large") from error
    except web.RequestPayloadError as error:
        # It is not packed in the way that its header says.
        raise WireError(400, "invalid_json") from error
    if not raw.strip():
        return {}
    found = _decoded(raw)
    if not isinstance(found, dict | list):
        raise WireError(400, "invalid_json")
    return found if isinstance(found, dict) else {}


def _decoded(raw: bytes) -> object:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return _half_a_character(raw)


def _half_a_character(raw: bytes) -> object:
    """Read what JavaScript writes of a text that was cut within a character: half of a surrogate pair."""
    try:
        found = json.loads(raw.decode("utf-8-sig"), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise WireError(400, "invalid_json") from error
    return _mended(found)


def _refuse(_name: str) -> object:
    raise ValueError("NaN and Infinity are no JSON")


def _mended(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_mended(each) for each in value]
    if isinstance(value, dict):
        return {_mended(name): _mended(each) for name, each in value.items()}
    return value
