"""The cookie in which a browser carries its session."""

from aiohttp import hdrs, web

from bridge_agent.home.credentials import SESSION_S
from bridge_agent.home.keys import HOME
from bridge_agent.web.addresses import request_origin

COOKIE = "home_session"


def set_cookie(request: web.Request, response: web.StreamResponse, token: str) -> None:
    """Give a browser its session, for as long as an unused session lives."""
    response.set_cookie(
        COOKIE,
        token,
        max_age=int(SESSION_S),
        httponly=True,
        samesite="Lax",
        secure=request_origin(request, request.app[HOME].settings.trusted_proxies).startswith("https:"),
        path="/",
    )


def renew_cookie(request: web.Request, response: web.StreamResponse) -> None:
    """Let the cookie slide with its session whenever a person opens a page."""
    token = request.cookies.get(COOKIE)
    opened = request.method == hdrs.METH_GET and request.headers.get("Sec-Fetch-Mode") == "navigate"
    if token and opened and not response.prepared and COOKIE not in response.cookies:
        set_cookie(request, response, token)
