"""Pairing, seen from the admin's side and from the Bridge's."""

from aiohttp import web

from bridge_agent.home.access import credential, takes
from bridge_agent.home.keys import HOME
from bridge_agent.home.routes.auth import caller
from bridge_agent.protocol.bridge import API, PairAnswer, PairRequest, ServerIdentity, plain
from bridge_agent.web import addresses
from bridge_agent.web.bodies import read_json
from bridge_agent.web.errors import ApiError, json_response, no_content


def request_origin(request: web.Request) -> str:
    """Return the address under which this request reached the server."""
    return addresses.request_origin(request, request.app[HOME].settings.trusted_proxies)


@takes("session", admin=True)
async def make_code(request: web.Request) -> web.Response:
    """POST /admin/bridge/pair: a session only, since this mints a credential (R-001)."""
    made = await request.app[HOME].pairing.make_code(credential(request), request_origin(request))
    return json_response(made.wire(), status=201)


@takes("session", "api_key", admin=True)
async def view(request: web.Request) -> web.Response:
    """GET /admin/bridge."""
    return json_response(await request.app[HOME].bridge.view())


@takes("session", "api_key", admin=True)
async def unpair(request: web.Request) -> web.Response:
    """DELETE /admin/bridge (R-024)."""
    await request.app[HOME].pairing.unpair()
    return no_content()


@takes()
async def exchange(request: web.Request) -> web.Response:
    """POST /bridge/pair: public; a code for the bridge token (R-008, R-009, R-010)."""
    home = request.app[HOME]
    body = await read_json(request, PairRequest)
    token = await home.guessing.attempt(caller(request), home.pairing.exchange(body))
    if token is None:
        raise ApiError(
            401, "invalid_code", "The code is wrong, used or expired; make a new one in the console."
        )
    answer = PairAnswer(
        token=token,
        server=ServerIdentity(id=home.server_id, name=home.settings.name),
        libraries=[library.for_bridge() for library in home.library.libraries()],
    )
    return json_response(plain(answer))


def add_routes(app: web.Application) -> None:
    """Add these routes."""
    app.router.add_post(f"{API}/admin/bridge/pair", make_code)
    app.router.add_get(f"{API}/admin/bridge", view)
    app.router.add_delete(f"{API}/admin/bridge", unpair)
    app.router.add_post(f"{API}/bridge/pair", exchange)
