"""A file's delivery: whole, the part that was asked for, or word that it is known already."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from aiohttp import hdrs, web

from bridge_agent.home.ranges import Part, Unsatisfiable, part_of
from bridge_agent.web.errors import ApiError
from bridge_agent.web.security import HEADERS


@dataclass(frozen=True)
class Content:
    """What is delivered; `read` returns up to so many bytes (second) from a place on (first)."""

    tag: str
    size: int
    content_type: str
    read: Callable[[int, int], Awaitable[bytes]]
    most_at_once: int
    headers: Mapping[str, str] = field(default_factory=dict)


async def deliver(request: web.Request, content: Content) -> web.StreamResponse:
    """Answer 200, 206, 304 or 416; raises ConnectionResetError when the file ends early."""
    headers = {
        **HEADERS,
        hdrs.ETAG: content.tag,
        hdrs.ACCEPT_RANGES: "bytes",
        hdrs.CACHE_CONTROL: "private, no-cache",
        **content.headers,
    }
    known = [tag.strip().removeprefix("W/") for tag in request.headers.get(hdrs.IF_NONE_MATCH, "").split(",")]
    if content.tag in known:
        return web.Response(status=304, headers=headers)
    try:
        part = part_of(request, content.size, content.tag)
    except Unsatisfiable:
        refusal = ApiError(416, "bad_range", "The file has no such part; ask for another range.").response()
        refusal.headers[hdrs.CONTENT_RANGE] = f"bytes */{content.size}"
        return refusal
    return await _send(request, content, part, headers)


async def _send(
    request: web.Request, content: Content, part: Part, headers: dict[str, str]
) -> web.StreamResponse:
    response = web.StreamResponse(status=206 if part.partial else 200, headers=headers)
    response.content_type = content.content_type
    response.content_length = part.size
    end = part.start + part.size
    if part.partial:
        response.headers[hdrs.CONTENT_RANGE] = f"bytes {part.start}-{end - 1}/{content.size}"
    await response.prepare(request)
    place = part.start
    while place < end and request.method != hdrs.METH_HEAD:
        piece = await content.read(place, min(content.most_at_once, end - place))
        if not piece:
            # The file has become shorter; the broken connection tells the receiver so.
            raise ConnectionResetError("the file ended early")
        await response.write(piece)
        place += len(piece)
    await response.write_eof()
    return response
