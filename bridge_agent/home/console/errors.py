"""Failures of the pages, told in the same voice; one who is not signed in is shown the way in."""

from http import HTTPStatus

from aiohttp import web

from bridge_agent.home.console.access import look_who
from bridge_agent.home.console.pages import go, render
from bridge_agent.protocol.bridge import API
from bridge_agent.web.errors import ApiError, Handler, as_api_error
from bridge_agent.web.rendering import STATIC
from bridge_agent.web.security import SAFE_METHODS

_HEADINGS = {
    400: "That could not be read.",
    403: "This is not open to you.",
    404: "There is nothing here.",
    405: "That is not done this way.",
    413: "That was too much at once.",
    429: "Too many tries.",
    503: "Not just now.",
}


@web.middleware
async def page_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer every failure outside the JSON routes with a page; no sign-in leads to the sign-in page."""
    if request.path.startswith(f"{API}/"):
        return await handler(request)
    try:
        return await handler(request)
    except web.HTTPException as error:
        if error.status < 400 or request.path.startswith(f"/{STATIC}/"):
            raise
        return await error_page(request, as_api_error(error, request.path))
    except ConnectionResetError:
        raise
    except Exception as error:
        worded = as_api_error(error, f"{request.method} {request.path}")
        if worded.status == HTTPStatus.UNAUTHORIZED:
            return to_sign_in(request)
        return await error_page(request, worded)


def to_sign_in(request: web.Request) -> web.Response:
    """Lead to the sign-in page, and from there back to where one wanted to go."""
    if request.method in SAFE_METHODS:
        wanted = request.path_qs
        return go(request, "/sign-in", **({} if wanted == "/" else {"next": wanted}))
    return go(request, "/sign-in", said="session-over")


async def error_page(request: web.Request, error: ApiError) -> web.Response:
    """Render the page of a failure."""
    try:
        await look_who(request)
    except Exception as failure:
        # The store itself may be what failed: the page is then shown as to a stranger.
        as_api_error(failure, "looking up who is signed in")
    heading = _HEADINGS.get(error.status, "Something went wrong here.")
    response = render(
        request,
        "error.html",
        {
            "title": heading.rstrip("."),
            "heading": heading,
            "sentence": error.message,
            "tone": "bad" if error.status >= 500 else "warn",
        },
        status=error.status,
    )
    if error.status in (429, 503):
        response.headers["Retry-After"] = error.response().headers["Retry-After"]
    return response
