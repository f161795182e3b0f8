"""The pages of the transcripts: the list with its search across all books, and the reader."""

from urllib.parse import urlencode

from aiohttp import web

from bridge_agent.base.threads import in_thread
from bridge_agent.page import views_reader, views_speech, views_transcripts
from bridge_agent.page.api_transcripts import (
    damaged,
    found,
    listed,
    no_transcript,
    query_of,
    transcript_of,
    transcripts_of,
)
from bridge_agent.page.context import show
from bridge_agent.page.links import root_of
from bridge_agent.page.parts import parts_of
from bridge_agent.page.views_reader import Asked, Reading
from bridge_agent.transcription.assembly.transcript import Transcript
from bridge_agent.transcription.transcripts import Kept, KeptPage, TranscriptDamaged
from bridge_agent.transcription.transcripts import reader as reader_of
from bridge_agent.web.bodies import int_query

PAGE_LENGTH = 30
_TITLED = 5
_FAR = 1_000_000


def add_routes(app: web.Application) -> None:
    """Add these routes."""
    router = app.router
    router.add_get("/transcripts", get_transcripts)
    router.add_get("/transcripts/book", get_of_book)
    router.add_get("/transcripts/{id}", get_transcript)


async def get_transcripts(request: web.Request) -> web.StreamResponse:
    """Show the transcripts that are kept here, or what a search finds in them."""
    if query_of(request):
        return await _search(request)
    parts = parts_of(request)
    page = await listed(request, PAGE_LENGTH)
    first = "before" not in request.query
    title, line = views_transcripts.list_head(page, first)
    return show(
        request,
        "transcripts.html",
        "transcripts",
        "Transcripts",
        mark="ok" if page.transcripts else "off",
        sentence=title,
        line=line,
        how=views_transcripts.HOW,
        rows=[views_transcripts.row(kept) for kept in page.transcripts],
        older="" if page.next_before is None else urlencode({"before": page.next_before}),
        first_page=first,
        no_engine=views_speech.no_engine(parts.speech, parts.settings),
        download=views_speech.download(parts.speech),
        q="",
        live=True,
    )


async def _search(request: web.Request) -> web.StreamResponse:
    q, first = query_of(request), "after" not in request.query
    hits = await found(request, PAGE_LENGTH)
    titled = await listed(request, _TITLED) if first else KeptPage((), None)
    title, line = views_transcripts.search_head(q, hits, first, len(titled.transcripts))
    return show(
        request,
        "search.html",
        "transcripts",
        f"“{q}” in all books",
        mark="ok" if hits.hits else "off",
        sentence=title,
        line=line,
        how=views_transcripts.HOW,
        titled=[views_transcripts.row(kept) for kept in titled.transcripts],
        books=views_transcripts.books(hits.hits, q),
        more="" if hits.next_after is None else urlencode({"q": q, "after": hits.next_after}),
        first_page=first,
        q=q,
        live=False,
    )


async def get_of_book(request: web.Request) -> web.StreamResponse:
    """Lead to the newest transcript of a book of a library, else to what is named like it."""
    path, library = request.query.get("path", ""), int_query(request, "library", 0, 0, _FAR)
    transcripts = parts_of(request).transcripts
    if transcripts is not None and path:
        page = await transcripts.list(path)
        for kept in page.transcripts:
            if kept.path == path and kept.library_id == library:
                raise web.HTTPSeeOther(f"{root_of(request)}/transcripts/{kept.id}")
    raise web.HTTPSeeOther(f"{root_of(request)}/transcripts")


async def get_transcript(request: web.Request) -> web.StreamResponse:
    """Show a transcript to be read; `q` is found in it, `at` is a place in seconds."""
    kept = await transcript_of(request)
    try:
        transcript = await transcripts_of(request).load(kept.id)
    except TranscriptDamaged as error:
        raise damaged(error) from error
    if transcript is None:
        raise no_transcript()
    asked = asked_of(request)
    reading = await in_thread(_read, transcript, kept, asked)
    return show(
        request,
        "transcript.html",
        "transcripts",
        kept.title or "A transcript",
        kept=kept,
        row=views_transcripts.row(kept),
        lang=kept.language or "",
        reading=reading,
        downloads=views_transcripts.downloads(kept),
        about=views_transcripts.about(kept),
        unsure_language=any("unsure_language" in segment.flags for segment in transcript.segments),
        q=asked.q,
        live=False,
    )


def asked_of(request: web.Request) -> Asked:
    """Read what a reader asks for; what is no place counts as not asked."""
    chapter = int_query(request, "chapter", -1, -1, _FAR)
    return Asked(query_of(request), None if chapter < 0 else chapter, _seconds(request.query.get("at", "")))


def _seconds(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < _FAR * 10 else None


def _read(transcript: Transcript, kept: Kept, asked: Asked) -> Reading:
    chapters = reader_of.chapters(transcript)
    places = reader_of.find(chapters, asked.q) if asked.q else []
    return views_reader.reading(chapters, kept.title, kept.words, places, asked)
