"""What a failed request is answered with: JSON on the API, a page with the same sentence elsewhere."""

from aiohttp import web

from bridge_agent.page.gates import is_json
from bridge_agent.web.errors import ApiError, Handler, as_api_error
from bridge_agent.web.rendering import render

_TITLES = {
    403: "This page does not open here.",
    404: "There is nothing at this address.",
    405: "That can’t be done here.",
    413: "That was too large.",
    429: "Too many tries.",
    500: "Something went wrong.",
}


@web.middleware
async def worded(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer every failure in one form; an unknown one is logged and says nothing of its inside."""
    try:
        return await handler(request)
    except web.HTTPException as error:
        if error.status < 400:
            raise
        return _answer(request, as_api_error(error, request.path))
    except ConnectionResetError:
        raise
    except Exception as error:
        return _answer(request, as_api_error(error, f"{request.method} {request.path}"))


def _answer(request: web.Request, error: ApiError) -> web.Response:
    if is_json(request):
        return error.response()
    template = "starting.html" if error.code == "starting" else "error.html"
    context = {
        "title": _TITLES.get(error.status, "That did not work."),
        "sentence": error.message,
        "status": error.status,
    }
    response = render(request, template, context, status=error.status)
    if "Retry-After" in (plain := error.response().headers):
        response.headers["Retry-After"] = plain["Retry-After"]
    return response
