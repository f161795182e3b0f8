"""The sign-in page, and signing out."""

from aiohttp import web

from bridge_agent.page import access
from bridge_agent.page.forms import field
from bridge_agent.page.gates import form_token
from bridge_agent.page.links import local_path
from bridge_agent.page.pages import home_of
from bridge_agent.page.parts import parts_of, rooms_of
from bridge_agent.page.password import PagePassword
from bridge_agent.web.errors import ApiError
from bridge_agent.web.rendering import render


def add_routes(app: web.Application) -> None:
    """Add these routes."""
    app.router.add_get("/login", get_login)
    app.router.add_post("/login", post_login)
    app.router.add_post("/logout", post_logout)


async def get_login(request: web.Request) -> web.StreamResponse:
    """Ask for the password; who may enter already is led on."""
    wanted = local_path(request.query.get("next", "/"))
    if access.visitor_of(request).may_enter:
        raise home_of(request, wanted)
    return await _page(request, wanted)


async def post_login(request: web.Request) -> web.StreamResponse:
    """Sign a browser in and lead it to the page it wanted."""
    wanted = local_path(await field(request, "next"))
    try:
        secret = await access.sign_in(request, await field(request, "password"))
    except ApiError as error:
        return await _page(request, wanted, error.status, error.message)
    response = home_of(request, wanted)
    access.set_cookie(request, response, secret)
    raise response


async def post_logout(request: web.Request) -> web.StreamResponse:
    """Sign a browser out."""
    response = home_of(request, "/login")
    await access.sign_out(request, response)
    raise response


async def _page(request: web.Request, wanted: str, status: int = 200, trouble: str = "") -> web.Response:
    parts = parts_of(request)
    context = {
        "csrf": form_token(request),
        "next": wanted,
        "trouble": trouble,
        "has_password": await PagePassword(parts.settings, rooms_of(request).db).is_set(),
        "no_password": access.NO_PASSWORD,
    }
    return render(request, "login.html", context, status=status)
