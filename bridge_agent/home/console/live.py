"""The stream that tells open pages when to look again."""

from collections.abc import Iterable

from aiohttp import web

from bridge_agent.home.access import takes
from bridge_agent.home.keys import HOME


@takes("session", admin=True)
async def events(request: web.Request) -> web.StreamResponse:
    """GET /console/events: `job`, `bridge` and `library`, as they happen."""
    return await request.app[HOME].events.stream(request, _greeting)


def _greeting() -> Iterable[tuple[str, object]]:
    """Say that something may have been missed: the page then looks once."""
    return [("look", {})]


def add_routes(app: web.Application) -> None:
    """Add the stream."""
    app.router.add_get("/console/events", events)
