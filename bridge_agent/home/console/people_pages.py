"""Settings, People: the accounts of this server."""

from dataclasses import dataclass

from aiohttp import web

from bridge_agent.home.console import access
from bridge_agent.home.console.access import field, takes_page
from bridge_agent.home.console.pages import go, render
from bridge_agent.home.console.words import State, Tag, counted
from bridge_agent.home.errors import HomeError
from bridge_agent.home.keys import HOME
from bridge_agent.home.users import NoSuchUser, User
from bridge_agent.web.bodies import id_in_path


@dataclass(frozen=True)
class PersonView:
    """What a page says of an account."""

    id: int
    username: str
    role: str
    enabled: bool
    tag: Tag
    line: str


def person_view(user: User, me: int | None) -> PersonView:
    """Say everything of an account; `me` is the id of the one who looks."""
    tag = Tag("May sign in", "✓", "ok") if user.enabled else Tag("Off", "–")
    role = "Admin" if user.is_admin else "User"
    line = f"{role}, and you" if user.id == me else role
    return PersonView(user.id, user.username, user.role, user.enabled, tag, line)


@takes_page(admin=True)
async def show(request: web.Request) -> web.StreamResponse:
    """GET /settings/people."""
    return await _list(request)


@takes_page(admin=True)
async def add(request: web.Request) -> web.StreamResponse:
    """POST /settings/people: a new account."""
    username, role = field(request, "username"), field(request, "role") or "user"
    try:
        await request.app[HOME].users.create(username, field(request, "password"), role)
    except HomeError as error:
        return await _list(request, error=error.message, username=username, role=role, status=error.status)
    return go(request, "/settings/people", said="person-added")


@takes_page(admin=True)
async def show_one(request: web.Request) -> web.StreamResponse:
    """GET /settings/people/{id}."""
    return await _one(request)


@takes_page(admin=True)
async def change(request: web.Request) -> web.StreamResponse:
    """POST /settings/people/{id}: role and access, or a new password."""
    users = request.app[HOME].users
    id, what = id_in_path(request), field(request, "what")
    held = access.held(request)
    try:
        if what == "password":
            keep = held.hash if held.user.id == id else None
            await users.patch(id, password=field(request, "password"), keep_session=keep)
            return go(request, "/settings/people", said="own-password-set" if keep else "password-set")
        await users.patch(id, role=field(request, "role"), enabled=field(request, "enabled") == "yes")
    except NoSuchUser as error:
        raise web.HTTPNotFound from error
    except HomeError as error:
        return await _one(request, error=error.message, what=what, status=error.status)
    return go(request, "/settings/people", said="person-changed")


async def _list(
    request: web.Request, *, error: str = "", username: str = "", role: str = "user", status: int = 200
) -> web.Response:
    users = await request.app[HOME].users.list()
    me = access.held(request).user.id
    admins = sum(user.is_admin and user.enabled for user in users)
    state = State(
        f"{counted(len(users), 'person has', 'people have')} an account here.",
        f"{counted(admins, 'of them is an admin', 'of them are admins')}." if len(users) > 1 else "",
    )
    return render(
        request,
        "people.html",
        {
            "title": "People",
            "place": "settings",
            "tab": "people",
            "state": state,
            "people": [person_view(user, me) for user in users],
            "error": error,
            "username": username,
            "role": role,
        },
        status=status,
    )


async def _one(request: web.Request, *, error: str = "", what: str = "", status: int = 200) -> web.Response:
    id = id_in_path(request)
    found = [user for user in await request.app[HOME].users.list() if user.id == id]
    if not found:
        raise web.HTTPNotFound
    return render(
        request,
        "person.html",
        {
            "title": found[0].username,
            "place": "settings",
            "tab": "people",
            "person": person_view(found[0], access.held(request).user.id),
            "error": error,
            "what": what,
        },
        status=status,
    )


def add_routes(app: web.Application) -> None:
    """Add the pages of the accounts."""
    app.router.add_get("/settings/people", show)
    app.router.add_post("/settings/people", add)
    app.router.add_get("/settings/people/{id}", show_one)
    app.router.add_post("/settings/people/{id}", change)
