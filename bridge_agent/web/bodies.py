"""Bodies of JSON routes: read with a limit, refused when they are forms or text, turned into messages."""

import re
from typing import TypeVar

import msgspec
from aiohttp import web

from bridge_agent.protocol.bridge import decode
from bridge_agent.web.errors import ApiError

T = TypeVar("T")

MOST_BYTES = 1 << 20
_WHOLE = re.compile(r"[+-]?[0-9]{1,100}\Z")


def refuse_foreign_type(request: web.Request) -> None:
    """Raise a 415 for a body that a web form of another site could send; no body needs no type."""
    if request.can_read_body and request.content_type not in ("application/json", "application/octet-stream"):
        raise ApiError(
            415, "unsupported_type", "Send the body as application/json; forms and text are not taken here."
        )


async def read_json(
    request: web.Request, kind: type[T], *, code: str = "bad_request", most: int = MOST_BYTES
) -> T:
    """Read a body as a message; an absent one counts as `{}`.

    Raises ApiError 400 with `code` and the sentence that names what is wrong, 413 over `most` bytes, 415.
    """
    refuse_foreign_type(request)
    raw = await read_limited(request, most)
    try:
        return decode(raw or b"{}", kind)
    except msgspec.ValidationError as error:
        raise ApiError(400, code, f"The body is not what this address takes: {error}.") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ApiError(400, code, "The body is not valid JSON; send an object.") from error


async def read_limited(request: web.Request, most: int, code: str = "too_large") -> bytes:
    """Read a body of at most `most` bytes; raises ApiError 413 with `code`."""
    too_large = ApiError(413, code, f"The body is larger than {most} bytes; send less.")
    if (request.content_length or 0) > most:
        raise too_large
    raw = bytearray()
    async for piece in request.content.iter_chunked(1 << 16):
        raw += piece
        if len(raw) > most:
            raise too_large
    return bytes(raw)


def int_query(request: web.Request, name: str, default: int, least: int, most: int) -> int:
    """Read a whole number from the query, held to its bounds; raises ApiError 400 for anything else."""
    text = request.query.get(name, "")
    if not text:
        return default
    # int() would take “1_0” and the figures of other scripts too.
    if not _WHOLE.match(text):
        raise ApiError(400, "bad_request", f"“{name}” takes a whole number; send one.")
    return max(least, min(int(text), most))


def id_in_path(request: web.Request, name: str = "id") -> int:
    """Read a positive id from the path; raises ApiError 404 for anything else."""
    text = request.match_info[name]
    if not text.isascii() or not text.isdigit() or len(text) > 18 or int(text) < 1:
        raise ApiError(404, "not_found", "There is nothing with this id.")
    return int(text)
