"""The gates before every handler, in law 12's order: Host, method and type, origin, session, CSRF."""

from collections.abc import Iterable

from aiohttp import hdrs, web
from aiohttp.typedefs import Middleware

from bridge_agent.page.access import (
    CSRF,
    has_worker_token,
    is_https,
    is_local,
    recognise,
    remember,
    set_cookie,
    visitor_of,
)
from bridge_agent.page.links import root_of
from bridge_agent.page.parts import parts_of, starting
from bridge_agent.settings import BridgeSettings
from bridge_agent.web.errors import ApiError, Handler
from bridge_agent.web.security import SAFE_METHODS, Csrf, HostPolicy, judge_origin

HOST_SETTING = "BRIDGE_ALLOWED_HOSTS"
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE"})
FORM = "application/x-www-form-urlencoded"

_JSON_PATHS = ("/healthz", "/metrics", "/api")
_ALWAYS = frozenset({"/healthz", "/static"})
_NO_SESSION = _ALWAYS | {"/login", "/api/login"}


def is_json(request: web.Request) -> bool:
    """Tell whether a request is one of the JSON API's, and its errors too."""
    return request.path.startswith("/api/") or request.path in _JSON_PATHS


def host_policy(settings: BridgeSettings) -> HostPolicy:
    """Return which Host headers the page answers (against DNS rebinding)."""
    names = list(settings.allowed_hosts)
    if settings.public_url:
        names.append(settings.public_url.partition("://")[2].partition("/")[0])
    return HostPolicy(names, HOST_SETTING)


def host_gate(policy: HostPolicy) -> Middleware:
    """Make the gate that answers 403 on every route to a Host that is not this machine's."""

    @web.middleware
    async def gate(request: web.Request, handler: Handler) -> web.StreamResponse:
        hosts = request.headers.getall(hdrs.HOST, [""])
        for host in hosts:
            if not policy.permits(host):
                raise policy.refusal(host)
        return await handler(request)

    return gate


@web.middleware
async def type_gate(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse methods that nothing here has, and bodies of a type that the route does not take."""
    if request.method not in METHODS:
        raise ApiError(405, "method_not_allowed", "This address does not take this method.")
    if request.method not in SAFE_METHODS and (hdrs.CONTENT_TYPE in request.headers or request.can_read_body):
        taken = (FORM,) if not is_json(request) else ("application/json", "application/octet-stream")
        if request.content_type not in taken:
            what = "a form" if not is_json(request) else "application/json; forms and text are not taken here"
            raise ApiError(415, "unsupported_type", f"Send the body as {what}.")
    return await handler(request)


@web.middleware
async def origin_gate(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse a changing request that another site's page made."""
    judge_origin(request, _own_urls(request))
    return await handler(request)


def _own_urls(request: web.Request) -> Iterable[str]:
    public = parts_of(request).settings.public_url
    if public:
        yield public
    # Behind a proxy that speaks https the browser's origin differs from ours in the scheme alone.
    if is_https(request):
        yield f"https://{request.host}"


@web.middleware
async def starting_gate(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer 503 until the rooms below are open, but for health and static files."""
    if not parts_of(request).ready and _route(request) not in _ALWAYS:
        raise starting()
    return await handler(request)


@web.middleware
async def session_gate(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Let in who may enter; anybody else gets 401 on the API and the sign-in page elsewhere."""
    route = _route(request)
    if route in _ALWAYS:
        return await handler(request)
    if has_worker_token(request):
        raise ApiError(
            401,
            "worker_token",
            "A worker’s token opens nothing here; sign in with the page’s password.",
        )
    visitor = await recognise(request)
    remember(request, visitor)
    if not (visitor.may_enter or route in _NO_SESSION or (route == "/metrics" and is_local(request))):
        raise _refusal(request)
    response = await handler(request)
    if visitor.slid is not None and not response.prepared and not response.cookies:
        set_cookie(request, response, visitor.slid)
    return response


def _refusal(request: web.Request) -> Exception:
    if is_json(request):
        return ApiError(401, "password_needed", "This page has a password; sign in with it, then try again.")
    # A form's address can't be loaded again after the sign-in.
    wanted = request.path if request.method in SAFE_METHODS else "/"
    target = request.rel_url.with_path("/login").with_query({"next": wanted} if wanted != "/" else {})
    return web.HTTPSeeOther(root_of(request) + str(target))


@web.middleware
async def csrf_gate(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Check the token of every HTML form."""
    if request.method not in SAFE_METHODS and not is_json(request):
        form = await request.post()
        given = form.get(Csrf.FIELD, "")
        request.app[CSRF].check(visitor_of(request).binding, given if isinstance(given, str) else "")
    return await handler(request)


def form_token(request: web.Request) -> str:
    """Return the CSRF token for the forms of a page."""
    return request.app[CSRF].token(visitor_of(request).binding)


def _route(request: web.Request) -> str:
    """Name the route that a request has matched; judged instead of its path, which can be spelled oddly."""
    resource = request.match_info.route.resource
    return "" if resource is None else resource.canonical
