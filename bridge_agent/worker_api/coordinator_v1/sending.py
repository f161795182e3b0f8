"""Sending stretches of files: with their checksum, and a part of them where a range is asked for."""

from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

from aiohttp import hdrs, web

from bridge_agent.base.threads import in_thread
from bridge_agent.worker_api.coordinator_v1 import answers
from bridge_agent.worker_api.uploads.refusals import NoSuchArtifact
from bridge_agent.worker_api.uploads.uploads import Stretch

CHECKSUM = "X-Checksum-SHA256"
_CHUNK = 1 << 18


async def send(
    request: web.Request, stretch: Stretch, headers: Mapping[str, str] | None = None
) -> web.StreamResponse:
    """Send a stretch of a file; raises NoSuchArtifact for one that is gone."""
    try:
        file = await in_thread(stretch.path.open, "rb")
    except FileNotFoundError as error:
        raise NoSuchArtifact from error
    with file:
        return await _send(request, stretch, file, dict(headers or {}))


def attachment(name: str) -> dict[str, str]:
    """Return the header that names a download."""
    shown = "".join(letter if letter.isprintable() else "_" for letter in name)
    bare = shown.encode("ascii", "replace").decode().replace("\\", "\\\\").replace('"', '\\"')
    more = "" if shown.isascii() else f"; filename*=UTF-8''{quote(shown, safe='')}"
    return {hdrs.CONTENT_DISPOSITION: f'attachment; filename="{bare}"{more}'}


async def _send(
    request: web.Request, stretch: Stretch, file: BinaryIO, headers: dict[str, str]
) -> web.StreamResponse:
    tag = f'"{stretch.sha256}"'
    wanted = _wanted(request, stretch.size, tag)
    if wanted is None:
        refusal = answers.error(request, 416, "range not satisfiable")
        refusal.headers[hdrs.CONTENT_RANGE] = f"bytes */{stretch.size}"
        return refusal
    start, end = wanted
    partial = (start, end) != (0, stretch.size)
    response = web.StreamResponse(status=206 if partial else 200)
    response.headers.update(headers)
    response.headers.update(
        {
            hdrs.CONTENT_TYPE: stretch.content_type,
            hdrs.ETAG: tag,
            hdrs.ACCEPT_RANGES: "bytes",
            hdrs.CACHE_CONTROL: "no-store",
            "X-Content-Type-Options": "nosniff",
            CHECKSUM: stretch.sha256,
            answers.REQUEST_ID: answers.request_id(request),
        }
    )
    response.content_length = end - start
    if partial:
        response.headers[hdrs.CONTENT_RANGE] = f"bytes {start}-{end - 1}/{stretch.size}"
    await response.prepare(request)
    if request.method != hdrs.METH_HEAD:
        for at in range(start, end, _CHUNK):
            size = min(_CHUNK, end - at)
            await response.write(await in_thread(_read, file, stretch.start + at, size))
    await response.write_eof()
    return response


def _wanted(request: web.Request, size: int, tag: str) -> tuple[int, int] | None:
    """Return the bytes asked for, all where no range is understood; None where there are none such."""
    only_if = request.headers.get(hdrs.IF_RANGE)
    try:
        asked = request.http_range if only_if in (None, tag) else slice(None)
    except ValueError:
        return 0, size
    if asked.start is None:
        return 0, size
    start = max(0, size + asked.start) if asked.start < 0 else asked.start
    if start >= size:
        return None
    return start, size if asked.stop is None else min(asked.stop, size)


def _read(file: BinaryIO, start: int, size: int) -> bytes:
    file.seek(start)
    return file.read(size)


def whole(path: Path, content_type: str, sha256: str, size: int) -> Stretch:
    """Return a whole file as a stretch."""
    return Stretch(path, 0, size, content_type, sha256)
