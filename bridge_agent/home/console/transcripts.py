"""What the console knows of transcripts: whether they can be had, what is asked, a book's newest one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from bridge_agent.home.artifacts import Artifact
from bridge_agent.home.console import words
from bridge_agent.home.console.results import result_line
from bridge_agent.home.job import Job
from bridge_agent.home.kinds import TRANSCRIBE
from bridge_agent.store import Queries
from bridge_agent.transcription.engines import languages

if TYPE_CHECKING:
    from bridge_agent.home.app import HomeServer

_SQL = Queries(__package__, "console.sql")
_NAMES = {
    "transcript.txt": "Text",
    "transcript.vtt": "Subtitles, VTT",
    "transcript.srt": "Subtitles, SRT",
    "transcript.json": "Words and times, JSON",
}


@dataclass(frozen=True)
class Offer:
    """What a Bridge that transcribes is asked with: the languages by code, and what was typed last."""

    languages: tuple[tuple[str, str], ...]
    language: str = ""
    quality: str = "balanced"
    model: str = ""
    error: str = ""


@dataclass(frozen=True)
class TranscriptFile:
    """One file of a transcript, to download."""

    name: str
    shown: str
    size: int


@dataclass(frozen=True)
class BookTranscript:
    """A book's newest transcript: the job that made it, its line, its files, and where it can be read."""

    job_id: int
    line: str
    finished_at: str | None
    files: tuple[TranscriptFile, ...]
    read_at: str


def offered(bridge: Mapping[str, Any]) -> bool:
    """Tell whether the paired Bridge transcribes, from its status as GET /admin/bridge gives it."""
    status = bridge.get("status")
    kinds = status.get("kinds") if isinstance(status, Mapping) else None
    return bool(bridge.get("paired")) and isinstance(kinds, list) and TRANSCRIBE in kinds


def offer(**typed: str) -> Offer:
    """Return what the form of a book shows."""
    named = {languages.common(code): name for code, name in languages.NAMES.items()}
    known = [(code, name[:1].upper() + name[1:]) for code, name in named.items() if len(code) == 2]
    return Offer(tuple(sorted(known, key=lambda one: one[1])), **typed)


async def transcript_of(
    home: "HomeServer", library_id: int, path: str, bridge: Mapping[str, Any]
) -> BookTranscript | None:
    """Return a book's newest transcript, None where it has none."""
    values = {"library_id": library_id, "path": path, "kind": TRANSCRIBE}
    row = await home.db.read(lambda c: c.execute(_SQL["transcript_of_book"], values).fetchone())
    if row is None:
        return None
    job = Job.of(row)
    status = bridge.get("status")
    ui_url = status.get("ui_url") if isinstance(status, Mapping) else None
    # By the path that it had then: the Bridge knows its transcript by that.
    book = urlencode({"library": library_id, "path": words.text_in(job.result, "path") or path})
    return BookTranscript(
        job_id=job.id,
        line=result_line(job.kind, job.result) or "Done; the Bridge said nothing more.",
        finished_at=job.finished_at,
        files=tuple(map(_file, sorted(await home.artifacts.list(job.id), key=_place))),
        read_at=f"{ui_url.rstrip('/')}/transcripts/book?{book}" if isinstance(ui_url, str) and ui_url else "",
    )


def _place(artifact: Artifact) -> int:
    names = list(_NAMES)
    return names.index(artifact.name) if artifact.name in names else len(names)


def _file(artifact: Artifact) -> TranscriptFile:
    return TranscriptFile(artifact.name, _NAMES.get(artifact.name, artifact.name), artifact.size_bytes)
