"""GET /healthz: is the process alive; unpaired and offline are healthy, a broken store or loop is not."""

import asyncio
import logging

from aiohttp import web

from bridge_agent.page.parts import Parts, parts_of
from bridge_agent.page.queries import sql
from bridge_agent.web.errors import json_response

_log = logging.getLogger(__name__)
_STORE_S = 5.0


def add_routes(app: web.Application) -> None:
    """Add the route."""
    app.router.add_get("/healthz", get_health)


async def get_health(request: web.Request) -> web.StreamResponse:
    """Answer 200 while store and loops work, else 503."""
    parts = parts_of(request)
    alive = parts.loops.healthy and await _store_answers(parts)
    link = parts.link
    body = {
        "alive": alive,
        "paired": link is not None and link.state != "unpaired",
        "reachable": link is not None and link.online,
    }
    return json_response(body, status=200 if alive else 503)


async def _store_answers(parts: Parts) -> bool:
    """Ask the store the least it can say; one that is not open yet counts as fine."""
    if parts.db is None:
        return True
    try:
        async with asyncio.timeout(_STORE_S):
            await parts.db.read(lambda c: c.execute(sql["answers"]).fetchone())
    except Exception as error:
        _log.error("The store does not answer: %s", error)
        return False
    return True
