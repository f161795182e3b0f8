"""Signing in and out by the pages: with a password, or with a code made on another device."""

import secrets

from aiohttp import web

from bridge_agent.home.access import COOKIE, takes
from bridge_agent.home.console import access
from bridge_agent.home.console.access import CSRF, field, look_who, take_form, takes_page
from bridge_agent.home.console.pages import go, own_path, render
from bridge_agent.home.keys import HOME
from bridge_agent.store import Queries
from bridge_agent.web.addresses import client_address
from bridge_agent.web.errors import ApiError

_SQL = Queries(__package__, "console.sql")
_FORM_COOKIE = "home_form"
_SESSION_S = 30 * 86_400
_WRONG = "Name or password is not right; check both and try again."
_WRONG_CODE = "The code is wrong, used or older than 15 minutes; make a new one on the other device."


@takes(raw_body=True)
async def show(request: web.Request) -> web.StreamResponse:
    """GET /sign-in: the form; one who is signed in already is led on."""
    await look_who(request)
    if access.me(request) is not None:
        return go(request, own_path(request.query.get("next", "/")))
    return await _form(request, next=request.query.get("next", ""))


@takes(raw_body=True)
async def sign_in(request: web.Request) -> web.StreamResponse:
    """POST /sign-in: name and password for a session."""
    await take_form(request, request.cookies.get(_FORM_COOKIE, ""))
    home = request.app[HOME]
    address = client_address(request, home.settings.trusted_proxies)
    username, password = field(request, "username"), field(request, "password")
    try:
        home.failures.check(address)
    except ApiError as error:
        return await _refused(request, error, username)
    user = await home.users.check(username, password)
    if user is None:
        home.failures.failed(address)
        return await _form(request, error=_WRONG, username=username, status=401)
    home.failures.succeeded(address)
    token = await home.credentials.mint_session(user, _device_name(request))
    return _signed_in(request, token)


@takes(raw_body=True)
async def sign_in_by_code(request: web.Request) -> web.StreamResponse:
    """POST /sign-in/code: a device code for a session."""
    await take_form(request, request.cookies.get(_FORM_COOKIE, ""))
    home = request.app[HOME]
    address = client_address(request, home.settings.trusted_proxies)
    try:
        home.failures.check(address)
    except ApiError as error:
        return await _refused(request, error)
    redeemed = await home.credentials.redeem(field(request, "code"), _device_name(request))
    if redeemed is None:
        home.failures.failed(address)
        return await _form(request, error=_WRONG_CODE, status=401)
    home.failures.succeeded(address)
    return _signed_in(request, redeemed[1])


@takes_page()
async def sign_out(request: web.Request) -> web.StreamResponse:
    """POST /sign-out: end this session."""
    await request.app[HOME].credentials.log_out(access.held(request).hash)
    response = go(request, "/sign-in", said="signed-out")
    response.del_cookie(COOKIE, path="/")
    return response


def _signed_in(request: web.Request, token: str) -> web.Response:
    response = go(request, own_path(field(request, "next")))
    response.set_cookie(
        COOKIE,
        token,
        max_age=_SESSION_S,
        path="/",
        httponly=True,
        samesite="Lax",
        secure=request.secure,
    )
    response.del_cookie(_FORM_COOKIE, path="/")
    return response


async def _refused(request: web.Request, error: ApiError, username: str = "") -> web.Response:
    response = await _form(request, error=error.message, username=username, status=error.status)
    response.headers["Retry-After"] = error.response().headers["Retry-After"]
    return response


async def _form(
    request: web.Request, *, error: str = "", username: str = "", next: str | None = None, status: int = 200
) -> web.Response:
    wanted = own_path(field(request, "next") if next is None else next)
    known = request.cookies.get(_FORM_COOKIE, "")
    bound = known if len(known) == 22 else secrets.token_urlsafe(16)
    first = await request.app[HOME].db.read(lambda c: c.execute(_SQL["ever_signed_in"]).fetchone()) is None
    response = render(
        request,
        "sign_in.html",
        {
            "title": "Sign in",
            "csrf": request.app[CSRF].token(bound),
            "error": error,
            "username": username,
            "next": wanted,
            "wanted": wanted != "/",
            "first": first,
        },
        status=status,
    )
    # Until there is a session, the form's token is bound to a cookie that only this site's pages send.
    response.set_cookie(
        _FORM_COOKIE, bound, path="/", httponly=True, samesite="Strict", secure=request.secure
    )
    return response


def _device_name(request: web.Request) -> str:
    """Name a session after the browser and system it was made with."""
    agent = request.headers.get("User-Agent", "")
    browsers = (
        ("Firefox/", "Firefox"),
        ("Edg/", "Edge"),
        ("OPR/", "Opera"),
        ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
    )
    systems = (
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("Android", "Android"),
        ("Windows", "Windows"),
        ("Mac OS X", "a Mac"),
        ("Linux", "Linux"),
    )
    browser = next((name for mark, name in browsers if mark in agent), "A browser")
    system = next((name for mark, name in systems if mark in agent), "")
    return f"{browser} on {system}" if system else browser


def add_routes(app: web.Application) -> None:
    """Add the pages of signing in."""
    app.router.add_get("/sign-in", show)
    app.router.add_post("/sign-in", sign_in)
    app.router.add_post("/sign-in/code", sign_in_by_code)
    app.router.add_post("/sign-out", sign_out)
