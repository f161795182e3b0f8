"""Libraries and their books, as everyone who is signed in sees them."""

from aiohttp import web

from bridge_agent.home.access import takes
from bridge_agent.home.bridge_jobs import NoSuchLibrary
from bridge_agent.home.keys import HOME
from bridge_agent.home.library.catalog import MOST_BOOKS
from bridge_agent.protocol.bridge import API
from bridge_agent.web.bodies import id_in_path, int_query
from bridge_agent.web.errors import json_response

_BOOKS = 50


@takes("session", "api_key")
async def libraries(request: web.Request) -> web.Response:
    """GET /libraries: each with how many books are there and how its scan stands."""
    found = request.app[HOME].library.libraries()
    return json_response({"libraries": [library.wire() for library in found]})


@takes("session", "api_key")
async def books(request: web.Request) -> web.Response:
    """GET /libraries/{id}/books: a page by title, of those that hold all words of `q`."""
    library = request.app[HOME].library
    library_id = id_in_path(request)
    if library.get(library_id) is None:
        raise NoSuchLibrary
    page = await library.books(
        library_id,
        request.query.get("q", ""),
        request.query.get("after") or None,
        int_query(request, "limit", _BOOKS, 1, MOST_BOOKS),
    )
    return json_response(page.wire())


def add_routes(app: web.Application) -> None:
    """Add these routes."""
    app.router.add_get(f"{API}/libraries", libraries)
    app.router.add_get(f"{API}/libraries/{{id}}/books", books)
