"""Signing in and out by the pages: with a password, or with a code made on another device."""

import secrets

from aiohttp import web

from bridge_agent.home.access import COOKIE, takes
from bridge_agent.home.console import access
from bridge_agent.home.console.access import CSRF, field, look_who, take_form, takes_page
from bridge_agent.home.console.browsers import browser_name
from bridge_agent.home.console.pages import go, own_path, render
from bridge_agent.home.keys import HOME
from bridge_agent.home.routes.auth import caller, set_cookie
from bridge_agent.store import Queries
from bridge_agent.web.errors import ApiError

_SQL = Queries(__package__, "console.sql")
_FORM_COOKIE = "home_form"
_BOUND_LENGTH = 22
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
    username, password = field(request, "username"), field(request, "password")
    try:
        user = await home.guessing.attempt(caller(request), home.users.check(username, password))
    except ApiError as error:
        return await _refused(request, error, username=username)
    if user is None:
        return await _form(request, error=_WRONG, username=username, status=401)
    return _signed_in(request, await home.credentials.mint_session(user, _device(request)))


@takes(raw_body=True)
async def sign_in_by_code(request: web.Request) -> web.StreamResponse:
    """POST /sign-in/code: a device code for a session."""
    await take_form(request, request.cookies.get(_FORM_COOKIE, ""))
    home = request.app[HOME]
    work = home.credentials.redeem(field(request, "code"), _device(request))
    try:
        redeemed = await home.guessing.attempt(caller(request), work)
    except ApiError as error:
        return await _refused(request, error, by_code=True)
    if redeemed is None:
        return await _form(request, error=_WRONG_CODE, by_code=True, status=401)
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
    set_cookie(request, response, token)
    response.del_cookie(_FORM_COOKIE, path="/")
    return response


async def _refused(
    request: web.Request, error: ApiError, *, username: str = "", by_code: bool = False
) -> web.Response:
    response = await _form(
        request, error=error.message, username=username, by_code=by_code, status=error.status
    )
    response.headers["Retry-After"] = error.response().headers["Retry-After"]
    return response


async def _form(
    request: web.Request,
    *,
    error: str = "",
    username: str = "",
    by_code: bool = False,
    next: str | None = None,
    status: int = 200,
) -> web.Response:
    wanted = own_path(field(request, "next") if next is None else next)
    known = request.cookies.get(_FORM_COOKIE, "")
    bound = known if len(known) == _BOUND_LENGTH else secrets.token_urlsafe(16)
    first = await request.app[HOME].db.read(lambda c: c.execute(_SQL["ever_signed_in"]).fetchone()) is None
    response = render(
        request,
        "sign_in.html",
        {
            "title": "Sign in",
            "csrf": request.app[CSRF].token(bound),
            "error": error,
            "username": username,
            "by_code": by_code,
            "next": wanted,
            "wanted": wanted != "/",
            "first": first,
        },
        status=status,
    )
    # Until there is a session, the form's token is bound to a cookie that only this site's pages send.
    response.set_cookie(
        _FORM_COOKIE, bound, path="/", httponly=True, samesite="Strict", secure=request.scheme == "https"
    )
    return response


def _device(request: web.Request) -> str:
    return browser_name(request.headers.get("User-Agent", ""))


def add_routes(app: web.Application) -> None:
    """Add the pages of signing in."""
    app.router.add_get("/sign-in", show)
    app.router.add_post("/sign-in", sign_in)
    app.router.add_post("/sign-in/code", sign_in_by_code)
    app.router.add_post("/sign-out", sign_out)
