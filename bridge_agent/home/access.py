"""Who may call what: each handler declares the kinds of credential it takes, and every other gets a 401."""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from aiohttp import web

from bridge_agent.base.errors import BridgeError
from bridge_agent.home.cookies import COOKIE as COOKIE
from bridge_agent.home.cookies import renew_cookie
from bridge_agent.home.credentials import PREFIXES, Credential, Kind
from bridge_agent.home.keys import HOME
from bridge_agent.protocol.bridge import API
from bridge_agent.web.addresses import request_origin
from bridge_agent.web.bodies import refuse_foreign_type
from bridge_agent.web.errors import ApiError, Handler
from bridge_agent.web.security import SAFE_METHODS, judge_origin

_DECLARED = "__access__"
_CREDENTIAL: web.RequestKey[Credential] = web.RequestKey("credential", Credential)

H = TypeVar("H", bound=Callable[..., object])


@dataclass(frozen=True)
class Access:
    """What a handler declares: the kinds it takes (none: public), and what else is asked."""

    kinds: frozenset[Kind]
    admin: bool = False
    raw_body: bool = False


def takes(*kinds: Kind, admin: bool = False, raw_body: bool = False) -> Callable[[H], H]:
    """Declare the kinds of credential a handler takes; none makes it public.

    With `admin` the credential's account must be an admin; `raw_body` is for a route whose body is no JSON.
    """

    def declare(handler: H) -> H:
        setattr(handler, _DECLARED, Access(frozenset(kinds), admin, raw_body))
        return handler

    return declare


def declared(handler: object) -> Access | None:
    """Return what a handler declares, or None where it declares nothing."""
    access: Access | None = getattr(handler, _DECLARED, None)
    return access


def credential(request: web.Request) -> Credential:
    """Return the credential that the gate let in; raises KeyError in a public handler."""
    return request[_CREDENTIAL]


def unauthorized() -> ApiError:
    """Return the answer to a credential that is missing, unknown, ended or not of a kind taken here."""
    return ApiError(
        401, "unauthorized", "This address needs another sign-in than the one sent; sign in and try again."
    )


async def identify(request: web.Request, kinds: frozenset[Kind]) -> Credential | None:
    """Find the caller's credential among the kinds taken; None where there is none that is good.

    The header goes before the cookie. A token in the query is taken where cast tokens are, and no other kind.
    """
    token = _token(request, kinds)
    if token is None:
        return None
    found = await request.app[HOME].credentials.find(token)
    return found if found is not None and found.kind in kinds else None


def _token(request: web.Request, kinds: frozenset[Kind]) -> str | None:
    header = request.headers.get("Authorization")
    if header is not None:
        scheme, _, token = header.partition(" ")
        return token.strip() if scheme.lower() == "bearer" else None
    query = request.query.get("token", "")
    if "cast" in kinds and query.startswith(PREFIXES["cast"]):
        return query
    cookie = request.cookies.get(COOKIE)
    # The cookie carries sessions alone, so that no other credential ever rides along by itself.
    return cookie if cookie is not None and cookie.startswith(PREFIXES["session"]) else None


@web.middleware
async def gate(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Judge origin, credential and body type before a handler of the JSON routes runs."""
    home = request.app[HOME]
    settings = home.settings
    # Behind a proxy that ends TLS, the browser's origin is the one that the proxy was asked under.
    asked = request_origin(request, settings.trusted_proxies)
    judge_origin(request, (settings.public_url, settings.address, asked))
    access = declared(request.match_info.handler)
    if access is None:
        if request.path.startswith(f"{API}/") and request.match_info.http_exception is None:
            raise unauthorized()
        return await handler(request)
    if access.kinds:
        request[_CREDENTIAL] = await _let_in(request, access)
    if not access.raw_body:
        refuse_foreign_type(request)
    response = await (handler(request) if request.method in SAFE_METHODS else _to_its_end(request, handler))
    if "session" in access.kinds:
        renew_cookie(request, response)
    return response


async def _to_its_end(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Run a handler that changes something whole, even when its caller hangs up in the middle.

    What follows a commit (waking polls, dropping a copy, deleting a library's jobs) would else be left out.
    """

    async def run() -> web.StreamResponse | Exception:
        try:
            return await handler(request)
        except Exception as error:
            return error

    outcome = await request.app[HOME].tasks.shielded(run(), f"{request.method} {request.path}")
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


async def _let_in(request: web.Request, access: Access) -> Credential:
    try:
        found = await identify(request, access.kinds)
    except (sqlite3.Error, BridgeError) as error:
        # A store that can't answer is no refusal: the caller tries again.
        raise ApiError(
            503, "try_later", "The server can’t check the sign-in just now; try again in a while."
        ) from error
    if found is None:
        raise unauthorized()
    if access.admin and not found.user.is_admin:
        raise ApiError(403, "forbidden", "Only an admin may do this; sign in as one.")
    return found
