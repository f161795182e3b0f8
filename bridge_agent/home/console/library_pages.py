"""The libraries: the list with its scans, one library's books, one book."""

from pathlib import Path
from typing import TYPE_CHECKING

from aiohttp import web

from bridge_agent.base.errors import BridgeError
from bridge_agent.base.threads import files
from bridge_agent.home.console.access import field, me, takes_page
from bridge_agent.home.console.pages import go, render
from bridge_agent.home.console.shared import latest_jobs, library_names
from bridge_agent.home.console.transcripts import offered
from bridge_agent.home.console.views_bridge import bridge_view
from bridge_agent.home.console.views_library import book_view, libraries_state, library_view
from bridge_agent.home.keys import HOME
from bridge_agent.home.library.model import LibraryInfo
from bridge_agent.web.bodies import id_in_path

if TYPE_CHECKING:
    from bridge_agent.home.app import HomeServer

_PAGE = 50
_LONGEST_NAME = 200
_LOOK_S = 5.0


@takes_page()
async def home_page(request: web.Request) -> web.StreamResponse:
    """GET /: the way to the libraries."""
    return go(request, "/libraries")


@takes_page()
async def show_all(request: web.Request) -> web.StreamResponse:
    """GET /libraries."""
    return await _list(request)


@takes_page(admin=True)
async def add(request: web.Request) -> web.StreamResponse:
    """POST /libraries: a new library; its first scan begins at once."""
    home = request.app[HOME]
    name, folder = field(request, "name").strip(), field(request, "root").strip()
    try:
        await _check_new(name, folder)
        library = await home.add_library(name, folder)
    except BridgeError as error:
        return await _list(request, error=error.message, name=name, folder=folder, status=400)
    return go(request, f"/libraries/{library.id}", said="library-added")


@takes_page()
async def show(request: web.Request) -> web.StreamResponse:
    """GET /libraries/{id}: its books, by title."""
    home, library = request.app[HOME], library_of(request)
    q, after = request.query.get("q", "").strip()[:200], request.query.get("after")
    page = await home.library.books(library.id, q, after, _PAGE)
    who = me(request)
    transcribes = who is not None and who.admin and offered(await home.bridge.view())
    return render(
        request,
        "library.html",
        {
            "title": library.name,
            "place": "libraries",
            "live": "library",
            "library": library_view(library.wire(), home.clock.now()),
            "books": [book_view(book.wire()) for book in page.books],
            "transcribes": transcribes,
            "q": q,
            "after": after or "",
            "next_after": page.next_after,
        },
    )


@takes_page(admin=True)
async def scan(request: web.Request) -> web.StreamResponse:
    """POST /libraries/{id}/scan."""
    library = library_of(request)
    request.app[HOME].library.request_scan(library.id)
    return go(request, f"/libraries/{library.id}", said="scan-asked")


@takes_page(admin=True)
async def ask_remove(request: web.Request) -> web.StreamResponse:
    """GET /libraries/{id}/remove: the question before it."""
    library = library_of(request)
    return render(
        request,
        "confirm.html",
        {
            "title": f"Remove {library.name}",
            "place": "libraries",
            "question": f"Remove the library “{library.name}”?",
            "lines": [
                "This server forgets its books and its jobs. The files on the disk stay as they are.",
                f"Its folder is {library.root}.",
            ],
            "action": f"libraries/{library.id}/remove",
            "label": "Remove the library",
            "keep": "Keep it",
            "back": f"libraries/{library.id}",
        },
    )


@takes_page(admin=True)
async def remove(request: web.Request) -> web.StreamResponse:
    """POST /libraries/{id}/remove: its jobs go with it (R-049)."""
    home, library = request.app[HOME], library_of(request)
    await home.remove_library(library.id)
    return go(request, "/libraries", said="library-removed")


def library_of(request: web.Request) -> LibraryInfo:
    """Return the library that the path names; raises a 404."""
    library = request.app[HOME].library.get(id_in_path(request))
    if library is None:
        raise web.HTTPNotFound
    return library


async def _check_new(name: str, folder: str) -> None:
    """Refuse what a person will want to mend at once; raises BridgeError with what to do."""
    if not name or len(name) > _LONGEST_NAME:
        raise BridgeError(f"A library needs a name of at most {_LONGEST_NAME} characters; give it one.")
    if "\0" in folder or not _whole(folder):
        raise BridgeError(f"“{folder}” is no whole path; give the folder’s path from the top.")
    try:
        there = await files.call(_LOOK_S, lambda: Path(folder).expanduser().is_dir())
    except TimeoutError:
        raise BridgeError(
            f"The disk with “{folder}” does not answer; see that it is on and connected, then try again."
        ) from None
    except OSError as error:
        raise BridgeError(
            f"“{folder}” can’t be opened ({error.strerror}); mend that and try again."
        ) from error
    if not there:
        raise BridgeError(
            f"There is no folder “{folder}” on this server; check its spelling and that its drive is mounted."
        )


def _whole(folder: str) -> bool:
    return Path(folder).expanduser().is_absolute()


async def _list(
    request: web.Request, *, error: str = "", name: str = "", folder: str = "", status: int = 200
) -> web.Response:
    home, now = request.app[HOME], request.app[HOME].clock.now()
    who = me(request)
    admin = who is not None and who.admin
    libraries = [library_view(library.wire(), now) for library in home.library.libraries()]
    context: dict[str, object] = {
        "title": "Libraries",
        "place": "libraries",
        "live": "library bridge job",
        "state": libraries_state(libraries, admin),
        "libraries": libraries,
        "error": error,
        "name": name,
        "folder": folder,
    }
    if admin:
        context |= {"notes": home.notes, **await _side(home)}
    return render(request, "libraries.html", context, status=status)


async def _side(home: "HomeServer") -> dict[str, object]:
    bridge = await home.bridge.view()
    return {
        "bridge": bridge_view(bridge, library_names(home), home.clock.now()),
        "jobs": await latest_jobs(home, bridge, 5),
    }


def add_routes(app: web.Application) -> None:
    """Add the pages of the libraries."""
    app.router.add_get("/", home_page)
    app.router.add_get("/libraries", show_all)
    app.router.add_post("/libraries", add)
    app.router.add_get("/libraries/{id}", show)
    app.router.add_post("/libraries/{id}/scan", scan)
    app.router.add_get("/libraries/{id}/remove", ask_remove)
    app.router.add_post("/libraries/{id}/remove", remove)
