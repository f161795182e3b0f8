"""Server-sent events: numbered, resumable, bounded for slow readers, ended at once at a stop."""

import asyncio
import contextlib
import secrets
from collections import deque
from collections.abc import Callable, Iterable

from aiohttp import web

from bridge_agent.base.clock import Clock
from bridge_agent.protocol.bridge import encode
from bridge_agent.web.security import HEADERS

_KEEP = 256
_PING_S = 15.0


class EventHub:
    """Spreads events to all open streams. An id is this process's own name and a number that grows."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._boot = secrets.token_hex(4)
        self._count = 0
        self._kept: deque[tuple[int, bytes]] = deque(maxlen=_KEEP)
        self._news: set[asyncio.Event] = set()
        self._closed = False

    @property
    def listeners(self) -> int:
        """How many streams are open."""
        return len(self._news)

    def publish(self, event: str, data: object) -> None:
        """Send an event to all streams."""
        self._count += 1
        self._kept.append((self._count, self._frame(self._count, event, data)))
        for news in self._news:
            news.set()

    def close(self) -> None:
        """End all streams now and take no new ones."""
        self._closed = True
        for news in self._news:
            news.set()

    async def stream(
        self, request: web.Request, greeting: Callable[[], Iterable[tuple[str, object]]]
    ) -> web.StreamResponse:
        """Serve one stream until its reader goes or the hub closes.

        A reader whose Last-Event-ID is still kept gets what it missed; any other, and one that was too slow,
        gets `greeting()`: the whole state as (event, data) pairs.
        """
        response = web.StreamResponse(
            headers={
                **HEADERS,
                "Content-Type": "text/event-stream; charset=utf-8",
                "Cache-Control": "no-store",
                "X-Accel-Buffering": "no",
            }
        )
        await response.prepare(request)
        news = asyncio.Event()
        self._news.add(news)
        try:
            with contextlib.suppress(ConnectionResetError):
                await self._feed(response, news, self._seen(request), greeting)
        finally:
            self._news.discard(news)
        return response

    async def _feed(
        self,
        response: web.StreamResponse,
        news: asyncio.Event,
        seen: int | None,
        greeting: Callable[[], Iterable[tuple[str, object]]],
    ) -> None:
        await response.write(b"retry: 2000\n\n")
        while not self._closed:
            news.clear()
            if seen is None or not self._still_kept(seen):
                frames = [self._frame(self._count, event, data) for event, data in greeting()]
                seen = self._count
            else:
                frames = [frame for number, frame in self._kept if number > seen]
                seen = self._count
            if frames:
                await response.write(b"".join(frames))
            if not news.is_set() and not await self._clock.wait(news, _PING_S):
                await response.write(b": still here\n\n")

    def _seen(self, request: web.Request) -> int | None:
        boot, dash, number = request.headers.get("Last-Event-ID", "").partition("-")
        if boot != self._boot or not dash or not number.isdigit() or int(number) > self._count:
            return None
        return int(number)

    def _still_kept(self, seen: int) -> bool:
        return seen == self._count or (bool(self._kept) and self._kept[0][0] <= seen + 1)

    def _frame(self, number: int, event: str, data: object) -> bytes:
        return b"id: %s-%d\nevent: %s\ndata: %s\n\n" % (
            self._boot.encode(),
            number,
            event.encode(),
            encode(data),
        )
