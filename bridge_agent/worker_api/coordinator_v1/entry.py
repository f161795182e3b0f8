"""The entry of this wire: the token comes before the router, and every failure has the contract's words."""

import re

from aiohttp import web
from aiohttp.typedefs import Handler

from bridge_agent.worker_api.coordinator_v1 import answers
from bridge_agent.worker_api.coordinator_v1.coordinator import Coordinator
from bridge_agent.worker_api.gate import Damped, Refused
from bridge_agent.worker_api.tokens import Member

COORDINATOR: web.AppKey[Coordinator] = web.AppKey("coordinator", Coordinator)
MEMBER: web.RequestKey[Member] = web.RequestKey("member", Member)

_OPEN = ("/health", "/openapi.json")
_OTHER_WIRE = re.compile(r"/worker/v1(?:/|\Z)", re.IGNORECASE)


def _is_open(request: web.Request) -> bool:
    return request.path in _OPEN and request.method in ("GET", "HEAD")


@web.middleware
async def entry(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Let the other wire's requests and the open ones pass, and all others by their token alone."""
    if _OTHER_WIRE.match(request.path) or _is_open(request):
        return await handler(request)
    return await _protected(request, handler)


async def _protected(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Judge the token before anything else, and answer every failure in the contract's words."""
    try:
        request[MEMBER] = await request.app[COORDINATOR].gate.admit(_token(request), request.remote or "")
        response = await handler(request)
    except (Refused, Damped) as refused:
        response = _refused(request, refused)
    except ConnectionResetError:
        raise
    except Exception as raised:
        response = answers.of_error(request, raised)
    if not response.prepared:
        response.headers[answers.REQUEST_ID] = answers.request_id(request)
    return response


def _token(request: web.Request) -> str | None:
    """Return the token: what the header holds, a “Bearer ” before it left out if it is there."""
    header = request.headers.get("Authorization")
    return None if header is None else header.removeprefix("Bearer ")


def _refused(request: web.Request, refused: Refused | Damped) -> web.Response:
    if isinstance(refused, Damped):
        return answers.error(request, 429, "too many requests", **{"Retry-After": str(refused.retry_after)})
    return answers.error(request, 401, answers.UNAUTHORIZED, **{"WWW-Authenticate": "Bearer"})
