"""Signing in and out."""

import msgspec
from aiohttp import web

from bridge_agent.home.access import COOKIE, credential, takes
from bridge_agent.home.cookies import set_cookie as set_cookie
from bridge_agent.home.keys import HOME
from bridge_agent.home.users import User
from bridge_agent.protocol.bridge import API
from bridge_agent.web.addresses import client_address
from bridge_agent.web.bodies import read_json
from bridge_agent.web.errors import ApiError, json_response, no_content


class Login(msgspec.Struct):
    """The body of POST /auth/login."""

    username: str
    password: str


class Redeem(msgspec.Struct):
    """The body of POST /auth/redeem."""

    code: str
    name: str | None = None


class SignOut(msgspec.Struct):
    """The body of POST /auth/sign-out."""

    except_this: bool = False


def caller(request: web.Request) -> str:
    """Return the address whose failures are counted."""
    return client_address(request, request.app[HOME].settings.trusted_proxies)


def device_name(request: web.Request) -> str:
    """Return what a session is called where nobody named it: the browser's own words."""
    return request.headers.get("User-Agent", "")[:128] or "a device without a name"


@takes()
async def login(request: web.Request) -> web.Response:
    """POST /auth/login: 200 with the session and its cookie, 401 `bad_credentials`, 429."""
    home = request.app[HOME]
    body = await read_json(request, Login)
    user: User | None = await home.guessing.attempt(
        caller(request), home.users.check(body.username, body.password)
    )
    if user is None:
        raise ApiError(401, "bad_credentials", "Name or password is wrong; check both and try again.")
    token = await home.credentials.mint_session(user, device_name(request))
    response = json_response({"user": user.wire(), "token": token})
    set_cookie(request, response, token)
    return response


@takes("session")
async def logout(request: web.Request) -> web.Response:
    """POST /auth/logout: ends this session."""
    await request.app[HOME].credentials.log_out(credential(request).hash)
    response = no_content()
    response.del_cookie(COOKIE, path="/")
    return response


@takes("session")
async def devices(request: web.Request) -> web.Response:
    """GET /auth/devices: this account's sessions and API keys, never a bridge token (R-032)."""
    held = credential(request)
    found = await request.app[HOME].credentials.devices(held.user)
    return json_response({"devices": [device.wire(held.hash) for device in found]})


@takes("session")
async def sign_out(request: web.Request) -> web.Response:
    """POST /auth/sign-out: ends this account's sessions, this one apart where asked."""
    held = credential(request)
    body = await read_json(request, SignOut)
    count = await request.app[HOME].credentials.sign_out(held.user, held.hash if body.except_this else None)
    response = json_response({"signed_out": count})
    if not body.except_this:
        response.del_cookie(COOKIE, path="/")
    return response


@takes("session")
async def device_code(request: web.Request) -> web.Response:
    """POST /auth/device-code: a code with which another device signs in."""
    made = await request.app[HOME].credentials.make_device_code(credential(request).user)
    return json_response({"code": made.code, "expires_at": made.expires_at}, status=201)


@takes()
async def redeem(request: web.Request) -> web.Response:
    """POST /auth/redeem: exchanges such a code; a wrong one counts against the address (R-009)."""
    home = request.app[HOME]
    body = await read_json(request, Redeem)
    name = body.name or device_name(request)
    redeemed = await home.guessing.attempt(caller(request), home.credentials.redeem(body.code, name))
    if redeemed is None:
        raise ApiError(401, "invalid_code", "The code is wrong, used or expired; make a new one.")
    user, token = redeemed
    return json_response({"user": user.wire(), "token": token})


def add_routes(app: web.Application) -> None:
    """Add these routes."""
    app.router.add_post(f"{API}/auth/login", login)
    app.router.add_post(f"{API}/auth/logout", logout)
    app.router.add_get(f"{API}/auth/devices", devices)
    app.router.add_post(f"{API}/auth/sign-out", sign_out)
    app.router.add_post(f"{API}/auth/device-code", device_code)
    app.router.add_post(f"{API}/auth/redeem", redeem)
