"""Libraries, as admins add, scan and remove them."""

import msgspec
from aiohttp import web

from bridge_agent.home.access import takes
from bridge_agent.home.bridge_jobs import NoSuchLibrary
from bridge_agent.home.keys import HOME
from bridge_agent.protocol.bridge import API
from bridge_agent.protocol.text import clean
from bridge_agent.web.bodies import id_in_path, read_json
from bridge_agent.web.errors import ApiError, json_response, no_content


class NewLibrary(msgspec.Struct):
    """The body of POST /admin/libraries."""

    name: str
    root: str


@takes("session", "api_key", admin=True)
async def add(request: web.Request) -> web.Response:
    """POST /admin/libraries: 201 the library; its scan begins at once."""
    body = await read_json(request, NewLibrary)
    name = clean(body.name, len(body.name.encode()) + 1).strip()
    if not name or len(name) > 200:
        raise ApiError(400, "bad_request", "A library needs a name of at most 200 characters; give one.")
    library = await request.app[HOME].add_library(name, body.root)
    return json_response(library.wire(), status=201)


@takes("session", "api_key", admin=True)
async def remove(request: web.Request) -> web.Response:
    """DELETE /admin/libraries/{id}: its jobs go with it, nothing on the disk is touched (R-049)."""
    if not await request.app[HOME].remove_library(id_in_path(request)):
        raise NoSuchLibrary
    return no_content()


@takes("session", "api_key", admin=True)
async def scan(request: web.Request) -> web.Response:
    """POST /admin/libraries/{id}/scan: 202 with the library; the scan runs beside."""
    library = request.app[HOME].library
    library_id = id_in_path(request)
    if library.get(library_id) is None:
        raise NoSuchLibrary
    library.request_scan(library_id)
    found = library.get(library_id)
    return json_response(found.wire() if found is not None else {}, status=202)


def add_routes(app: web.Application) -> None:
    """Add these routes."""
    app.router.add_post(f"{API}/admin/libraries", add)
    app.router.add_delete(f"{API}/admin/libraries/{{id}}", remove)
    app.router.add_post(f"{API}/admin/libraries/{{id}}/scan", scan)
