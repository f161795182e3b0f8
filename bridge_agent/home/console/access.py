"""The gate of the pages: what each handler takes, who is looking, and the token that every form carries."""

import functools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from aiohttp import web

from bridge_agent.home.access import COOKIE, credential, identify, takes
from bridge_agent.home.credentials import Credential
from bridge_agent.web.errors import ApiError
from bridge_agent.web.security import SAFE_METHODS, Csrf

Page = Callable[[web.Request], Awaitable[web.StreamResponse]]
CSRF: web.AppKey[Csrf] = web.AppKey("console_csrf", Csrf)

_FORM = web.RequestKey("console_form", dict)
_CREDENTIAL = web.RequestKey("console_credential", Credential)


@dataclass(frozen=True)
class Me:
    """Who is looking at a page."""

    id: int
    username: str
    admin: bool


def takes_page(*, admin: bool = False) -> Callable[[Page], Page]:
    """Declare a page for signed-in people, or for admins alone.

    The gate answers 401 and 403; `errors.page_errors` turns the one into the way to the sign-in page and
    the other into a page. A form must carry the token of the session that was shown it.
    """

    def declare(handler: Page) -> Page:
        @takes("session", admin=admin, raw_body=True)
        @functools.wraps(handler)
        async def guarded(request: web.Request) -> web.StreamResponse:
            held = credential(request)
            request[_CREDENTIAL] = held
            if request.method not in SAFE_METHODS:
                await take_form(request, held.hash)
            return await handler(request)

        return guarded

    return declare


async def take_form(request: web.Request, bound_to: str) -> None:
    """Read a form and check its token against what it is bound to.

    Raises ApiError 403 `csrf`, 400 for what is no form that these pages send.
    """
    try:
        if request.content_type != "application/x-www-form-urlencoded":
            raise ValueError(request.content_type)
        sent = await request.post()
    except (ValueError, LookupError) as error:
        # Not a form, not UTF-8, or in an encoding that nobody knows.
        raise ApiError(
            400, "bad_request", "This form can’t be read; load the page again and send it once more."
        ) from error
    form = {name: value for name, value in sent.items() if isinstance(value, str)}
    request.app[CSRF].check(bound_to, form.get(Csrf.FIELD, ""))
    request[_FORM] = form


def field(request: web.Request, name: str) -> str:
    """Return a field of the form that was sent, or an empty text."""
    value = request[_FORM].get(name, "")
    return value if isinstance(value, str) else ""


def held(request: web.Request) -> Credential:
    """Return the session that the gate let in."""
    return request[_CREDENTIAL]


def me(request: web.Request) -> Me | None:
    """Return who is looking, or None on a public page."""
    found = request.get(_CREDENTIAL)
    if found is None:
        return None
    return Me(found.user.id, found.user.username, found.user.is_admin)


async def look_who(request: web.Request) -> None:
    """Note who is looking where no gate has: for error pages, and the sign-in page of one signed in."""
    if request.get(_CREDENTIAL) is None and COOKIE in request.cookies:
        found = await identify(request, frozenset({"session"}))
        if found is not None:
            request[_CREDENTIAL] = found


def form_token(request: web.Request) -> str:
    """Return the token for the forms of the page that is being rendered."""
    found = request.get(_CREDENTIAL)
    return "" if found is None else request.app[CSRF].token(found.hash)
