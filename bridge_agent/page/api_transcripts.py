"""The JSON API of the transcripts that are kept here: the list, one of them, its files, the search."""

from pathlib import Path
from urllib.parse import quote

from aiohttp import hdrs, web

from bridge_agent.base.threads import in_thread
from bridge_agent.page.access import visitor_of
from bridge_agent.page.parts import parts_of
from bridge_agent.transcription.transcripts import (
    BadCursor,
    Hits,
    Kept,
    KeptFile,
    KeptPage,
    TranscriptDamaged,
    Transcripts,
)
from bridge_agent.web.bodies import id_in_path, int_query
from bridge_agent.web.errors import ApiError, json_response

MOST = 100
_LONGEST_QUERY = 400
_CHUNK = 1 << 18
_NEWEST = (1 << 62) - 1


def add_routes(app: web.Application) -> None:
    """Add these routes."""
    router = app.router
    router.add_get("/api/transcripts", get_transcripts)
    router.add_post("/api/transcripts/mend", post_mend)
    router.add_get("/api/transcripts/{id}", get_transcript)
    router.add_get("/api/transcripts/{id}/{name}", get_file)
    router.add_get("/api/search", get_search)


async def get_transcripts(request: web.Request) -> web.StreamResponse:
    """List transcripts, newest first."""
    page = await listed(request, int_query(request, "limit", 50, 1, MOST))
    return json_response(page.wire())


async def get_transcript(request: web.Request) -> web.StreamResponse:
    """Answer with one transcript's entry of the list."""
    return json_response((await transcript_of(request)).wire())


async def get_file(request: web.Request) -> web.StreamResponse:
    """Answer with a transcript's file: bytes to keep, never shown as a page of this site."""
    kept = await transcript_of(request)
    file = await _file(request, kept)
    headers = {
        hdrs.ETAG: f'"{file.sha256}"',
        hdrs.CACHE_CONTROL: "private, no-cache",
        hdrs.CONTENT_DISPOSITION: attachment(kept, file.name),
        "X-Content-Type-Options": "nosniff",
    }
    known = [one.strip().removeprefix("W/") for one in request.headers.get(hdrs.IF_NONE_MATCH, "").split(",")]
    if headers[hdrs.ETAG] in known or "*" in known:
        return web.Response(status=304, headers=headers)
    response = web.StreamResponse(headers=headers)
    response.content_type = file.content_type
    response.content_length = file.size_bytes
    if file.content_type.startswith("text/"):
        response.charset = "utf-8"
    await response.prepare(request)
    if request.method != hdrs.METH_HEAD:
        for start in range(0, file.size_bytes, _CHUNK):
            await response.write(await in_thread(_read, file.path, start))
    await response.write_eof()
    return response


async def post_mend(request: web.Request) -> web.StreamResponse:
    """Take in what lies among the transcripts and is not known yet, for the command line alone."""
    if visitor_of(request).kind != "control":
        raise ApiError(403, "control_only", "Only this machine’s command line does this.")
    return json_response({"changed": await transcripts_of(request).mend()})


async def get_search(request: web.Request) -> web.StreamResponse:
    """Search in all transcripts."""
    hits = await found(request, int_query(request, "limit", 20, 1, MOST))
    return json_response(hits.wire())


async def listed(request: web.Request, limit: int) -> KeptPage:
    """Return the page of the list that a request asks for by `q` and `before`."""
    transcripts = parts_of(request).transcripts
    before = int_query(request, "before", _NEWEST, 0, _NEWEST)
    if transcripts is None:
        return KeptPage((), None)
    return await transcripts.list(query_of(request), before, limit)


async def found(request: web.Request, limit: int) -> Hits:
    """Return the hits that a request asks for by `q` and `after`; raises ApiError 400 for a false `after`."""
    transcripts, q = parts_of(request).transcripts, query_of(request)
    if transcripts is None:
        return Hits((), None)
    try:
        return await transcripts.search(q, request.query.get("after") or None, limit)
    except BadCursor as error:
        raise ApiError(400, error.code, error.message) from error


def query_of(request: web.Request) -> str:
    """Return what is looked for."""
    return request.query.get("q", "").strip()[:_LONGEST_QUERY]


def transcripts_of(request: web.Request) -> Transcripts:
    """Return the kept transcripts; raises ApiError 404 where this Bridge keeps none."""
    transcripts = parts_of(request).transcripts
    if transcripts is None:
        raise no_transcript()
    return transcripts


async def transcript_of(request: web.Request) -> Kept:
    """Return the transcript that the path names; raises ApiError 404."""
    kept = await transcripts_of(request).get(id_in_path(request))
    if kept is None:
        raise no_transcript()
    return kept


def no_transcript() -> ApiError:
    """Return the answer for a transcript that is not there."""
    return ApiError(404, "not_found", "There is no such transcript here; look at the list of transcripts.")


def damaged(error: TranscriptDamaged) -> ApiError:
    """Return the answer for a transcript whose files are gone or were changed."""
    return ApiError(410, error.code, error.message)


def attachment(kept: Kept, name: str) -> str:
    """Return the header that has a file kept under its book's title."""
    title = "".join(c if c.isprintable() and c not in '\\/:*?"<>|' else " " for c in kept.title)
    shown = f"{' '.join(title.split())[:100] or 'transcript'}{Path(name).suffix}"
    return f"attachment; filename=\"{name}\"; filename*=UTF-8''{quote(shown, safe='')}"


async def _file(request: web.Request, kept: Kept) -> KeptFile:
    try:
        file = await transcripts_of(request).artifact(kept.id, request.match_info["name"])
    except TranscriptDamaged as error:
        raise damaged(error) from error
    if file is None:
        raise ApiError(404, "not_found", "The transcript has no file of this name; look at the transcript.")
    return file


def _read(path: Path, start: int) -> bytes:
    with path.open("rb") as file:
        file.seek(start)
        return file.read(_CHUNK)
