"""A file's delivery: whole, the part that was asked for, or word that it is known already."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from aiohttp import hdrs, web

from bridge_agent.base.threads import in_thread
from bridge_agent.web.errors import ApiError
from bridge_agent.web.ranges import Part, Unsatisfiable, part_of
from bridge_agent.web.security import HEADERS

OWN_HEADERS = {**HEADERS, hdrs.CACHE_CONTROL: "private, no-cache"}
"""The headers of a file that is delivered to people."""
_CHUNK = 1 << 18

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Content:
    """What is delivered; `read` returns up to so many bytes (second) from a place on (first)."""

    tag: str
    size: int
    content_type: str
    read: Callable[[int, int], Awaitable[bytes]]
    headers: Mapping[str, str]
    most_at_once: int = _CHUNK


class LocalFile:
    """A file of the data folder, opened when it is first read and to be closed by whoever made this."""

    def __init__(self, path: Path, start: int = 0) -> None:
        """Read from `start` on, as if the file began there."""
        self._path = path
        self._start = start
        self._file: BinaryIO | None = None

    async def read(self, place: int, size: int) -> bytes:
        """Return up to `size` bytes from a place on; raises FileNotFoundError, OSError."""
        return await in_thread(self._read, place, size)

    def close(self) -> None:
        """Close it; harmless where it was never opened."""
        if self._file is not None:
            self._file.close()

    def _read(self, place: int, size: int) -> bytes:
        if self._file is None:
            self._file = self._path.open("rb")
        self._file.seek(self._start + place)
        return self._file.read(size)


def bad_range() -> web.Response:
    """Return the refusal of a range that the file does not have, in the form of the JSON routes."""
    return ApiError(416, "bad_range", "The file has no such part; ask for another range.").response()


async def deliver(
    request: web.Request, content: Content, refusal: Callable[[], web.Response] = bad_range
) -> web.StreamResponse:
    """Answer 200, 206, 304 or a 416 by `refusal`.

    Raises what `read` does before anything is sent. Once the headers are out there can be no other answer:
    a file that ends early, and whatever else goes wrong then, is a ConnectionResetError.
    """
    headers = {**content.headers, hdrs.ETAG: content.tag, hdrs.ACCEPT_RANGES: "bytes"}
    known = [tag.strip().removeprefix("W/") for tag in request.headers.get(hdrs.IF_NONE_MATCH, "").split(",")]
    if content.tag in known:
        return web.Response(status=304, headers=headers)
    try:
        part = part_of(request, content.size, content.tag)
    except Unsatisfiable:
        refused = refusal()
        refused.headers[hdrs.CONTENT_RANGE] = f"bytes */{content.size}"
        return refused
    return await _send(request, content, part, headers)


async def _send(
    request: web.Request, content: Content, part: Part, headers: dict[str, str]
) -> web.StreamResponse:
    response = web.StreamResponse(status=206 if part.partial else 200, headers=headers)
    response.headers[hdrs.CONTENT_TYPE] = content.content_type
    response.content_length = part.size
    end = part.start + part.size
    if part.partial:
        response.headers[hdrs.CONTENT_RANGE] = f"bytes {part.start}-{end - 1}/{content.size}"
    left = 0 if request.method == hdrs.METH_HEAD else part.size
    # Before the headers go: what can't be read is an error then, and no answer that breaks off.
    piece = await content.read(part.start, min(content.most_at_once, left))
    await response.prepare(request)
    try:
        while left:
            if not piece:
                # The file has become shorter; the broken connection tells the receiver so.
                raise ConnectionResetError("the file ended early")
            await response.write(piece)
            left -= len(piece)
            piece = await content.read(end - left, min(content.most_at_once, left)) if left else b""
        await response.write_eof()
    except ConnectionResetError:
        raise
    except Exception as error:
        _log.warning("A file can’t be sent to its end: %s", error)
        raise ConnectionResetError("the file can't be read to its end") from error
    return response
