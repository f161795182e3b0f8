"""The JSON API of the Bridge's page: status, events, pairing, mappings, password."""

import msgspec
from aiohttp import web

from bridge_agent.base.errors import BridgeError
from bridge_agent.link.errors import PairFailed
from bridge_agent.page import access, status
from bridge_agent.page.live import Live
from bridge_agent.page.parts import parts_of, rooms_of
from bridge_agent.page.password import PagePassword
from bridge_agent.web.bodies import id_in_path, read_json
from bridge_agent.web.errors import ApiError, json_response

LIVE: web.AppKey[Live] = web.AppKey("live", Live)


class PairBody(msgspec.Struct):
    """POST /api/pair."""

    server_url: str = ""
    code: str = ""


class PasswordBody(msgspec.Struct):
    """POST /api/login and PUT /api/password."""

    password: str


class MappingBody(msgspec.Struct):
    """PUT /api/mappings/{library_id}."""

    path: str


def add_routes(app: web.Application) -> None:
    """Add these routes."""
    router = app.router
    router.add_get("/api/status", get_status)
    router.add_get("/api/events", get_events, allow_head=False)
    router.add_post("/api/login", post_login)
    router.add_put("/api/password", put_password)
    router.add_get("/api/token", get_token)
    router.add_post("/api/pair", post_pair)
    router.add_post("/api/unpair", post_unpair)
    router.add_put("/api/mappings/{library_id}", put_mapping)
    router.add_delete("/api/mappings/{library_id}", delete_mapping)
    router.add_post("/api/mappings/{library_id}/check", post_check)


async def get_status(request: web.Request) -> web.StreamResponse:
    """Answer with how things are."""
    return json_response(status.wire(parts_of(request)))


async def get_events(request: web.Request) -> web.StreamResponse:
    """Serve the status and the jobs as server-sent events."""
    return await parts_of(request).events.stream(request, request.app[LIVE].greeting)


async def post_login(request: web.Request) -> web.StreamResponse:
    """Sign a browser in with the page's password."""
    body = await read_json(request, PasswordBody)
    secret = await access.sign_in(request, body.password)
    response = json_response({"signed_in": True})
    access.set_cookie(request, response, secret)
    return response


async def put_password(request: web.Request) -> web.StreamResponse:
    """Set the page's password, for the command line alone; a browser has the form for it."""
    if access.visitor_of(request).kind != "control":
        raise ApiError(403, "control_only", "Only this machine’s command line sets the password here.")
    body = await read_json(request, PasswordBody)
    await PagePassword(parts_of(request).settings, rooms_of(request).db).keep(body.password)
    return json_response({"set": True})


async def get_token(request: web.Request) -> web.StreamResponse:
    """Say where the token is kept and how strong that is; never the token."""
    place = rooms_of(request).vault.describe()
    return json_response({"kind": place.kind, "sentence": place.sentence, "strength": place.strength})


async def post_pair(request: web.Request) -> web.StreamResponse:
    """Pair with a server by a code (R-014, R-016 … R-023)."""
    body = await read_json(request, PairBody)
    try:
        await rooms_of(request).link.pair(body.server_url.strip(), body.code)
    except PairFailed as failure:
        wait = failure.retry_after
        raise ApiError(failure.status, failure.code, failure.message, retry_after=wait) from failure
    except BridgeError as error:
        raise ApiError(500, error.code, error.message) from error
    return json_response(status.wire(parts_of(request)))


async def post_unpair(request: web.Request) -> web.StreamResponse:
    """Forget the server on this side (R-025)."""
    try:
        await rooms_of(request).link.unpair()
    except BridgeError as error:
        raise ApiError(500, error.code, error.message) from error
    await rooms_of(request).jobs.settled()
    return json_response(status.wire(parts_of(request)))


async def put_mapping(request: web.Request) -> web.StreamResponse:
    """Say where this machine sees a library, and check it."""
    library_id = known_library(request)
    body = await read_json(request, MappingBody)
    rooms = rooms_of(request)
    await rooms.mappings.set(library_id, body.path)
    return await _checked(request, library_id)


async def delete_mapping(request: web.Request) -> web.StreamResponse:
    """Forget a mapping: the library is then looked for at the server's own path."""
    library_id = known_library(request)
    await rooms_of(request).mappings.clear(library_id)
    return await _checked(request, library_id)


async def post_check(request: web.Request) -> web.StreamResponse:
    """Check a library now; nothing is written."""
    return await _checked(request, known_library(request))


async def _checked(request: web.Request, library_id: int) -> web.StreamResponse:
    rooms = rooms_of(request)
    view = await rooms.mappings.check(library_id)
    return json_response(view)


def known_library(request: web.Request) -> int:
    """Read a library's id from the path; raises ApiError 404 for one that the server has not listed."""
    library_id = id_in_path(request, "library_id")
    if all(library.id != library_id for library in rooms_of(request).link.libraries):
        raise ApiError(
            404, "not_found", "The server has listed no library with this id; look at the libraries."
        )
    return library_id
