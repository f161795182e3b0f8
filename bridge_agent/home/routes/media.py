"""Media: the bytes of indexed audio files and covers, and the tokens with which other devices play them."""

import os
import stat
import sys
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from bridge_agent.base.errors import TryLater
from bridge_agent.base.threads import files
from bridge_agent.home.access import credential, takes
from bridge_agent.home.keys import HOME
from bridge_agent.home.library.model import MediaFile
from bridge_agent.protocol.bridge import API
from bridge_agent.web.bodies import id_in_path
from bridge_agent.web.delivery import OWN_HEADERS, Content, deliver
from bridge_agent.web.errors import ApiError, json_response

_CHUNK = 1 << 20
_DISK_S = 20.0


class DiskSilent(TryLater):
    """The disk that holds this file does not answer; check its network drive, then try again."""

    code = "disk_silent"


@dataclass(frozen=True)
class _Open:
    """An open file with what its headers need."""

    handle: int
    size: int
    tag: str


@takes("session", "api_key", "cast")
async def fetch(request: web.Request) -> web.StreamResponse:
    """GET /media/{library_id}/{path}: an indexed audio file or cover, nothing else of the disk."""
    library_id = id_in_path(request, "library_id")
    try:
        found = await request.app[HOME].library.media_file(library_id, request.match_info["path"])
        opened = None if found is None else await files.call(_DISK_S, _open, found.path)
    except TimeoutError as error:
        raise DiskSilent from error
    if found is None or opened is None:
        raise ApiError(
            404, "not_found", "There is no such audio file or cover; look in the book’s list of files."
        )
    try:
        return await _answer(request, found, opened)
    finally:
        os.close(opened.handle)


@takes("session")
async def cast(request: web.Request) -> web.Response:
    """POST /media/cast: 201 a token for one day, good for media routes alone."""
    token, expires_at = await request.app[HOME].credentials.mint_cast(credential(request).user)
    return json_response({"token": token, "expires_at": expires_at}, status=201)


async def _answer(request: web.Request, found: MediaFile, opened: _Open) -> web.StreamResponse:
    async def read(place: int, size: int) -> bytes:
        return await files.call(_DISK_S, _read, opened.handle, place, size)

    content = Content(
        tag=opened.tag,
        size=opened.size,
        content_type=found.content_type,
        read=read,
        headers={**OWN_HEADERS, **_for_other_devices(request)},
        most_at_once=_CHUNK,
    )
    return await deliver(request, content)


def _for_other_devices(request: web.Request) -> dict[str, str]:
    """Return what lets a cast receiver, a page of another origin, play what its token opens."""
    if credential(request).kind != "cast":
        return {}
    return {"Cross-Origin-Resource-Policy": "cross-origin", "Access-Control-Allow-Origin": "*"}


def _open(path: Path) -> _Open | None:
    """Open a file that may be served; None where it has gone or become something else."""
    flags = (
        os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    )
    try:
        handle = os.open(path, flags)
    except OSError:
        return None
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode):
        os.close(handle)
        return None
    return _Open(handle, found.st_size, f'"{found.st_size:x}-{found.st_mtime_ns:x}"')


def _read(handle: int, place: int, size: int) -> bytes:
    # pread moves no position: a read that outlives its request does no harm to whoever has the number next.
    if sys.platform != "win32":
        return os.pread(handle, size, place)
    os.lseek(handle, place, os.SEEK_SET)
    return os.read(handle, size)


def add_routes(app: web.Application) -> None:
    """Add these routes."""
    app.router.add_post(f"{API}/media/cast", cast)
    # A name may hold a line break, which the dot alone does not match.
    app.router.add_get(f"{API}/media/{{library_id}}/{{path:(?s:.+)}}", fetch)
