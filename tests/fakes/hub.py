"""A hub of speech models on 127.0.0.1, which can drop connections, lie about sizes and know no ranges."""

import asyncio
import hashlib
from dataclasses import dataclass, field

from aiohttp import web

REPOSITORY = "Systran/faster-whisper-tiny"


def git_name(content: bytes) -> str:
    return hashlib.sha1(f"blob {len(content)}\0".encode() + content).hexdigest()


@dataclass
class FakeHub:
    """Serves `files`; each way to misbehave is a field, and `asked` lists the ranges that were asked for."""

    files: dict[str, bytes]
    drop_after: int | None = None
    """Close the connection after this many bytes, as often as `drops` says."""
    drops: int = 0
    knows_ranges: bool = True
    says_size: int | None = None
    """The size the listing names for model.bin."""
    damaged: int = 0
    """How often model.bin comes with a wrong byte."""
    busy: int = 0
    """How many requests are answered 503 first."""
    pause: float = 0.0
    listing_status: int = 200
    asked: list[tuple[str, str]] = field(default_factory=list)
    port: int = 0

    async def __aenter__(self) -> "FakeHub":
        app = web.Application()
        app.router.add_get("/api/models/{owner}/{name}/revision/main", self._listing)
        app.router.add_get("/{owner}/{name}/resolve/{revision}/{file}", self._resolve)
        app.router.add_get("/cdn/{file}", self._file)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def _listing(self, request: web.Request) -> web.Response:
        self.asked.append(("listing", ""))
        if self.listing_status != 200:
            return web.Response(status=self.listing_status, text="<html>no</html>")
        siblings = []
        for name, content in self.files.items():
            size = len(content)
            if name == "model.bin" and self.says_size is not None:
                size = self.says_size
            entry = {"rfilename": name, "size": size, "blobId": git_name(content)}
            if name == "model.bin":
                entry["lfs"] = {
                    "sha256": hashlib.sha256(content).hexdigest(),
                    "size": size,
                    "pointerSize": 134,
                }
            siblings.append(entry)
        return web.json_response({"sha": "abc123", "siblings": siblings})

    async def _resolve(self, request: web.Request) -> web.Response:
        # As the real one: large files lie elsewhere.
        raise web.HTTPFound(f"/cdn/{request.match_info['file']}")

    async def _file(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["file"]
        wanted = request.headers.get("Range", "")
        self.asked.append((name, wanted))
        if self.busy:
            self.busy -= 1
            return web.Response(status=503)
        content = self.files[name]
        if name == "model.bin" and self.damaged:
            self.damaged -= 1
            content = content[:100] + bytes([content[100] ^ 1]) + content[101:]
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and self.knows_ranges else 0
        response = web.StreamResponse(status=206 if start else 200)
        if start:
            response.headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        response.content_length = len(content) - start
        await response.prepare(request)
        await self._send(request, response, content[start:])
        return response

    async def _send(self, request: web.Request, response: web.StreamResponse, content: bytes) -> None:
        dropping = self.drop_after is not None and self.drops > 0
        for at in range(0, len(content), 16384):
            if dropping and at >= (self.drop_after or 0):
                self.drops -= 1
                assert request.transport is not None
                request.transport.abort()
                return
            await response.write(content[at : at + 16384])
            if self.pause:
                await asyncio.sleep(self.pause)
