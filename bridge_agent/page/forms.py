"""The forms of the pages: they work without a script, answer with a redirect, or with what went wrong."""

from collections.abc import Awaitable, Callable

from aiohttp import web

from bridge_agent.base.errors import BridgeError
from bridge_agent.jobs.errors import Finished, NotWaiting
from bridge_agent.link.errors import PairFailed
from bridge_agent.page import access
from bridge_agent.page.api import known_library
from bridge_agent.page.api_jobs import job_of
from bridge_agent.page.links import local_path
from bridge_agent.page.pages import home_of, libraries_page, now_page, settings_page
from bridge_agent.page.parts import parts_of, rooms_of
from bridge_agent.page.password import PagePassword
from bridge_agent.page.sessions import Sessions
from bridge_agent.web.errors import ApiError


def add_routes(app: web.Application) -> None:
    """Add these routes."""
    router = app.router
    router.add_post("/pair", post_pair)
    router.add_post("/unpair", post_unpair)
    router.add_post("/libraries/{library_id}", post_mapping)
    router.add_post("/libraries/{library_id}/clear", post_clear)
    router.add_post("/libraries/{library_id}/check", post_check)
    router.add_post("/jobs/{server_id}/{id}/cancel", post_cancel)
    router.add_post("/jobs/{server_id}/{id}/resume", post_resume)
    router.add_post("/settings/password", post_password)
    router.add_post("/settings/password/remove", post_remove_password)
    # A page that answered a form is loaded anew by its address: it leads to where the form was.
    router.add_get("/pair", _to("/"))
    router.add_get("/libraries/{library_id}", _to("/libraries"))
    router.add_get("/settings/password", _to("/settings"))


def _to(path: str) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def lead(request: web.Request) -> web.StreamResponse:
        raise home_of(request, path)

    return lead


async def post_pair(request: web.Request) -> web.StreamResponse:
    """Pair; a failure shows the form again with what was typed."""
    typed = {"server_url": await field(request, "server_url"), "code": await field(request, "code")}
    try:
        await rooms_of(request).link.pair(typed["server_url"].strip(), typed["code"])
    except PairFailed as failure:
        return now_page(request, failure.status, typed, failure.message)
    except BridgeError as error:
        return now_page(request, 500, typed, error.message)
    raise home_of(request, "/", "paired")


async def post_unpair(request: web.Request) -> web.StreamResponse:
    """Forget the server on this side."""
    await rooms_of(request).link.unpair()
    await rooms_of(request).jobs.settled()
    raise home_of(request, "/", "unpaired")


async def post_mapping(request: web.Request) -> web.StreamResponse:
    """Keep where this machine sees a library, and check it."""
    library_id, path = known_library(request), await field(request, "path")
    mappings = rooms_of(request).mappings
    try:
        await mappings.set(library_id, path)
    except BridgeError as error:
        return libraries_page(request, 400, {library_id: (path, error.message)})
    await mappings.check(library_id)
    raise home_of(request, await back(request, "/libraries"), "mapped")


async def post_clear(request: web.Request) -> web.StreamResponse:
    """Forget where this machine sees a library."""
    library_id = known_library(request)
    mappings = rooms_of(request).mappings
    await mappings.clear(library_id)
    await mappings.check(library_id)
    raise home_of(request, "/libraries", "cleared")


async def post_check(request: web.Request) -> web.StreamResponse:
    """Check a library now."""
    await rooms_of(request).mappings.check(known_library(request))
    raise home_of(request, "/libraries", "checked")


async def post_cancel(request: web.Request) -> web.StreamResponse:
    """Stop a job; one that has ended meanwhile is no error to a person."""
    job = await job_of(request)
    said = "cancelled"
    try:
        await rooms_of(request).jobs.cancel(job["server_id"], job["job_id"])
    except (Finished, NotWaiting):
        said = "finished"
    raise home_of(request, await back(request), said)


async def post_resume(request: web.Request) -> web.StreamResponse:
    """Let a job that waits for a person try again now."""
    job = await job_of(request)
    said = "resumed"
    try:
        await rooms_of(request).jobs.resume(job["server_id"], job["job_id"])
    except (Finished, NotWaiting):
        said = "finished"
    raise home_of(request, await back(request), said)


async def post_password(request: web.Request) -> web.StreamResponse:
    """Set or change the password; who does stays signed in."""
    parts, rooms = parts_of(request), rooms_of(request)
    password = PagePassword(parts.settings, rooms.db)
    try:
        await _prove(request, password)
        await password.keep(await field(request, "new"))
    except (ApiError, BridgeError) as error:
        return await settings_page(request, 400, error.message)
    response = home_of(request, "/settings", "password")
    access.set_cookie(request, response, await Sessions(rooms.db, parts.clock).mint())
    raise response


async def post_remove_password(request: web.Request) -> web.StreamResponse:
    """Take the password away, where only this machine reaches the page."""
    parts, rooms = parts_of(request), rooms_of(request)
    password = PagePassword(parts.settings, rooms.db)
    try:
        if not parts.settings.listen.loopback:
            raise ApiError(
                409, "needed", "A page that other machines reach needs a password; change it instead."
            )
        await _prove(request, password)
        await password.forget()
    except (ApiError, BridgeError) as error:
        return await settings_page(request, 400, error.message)
    raise home_of(request, "/settings", "no-password")


async def _prove(request: web.Request, password: PagePassword) -> None:
    """Ask for the present password before it is changed; an unwatched browser shall not do."""
    if await password.is_set():
        await access.check_password(request, await field(request, "old"))


async def field(request: web.Request, name: str) -> str:
    """Read a field of the form that was sent; an absent one is empty."""
    value = (await request.post()).get(name, "")
    return value if isinstance(value, str) else ""


async def back(request: web.Request, otherwise: str = "/") -> str:
    """Return the page that a form stood on, if it says so."""
    return local_path(await field(request, "back") or otherwise)
