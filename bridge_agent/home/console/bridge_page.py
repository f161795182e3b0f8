"""Settings, Bridge: making a pairing code, the Bridge's status, unpairing."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from aiohttp import web

from bridge_agent.home.console import access
from bridge_agent.home.console.access import takes_page
from bridge_agent.home.console.compose import compose_file
from bridge_agent.home.console.pages import ONCE, go, render
from bridge_agent.home.console.shared import latest_jobs, library_names
from bridge_agent.home.console.views_bridge import bridge_view
from bridge_agent.home.console.words import counted, long_or_short
from bridge_agent.home.keys import HOME
from bridge_agent.home.pairing import MadeCode
from bridge_agent.home.routes.pairing import request_origin
from bridge_agent.settings import is_loopback_name


@dataclass(frozen=True)
class ShownCode:
    """A pairing code as the page shows it, once."""

    code: str
    server_url: str
    lines: str
    compose: str
    here_only: bool


@takes_page(admin=True)
async def show(request: web.Request) -> web.StreamResponse:
    """GET /settings/bridge."""
    home = request.app[HOME]
    bridge = await home.bridge.view()
    made = request.app[ONCE].take(access.held(request).hash, request.query.get("once", ""))
    return render(
        request,
        "bridge.html",
        {
            "title": "Bridge",
            "place": "settings",
            "tab": "bridge",
            "live": "bridge job library",
            "bridge": bridge_view(bridge, library_names(home), home.clock.now()),
            "made": _shown(made, [library.root for library in home.library.libraries()])
            if isinstance(made, MadeCode)
            else None,
            "jobs": await latest_jobs(home, bridge, 5),
            "code_lives": _lives(home.settings.pair_code_seconds),
        },
    )


@takes_page(admin=True)
async def make_code(request: web.Request) -> web.StreamResponse:
    """POST /settings/bridge/code: a new code, shown on the page that follows and never again (R-002)."""
    held = access.held(request)
    made = await request.app[HOME].pairing.make_code(held, request_origin(request))
    return go(request, "/settings/bridge", once=request.app[ONCE].put(held.hash, made))


@takes_page(admin=True)
async def ask_unpair(request: web.Request) -> web.StreamResponse:
    """GET /settings/bridge/unpair: the question before it."""
    return render(
        request,
        "confirm.html",
        {
            "title": "Unpair the Bridge",
            "place": "settings",
            "tab": "bridge",
            "question": "Unpair this Bridge?",
            "lines": [
                "It is refused from its next call on, and what it is doing stops there. Its jobs stay here "
                "and wait for the next Bridge.",
                "The Bridge itself goes on trying until it is unpaired on its own page too, or paired anew.",
            ],
            "action": "settings/bridge/unpair",
            "label": "Unpair",
            "keep": "Keep it",
            "back": "settings/bridge",
        },
    )


@takes_page(admin=True)
async def unpair(request: web.Request) -> web.StreamResponse:
    """POST /settings/bridge/unpair (R-024)."""
    await request.app[HOME].pairing.unpair()
    return go(request, "/settings/bridge", said="unpaired")


def _shown(made: MadeCode, roots: list[str]) -> ShownCode:
    lines = "\n".join(f"{name}={value}" for name, value in made.env.items())
    # An address that means this computer itself leads a Bridge on another one, or in a container, to itself.
    here_only = is_loopback_name(urlsplit(made.server_url).hostname or "")
    return ShownCode(made.code, made.server_url, lines, compose_file(made.env, roots), here_only)


def _lives(seconds: float) -> str:
    """Say how long a code lives, as a sentence needs it."""
    return counted(round(seconds / 60), "minute") if seconds >= 60 else long_or_short(seconds)


def add_routes(app: web.Application) -> None:
    """Add the pages of the Bridge."""
    app.router.add_get("/settings/bridge", show)
    app.router.add_post("/settings/bridge/code", make_code)
    app.router.add_get("/settings/bridge/unpair", ask_unpair)
    app.router.add_post("/settings/bridge/unpair", unpair)
