"""Which part of a file a request asks for: Range and If-Range, one part at most."""

from dataclasses import dataclass

from aiohttp import hdrs, web


class Unsatisfiable(Exception):
    """The file has no such part."""


@dataclass(frozen=True)
class Part:
    """A stretch of bytes, and whether it is less than was there."""

    start: int
    size: int
    partial: bool


def part_of(request: web.Request, size: int, tag: str) -> Part:
    """Return the part of a file of `size` bytes that a request asks for; raises Unsatisfiable.

    A range of a form that is not understood counts as none; so does one meant for another content (If-Range).
    """
    whole = Part(0, size, False)
    wanted = request.headers.get(hdrs.IF_RANGE)
    if wanted is not None and wanted.strip() != tag:
        return whole
    try:
        asked = request.http_range
    except ValueError:
        return whole
    start, stop = asked.start, asked.stop
    if start is None:
        return whole
    if start < 0:
        start = max(0, size + start)
    if start >= size:
        raise Unsatisfiable
    end = size if stop is None else min(stop, size)
    return Part(start, end - start, True)
