"""Accounts and API keys, for admins who are signed in."""

import msgspec
from aiohttp import web

from bridge_agent.home.access import credential, takes
from bridge_agent.home.credentials import kept_name
from bridge_agent.home.errors import NotFound
from bridge_agent.home.keys import HOME
from bridge_agent.protocol.bridge import API
from bridge_agent.web.bodies import id_in_path, read_json
from bridge_agent.web.errors import json_response, no_content


class NewUser(msgspec.Struct):
    """The body of POST /admin/users."""

    username: str
    password: str
    role: str = "user"


class UserChange(msgspec.Struct):
    """The body of PATCH /admin/users/{id}."""

    enabled: bool | None = None
    role: str | None = None
    password: str | None = None


class NewKey(msgspec.Struct):
    """The body of POST /admin/api-keys."""

    name: str


@takes("session", admin=True)
async def list_users(request: web.Request) -> web.Response:
    """GET /admin/users."""
    users = await request.app[HOME].users.list()
    return json_response({"users": [user.wire() for user in users]})


@takes("session", admin=True)
async def create_user(request: web.Request) -> web.Response:
    """POST /admin/users."""
    body = await read_json(request, NewUser)
    user = await request.app[HOME].users.create(body.username, body.password, body.role)
    return json_response(user.wire(), status=201)


@takes("session", admin=True)
async def change_user(request: web.Request) -> web.Response:
    """PATCH /admin/users/{id}; 409 `last_admin`."""
    body = await read_json(request, UserChange)
    user = await request.app[HOME].users.patch(
        id_in_path(request),
        enabled=body.enabled,
        role=body.role,
        password=body.password,
        keep_session=credential(request).hash,
    )
    return json_response(user.wire())


@takes("session", admin=True)
async def create_key(request: web.Request) -> web.Response:
    """POST /admin/api-keys: the token is shown this once."""
    body = await read_json(request, NewKey)
    key_id, token = await request.app[HOME].credentials.mint_api_key(credential(request).user, body.name)
    return json_response({"id": key_id, "name": kept_name(body.name), "token": token}, status=201)


@takes("session", admin=True)
async def list_keys(request: web.Request) -> web.Response:
    """GET /admin/api-keys."""
    keys = await request.app[HOME].credentials.api_keys()
    return json_response({"api_keys": [key.wire() for key in keys]})


@takes("session", admin=True)
async def delete_key(request: web.Request) -> web.Response:
    """DELETE /admin/api-keys/{id}."""
    if not await request.app[HOME].credentials.revoke_api_key(id_in_path(request)):
        raise NotFound
    return no_content()


def add_routes(app: web.Application) -> None:
    """Add these routes."""
    app.router.add_get(f"{API}/admin/users", list_users)
    app.router.add_post(f"{API}/admin/users", create_user)
    app.router.add_patch(f"{API}/admin/users/{{id}}", change_user)
    app.router.add_post(f"{API}/admin/api-keys", create_key)
    app.router.add_get(f"{API}/admin/api-keys", list_keys)
    app.router.add_delete(f"{API}/admin/api-keys/{{id}}", delete_key)
