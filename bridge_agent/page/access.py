"""Who may see the page: this machine without a password, a session, or the command line's token (law 12)."""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from aiohttp import web

from bridge_agent.page.parts import Parts, parts_of, rooms_of
from bridge_agent.page.password import PagePassword
from bridge_agent.page.sessions import LIFE_S, Sessions, digest
from bridge_agent.settings import is_loopback_name
from bridge_agent.web.addresses import client_address
from bridge_agent.web.errors import ApiError
from bridge_agent.web.failures import FailureLimit
from bridge_agent.web.security import Csrf, host_of
from bridge_agent.worker_api.tokens import PREFIX

Kind = Literal["open", "session", "control", "nobody"]

FAILURES: web.AppKey[FailureLimit] = web.AppKey("failures", FailureLimit)
CSRF: web.AppKey[Csrf] = web.AppKey("csrf", Csrf)


@dataclass(frozen=True)
class Visitor:
    """Who makes a request; `binding` is what the CSRF tokens of its forms are bound to."""

    kind: Kind
    binding: str = ""
    slid: str | None = None

    @property
    def may_enter(self) -> bool:
        """Whether pages and API are open to it."""
        return self.kind != "nobody"


_VISITOR: web.RequestKey[Visitor] = web.RequestKey("page_visitor", Visitor)


def visitor_of(request: web.Request) -> Visitor:
    """Return who makes a request, as the gate found; nobody before it."""
    found = request.get(_VISITOR)
    return Visitor("nobody") if found is None else found


def remember(request: web.Request, visitor: Visitor) -> None:
    """Keep with a request who makes it."""
    request[_VISITOR] = visitor


def is_local(request: web.Request) -> bool:
    """Tell whether a request surely comes from this machine: listener, Host, and no proxy in between."""
    if not parts_of(request).settings.listen.loopback:
        return False
    return is_loopback_name(host_of(request.headers.get("Host", ""))) and not is_forwarded(request.headers)


def is_forwarded(headers: Mapping[str, str]) -> bool:
    """Tell whether a proxy passed a request on."""
    names = (name.lower() for name in headers)
    return any(name in ("forwarded", "x-real-ip") or name.startswith("x-forwarded-") for name in names)


def cookie_name(parts: Parts) -> str:
    """Return this Bridge's own cookie name: two Bridges on one host share a browser's cookies."""
    return f"bridge_{parts.instance}"


async def recognise(request: web.Request) -> Visitor:
    """Find out who makes a request."""
    parts = parts_of(request)
    if _has_control_token(request, parts):
        return Visitor("control", "control")
    rooms = rooms_of(request)
    secret = request.cookies.get(cookie_name(parts))
    if secret:
        found = await Sessions(rooms.db, parts.clock).find(secret)
        if found is not None:
            return Visitor("session", digest(secret), secret if found.slid else None)
    if is_local(request) and not await PagePassword(parts.settings, rooms.db).is_set():
        return Visitor("open")
    return Visitor("nobody")


def has_worker_token(request: web.Request) -> bool:
    """Tell whether a request carries a worker's token, which opens nothing here, not even to this machine."""
    _, _, given = request.headers.get("Authorization", "").partition(" ")
    return given.strip().startswith(PREFIX)


def _has_control_token(request: web.Request, parts: Parts) -> bool:
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    wanted = parts.control_token
    if scheme.lower() != "bearer" or not wanted:
        return False
    return hmac.compare_digest(given.strip().encode("utf-8", "replace"), wanted.encode())


async def sign_in(request: web.Request, password: str) -> str:
    """Check a given password and return a new session's secret.

    Raises what `check_password` raises.
    """
    await check_password(request, password)
    return await Sessions(rooms_of(request).db, parts_of(request).clock).mint()


async def check_password(request: web.Request, password: str) -> None:
    """Check a given password, counting failures by address.

    Raises ApiError 401 `wrong_password`, 409 `no_password`, 429 `rate_limited`.
    """
    parts, failures = parts_of(request), request.app[FAILURES]
    address = client_address(request, ())
    failures.check(address)
    kept = PagePassword(parts.settings, rooms_of(request).db)
    if not await kept.is_set():
        raise ApiError(409, "no_password", NO_PASSWORD)
    if not await kept.matches(password):
        failures.failed(address)
        raise ApiError(401, "wrong_password", "That is not the page’s password; try again.")
    failures.succeeded(address)


NO_PASSWORD = (
    "This page has no password yet, so it opens only on the machine that it runs on; "
    "set one there with “bridge-agent password”."
)


def set_cookie(request: web.Request, response: web.StreamResponse, secret: str) -> None:
    """Give a browser its session."""
    response.set_cookie(
        cookie_name(parts_of(request)),
        secret,
        max_age=int(LIFE_S),
        path="/",
        httponly=True,
        samesite="Lax",
        secure=is_https(request),
    )


def is_https(request: web.Request) -> bool:
    """Tell whether the browser came by https, to this listener or to a proxy before it."""
    return request.secure or request.headers.get("X-Forwarded-Proto", "").lower() == "https"


async def sign_out(request: web.Request, response: web.StreamResponse) -> None:
    """End a browser's session and take its cookie."""
    parts = parts_of(request)
    name = cookie_name(parts)
    if secret := request.cookies.get(name):
        await Sessions(rooms_of(request).db, parts.clock).end(secret)
    response.del_cookie(name, path="/")
