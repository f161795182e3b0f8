"""Settings, API keys: made, shown once, removed."""

from dataclasses import dataclass

from aiohttp import web

from bridge_agent.home.console import access
from bridge_agent.home.console.access import field, takes_page
from bridge_agent.home.console.pages import ONCE, go, render
from bridge_agent.home.console.words import State, counted
from bridge_agent.home.keys import HOME
from bridge_agent.web.bodies import id_in_path


@dataclass(frozen=True)
class MadeKey:
    """A key that was just made, with the token that is shown once."""

    name: str
    token: str


@takes_page(admin=True)
async def show(request: web.Request) -> web.StreamResponse:
    """GET /settings/keys."""
    return await _list(request)


@takes_page(admin=True)
async def make(request: web.Request) -> web.StreamResponse:
    """POST /settings/keys: a new key, its token shown on the page that follows and never again."""
    name = field(request, "name").strip()
    if not name:
        return await _list(
            request, error="A key needs a name, so that you know it later; give it one.", status=400
        )
    held = access.held(request)
    _, token = await request.app[HOME].credentials.mint_api_key(held.user, name)
    ticket = request.app[ONCE].put(held.hash, MadeKey(name, token))
    return go(request, "/settings/keys", once=ticket)


@takes_page(admin=True)
async def ask_remove(request: web.Request) -> web.StreamResponse:
    """GET /settings/keys/{id}/remove: the question before it."""
    id = id_in_path(request)
    found = [key for key in await request.app[HOME].credentials.api_keys() if key.id == id]
    if not found:
        raise web.HTTPNotFound
    return render(
        request,
        "confirm.html",
        {
            "title": "Remove a key",
            "place": "settings",
            "tab": "keys",
            "question": f"Remove the key “{found[0].name}”?",
            "lines": [
                "What uses it is refused from then on. It can’t be brought back; a new one can be made."
            ],
            "action": f"settings/keys/{id}/remove",
            "label": "Remove",
            "keep": "Keep it",
            "back": "settings/keys",
        },
    )


@takes_page(admin=True)
async def remove(request: web.Request) -> web.StreamResponse:
    """POST /settings/keys/{id}/remove."""
    await request.app[HOME].credentials.revoke_api_key(id_in_path(request))
    return go(request, "/settings/keys", said="key-removed")


async def _list(request: web.Request, *, error: str = "", status: int = 200) -> web.Response:
    keys = await request.app[HOME].credentials.api_keys()
    made = request.app[ONCE].take(access.held(request).hash, request.query.get("once", ""))
    count = counted(len(keys), "program has", "programs have") if keys else "No program has"
    state = State(f"{count} a key to this server.", "A key is shown once, when it is made.")
    return render(
        request,
        "keys.html",
        {
            "title": "API keys",
            "place": "settings",
            "tab": "keys",
            "state": state,
            "keys": keys,
            "made": made if isinstance(made, MadeKey) else None,
            "error": error,
            "name": "",
        },
        status=status,
    )


def add_routes(app: web.Application) -> None:
    """Add the pages of the API keys."""
    app.router.add_get("/settings/keys", show)
    app.router.add_post("/settings/keys", make)
    app.router.add_get("/settings/keys/{id}/remove", ask_remove)
    app.router.add_post("/settings/keys/{id}/remove", remove)
