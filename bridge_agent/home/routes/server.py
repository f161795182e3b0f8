"""What anybody may ask: who this server is, and whether it lives."""

import sqlite3

from aiohttp import web

from bridge_agent import __version__
from bridge_agent.base.errors import BridgeError
from bridge_agent.home.access import takes
from bridge_agent.home.keys import HOME
from bridge_agent.protocol.bridge import API
from bridge_agent.web.errors import json_response


@takes()
async def server(request: web.Request) -> web.Response:
    """GET /server: its name, version and, while the Bridge is online, what that can do (R-042)."""
    home = request.app[HOME]
    capability = await home.bridge.capability()
    return json_response({"name": home.settings.name, "version": __version__, **capability})


@takes()
async def healthz(request: web.Request) -> web.Response:
    """GET /healthz: 503 where the store or a loop is broken."""
    home = request.app[HOME]
    try:
        await home.db.read(lambda c: c.execute("SELECT 1").fetchone())
        alive = home.healthy()
    except (sqlite3.Error, BridgeError):
        alive = False
    if alive:
        return json_response({"alive": True})
    return json_response({"alive": False}, status=503, headers={"Retry-After": "5"})


def add_routes(app: web.Application) -> None:
    """Add these routes."""
    app.router.add_get(f"{API}/server", server)
    app.router.add_get("/healthz", healthz)
