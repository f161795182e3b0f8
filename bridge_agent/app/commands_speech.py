"""The commands `transcribe` and `search`: with a Bridge that runs, or without one."""

import asyncio
import html
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from bridge_agent.app import local_book
from bridge_agent.app.commands import call, tell
from bridge_agent.app.watching import Watching
from bridge_agent.base.clock import SystemClock
from bridge_agent.base.errors import BridgeError, ExitCode, SettingsError, TryLater
from bridge_agent.settings import BridgeSettings
from bridge_agent.store import FolderLock
from bridge_agent.transcription.transcripts import open_transcripts
from bridge_agent.web.rendering import span

QUALITIES = ("balanced", "accurate")
_LANGUAGE = re.compile(r"[a-z]{2}\Z")
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"


def transcribe(
    path: Path,
    data_dir: Path | None,
    *,
    language: str | None,
    quality: str,
    model: str | None,
    output: Path | None,
    as_json: bool,
) -> ExitCode:
    """Transcribe a file, or a folder as one book; say where the files are."""
    from bridge_agent.app.transcribing import Wanted
    from bridge_agent.app.transcribing import transcribe as make

    if language is not None and not _LANGUAGE.match(language):
        raise SettingsError("--language takes a language of two letters, like “en”; or leave it out.")
    if quality not in QUALITIES:
        raise SettingsError("--quality takes “balanced” or “accurate”.")
    settings = BridgeSettings.load(os.environ, {"speech_model": model}, data_dir)
    book = local_book.find(path)
    with Watching(book.title, quiet=as_json) as watching:
        try:
            made = asyncio.run(
                make(settings, SystemClock(), book, Wanted(language, quality, output), watching.saw)
            )
        except OSError as error:
            raise BridgeError(
                f"The transcript can’t be kept ({error.strerror or error}); look at the disk of "
                f"{settings.data_dir}, then try again: what is finished is used."
            ) from error
    if made.shared:
        _show_running_bridge(data_dir)
    return tell(made.wire(), as_json, *_made_lines(made.wire()))


def search(given: Sequence[str], data_dir: Path | None, *, limit: int, as_json: bool) -> ExitCode:
    """Search in all transcripts that are kept here; a Bridge that runs is asked by its page."""
    words = query_of(given)
    query = urlencode({"q": words, "limit": limit})
    try:
        answer = call(data_dir, "GET", f"/api/search?{query}")
    except TryLater:
        answer = asyncio.run(_search_here(BridgeSettings.load(os.environ, None, data_dir), words, limit))
    return tell(answer, as_json, *hit_lines(answer, " ".join(given), bold=sys.stdout.isatty()))


async def _search_here(settings: BridgeSettings, words: str, limit: int) -> dict[str, object]:
    lock = FolderLock(settings.data_dir, "bridge")
    lock.acquire()
    try:
        transcripts = await open_transcripts(settings.data_dir, SystemClock())
        try:
            await transcripts.mend()
            return (await transcripts.search(words, None, limit)).wire()
        finally:
            await transcripts.close()
    finally:
        lock.release()


def query_of(given: Sequence[str]) -> str:
    """Return what is searched for; an argument of several words, quoted for the shell, is a phrase."""
    return " ".join(f'"{one}"' if len(one.split()) > 1 and '"' not in one else one for one in given)


def hit_lines(answer: Mapping[str, Any], words: str, *, bold: bool) -> Iterator[str]:
    """Say what was found in lines: book, chapter, time, and the words around it."""
    book = None
    for hit in answer["hits"]:
        if book != hit["transcript_id"]:
            if book is not None:
                yield ""
            book = hit["transcript_id"]
            yield " · ".join(text for text in (hit["title"], hit["author"]) if text)
        chapter = hit["chapter"] if hit["chapter"] != hit["title"] else ""
        yield f"  {_clock(hit['start']):>8}  {chapter}".rstrip()
        yield f"            {_shown(hit['snippet'], bold)}"
    if not answer["hits"]:
        yield f"Nobody says “{words}” in the transcripts kept here."
    elif answer["next_after"]:
        yield ""
        yield "There are more; narrow the search, or raise --limit."


def _shown(snippet: str, bold: bool) -> str:
    first, last = (_BOLD, _PLAIN) if bold else ("", "")
    return html.unescape(snippet.replace("<mark>", first).replace("</mark>", last))


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def _made_lines(made: Mapping[str, Any]) -> Iterator[str]:
    spent = made["seconds_spent"]
    took = f" in {span(spent)}" if spent >= 0.1 else ", made before"
    yield f"{made['title']}: {span(made['duration_seconds'])} transcribed{took}, {made['words']:,} words."
    for warning in made["warnings"]:
        yield f"! {warning}"
    if made["gaps_total"]:
        yield f"! {made['gaps_total']} stretches are missing; the transcript says which and why."
    yield "The files:"
    for path in made["files"]:
        yield f"  {path}"


def _show_running_bridge(data_dir: Path | None) -> None:
    """Have the running Bridge take the new transcript in at once; else it does so by itself, later."""
    try:
        call(data_dir, "POST", "/api/transcripts/mend")
    except BridgeError as error:
        print(f"The running Bridge shows it later: {error.message}", file=sys.stderr)  # noqa: T201
