"""The gates before a handler (law 12): Host, type, Sec-Fetch-Site or Origin; headers on every answer.

Session and CSRF come after these, in each half's own room.
"""

import hashlib
import hmac
import ipaddress
import secrets
import socket
from collections.abc import Awaitable, Callable, Iterable
from urllib.parse import urlsplit

from aiohttp import web

from bridge_agent.web.errors import ApiError, Handler

Middleware = Callable[[web.Request, Handler], Awaitable[web.StreamResponse]]

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self'; "
    "connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


def host_of(header: str) -> str:
    """Return the host of a Host header, without port, brackets and last dot, in lower case."""
    if header.startswith("["):
        return header[1:].partition("]")[0].lower()
    return header.rpartition(":")[0].lower().rstrip(".") if ":" in header else header.lower().rstrip(".")


def machine_names() -> frozenset[str]:
    """Return the names under which this machine is known: bare and `.local`."""
    name = socket.gethostname().lower().rstrip(".")
    bare = name.partition(".")[0]
    return frozenset({name, bare, f"{bare}.local"} - {"", ".local"})


class HostPolicy:
    """Which Host headers are served: the defence against DNS rebinding."""

    def __init__(self, allowed: Iterable[str], setting: str) -> None:
        """Serve IP addresses, localhost, this machine's names and `allowed`; `setting` adds more."""
        self._names = {"localhost", *machine_names(), *(host_of(name) for name in allowed)}
        self._setting = setting

    def permits(self, header: str) -> bool:
        """Tell whether a Host header is served."""
        host = host_of(header)
        try:
            ipaddress.ip_address(host.partition("%")[0])
        except ValueError:
            return host in self._names or host.endswith(".localhost")
        return True

    def refusal(self, header: str) -> ApiError:
        """Return the answer for a Host that is not served."""
        return ApiError(
            403,
            "host_not_allowed",
            f"This address ({host_of(header)[:100]}) is not one of this machine's names; to allow it, "
            f"add it to {self._setting} and start again.",
        )


def own_origins(request: web.Request, extra: Iterable[str]) -> set[str]:
    """Return the origins that count as this very site."""
    origins = {f"{request.scheme}://{request.host}".lower()}
    for url in extra:
        parts = urlsplit(url)
        if parts.hostname:
            origins.add(f"{parts.scheme}://{parts.netloc}".lower())
    return origins


def judge_origin(request: web.Request, extra: Iterable[str]) -> None:
    """Refuse a changing request that another site's page made; raises ApiError 403 `cross_site`.

    `Sec-Fetch-Site` and `Origin` are judged when they are there and absent passes. `same-site` is not enough:
    other ports of one host are same-site.
    """
    if request.method in SAFE_METHODS:
        return
    refusal = ApiError(
        403,
        "cross_site",
        "This request came from another site's page; open this page by its own address and try again.",
    )
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None and site not in ("same-origin", "none"):
        raise refusal
    origin = request.headers.get("Origin")
    if origin is not None and origin.lower() not in own_origins(request, extra):
        raise refusal


@web.middleware
async def security_headers(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Put the security headers on every answer that has not begun, errors among them."""
    try:
        response = await handler(request)
    except web.HTTPException as error:
        error.headers.update(HEADERS)
        raise
    if not response.prepared:
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
    return response


class Csrf:
    """Tokens of HTML forms, bound to the session that was shown the form."""

    FIELD = "csrf"

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def token(self, session: str) -> str:
        """Return the token for a session's forms."""
        return hmac.new(self._key, session.encode(), hashlib.sha256).hexdigest()

    def check(self, session: str, given: str) -> None:
        """Raise ApiError 403 `csrf` when a form's token is not the session's."""
        if not hmac.compare_digest(self.token(session).encode(), given.encode("utf-8", "replace")):
            raise ApiError(403, "csrf", "This form was too old; load the page again and send it once more.")
