"""The Transcribe button: a book's transcription is queued with what the form asks for."""

from aiohttp import web

from bridge_agent.home.console.access import field, takes_page
from bridge_agent.home.console.asking import NotAsked, ask
from bridge_agent.home.console.book_page import book_page
from bridge_agent.home.console.library_pages import library_of
from bridge_agent.home.console.pages import go
from bridge_agent.home.console.transcripts import offer
from bridge_agent.home.keys import HOME
from bridge_agent.home.kinds import TRANSCRIBE


@takes_page(admin=True)
async def transcribe(request: web.Request) -> web.StreamResponse:
    """POST /libraries/{id}/transcribe: a book of the form's `path`."""
    library = library_of(request)
    # Browsers send a line break in a field as CR LF, whatever the name on the disk has.
    path = field(request, "path").replace("\r\n", "\n")
    typed = {name: field(request, name).strip() for name in ("language", "quality", "model")}
    params: dict[str, object] = {name: value for name, value in typed.items() if value}
    if params.get("quality") == "balanced":
        del params["quality"]
    if field(request, "force"):
        params["force"] = True
    try:
        job, code = await ask(request.app[HOME], TRANSCRIBE, library.id, path, params, 0)
    except NotAsked as error:
        if error.code == "invalid_params":
            shown = offer(**typed, error=error.message)
            return await book_page(request, library, path, offer=shown, status=error.status)
        return go(request, f"/libraries/{library.id}", said=error.code)
    return go(request, f"/jobs/{job.id}", said=code)


def add_routes(app: web.Application) -> None:
    """Add the Transcribe button's address."""
    app.router.add_post("/libraries/{id}/transcribe", transcribe)
