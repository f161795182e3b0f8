"""Sending stretches of files: with their checksum, and a part of them where a range is asked for."""

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from aiohttp import hdrs, web

from bridge_agent.web.delivery import Content, LocalFile, deliver
from bridge_agent.worker_api.coordinator_v1 import answers
from bridge_agent.worker_api.uploads.records import Artifact
from bridge_agent.worker_api.uploads.refusals import NoSuchArtifact
from bridge_agent.worker_api.uploads.uploads import Stretch

CHECKSUM = "X-Checksum-SHA256"


async def send(
    request: web.Request, stretch: Stretch, headers: Mapping[str, str] | None = None
) -> web.StreamResponse:
    """Send a stretch; raises NoSuchArtifact for one of a file that is gone."""
    file = LocalFile(stretch.path, stretch.start) if stretch.content is None else _Held(stretch.content)
    more = {
        **(headers or {}),
        hdrs.CACHE_CONTROL: "no-store",
        "X-Content-Type-Options": "nosniff",
        CHECKSUM: stretch.sha256,
        answers.REQUEST_ID: answers.request_id(request),
    }
    content = Content(f'"{stretch.sha256}"', stretch.size, stretch.content_type, file.read, more)
    try:
        return await deliver(request, content, lambda: answers.error(request, 416, "range not satisfiable"))
    except FileNotFoundError as error:
        raise NoSuchArtifact from error
    finally:
        file.close()


def attachment(name: str) -> dict[str, str]:
    """Return the header that names a download."""
    shown = "".join(letter if letter.isprintable() else "_" for letter in name)
    bare = shown.encode("ascii", "replace").decode().replace("\\", "\\\\").replace('"', '\\"')
    more = "" if shown.isascii() else f"; filename*=UTF-8''{quote(shown, safe='')}"
    return {hdrs.CONTENT_DISPOSITION: f'attachment; filename="{bare}"{more}'}


def whole(found: Artifact, path: Path) -> Stretch:
    """Return all of an artifact, which lies at `path` where it is a file, as a stretch."""
    return Stretch(path, 0, found.size, found.content_type, found.sha256, found.content)


class _Held:
    """Bytes in memory, read as a file is."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    async def read(self, place: int, size: int) -> bytes:
        return self._content[place : place + size]

    def close(self) -> None:
        """Do nothing: there is nothing to close."""
