"""A kept transcript as the list shows it, and as its folder says it."""

from dataclasses import dataclass
from pathlib import Path

import msgspec

from bridge_agent.transcription.assembly.result import (
    MOST_LISTED,
    Artifact,
    ResultEngine,
    RunFacts,
    WorkerShare,
    named_engine,
)
from bridge_agent.transcription.assembly.transcript import Transcript, Wire


class Record(Wire, frozen=True):
    """What `kept.json` in a transcript's folder says beside the transcript itself."""

    reuse_key: str
    kept_at: str
    server_id: str | None
    facts: RunFacts


class Kept(Wire, frozen=True, kw_only=True):
    """A kept transcript as `GET /api/transcripts` lists it; `path` is the book's within its library."""

    id: int = 0
    title: str = ""
    author: str = ""
    language: str | None = None
    duration_seconds: float = 0.0
    chapters: int = 0
    segments: int = 0
    words: int = 0
    engine: ResultEngine
    parts: int = 0
    seconds_spent: float = 0.0
    workers: tuple[WorkerShare, ...] = ()
    gaps_total: int = 0
    warnings: tuple[str, ...] = ()
    warnings_total: int = 0
    server_id: str | None = None
    library_id: int = 0
    path: str = ""
    kept_at: str = ""
    artifacts: tuple[Artifact, ...] = ()

    def wire(self) -> dict[str, object]:
        """Return it as JSON's own types."""
        made: dict[str, object] = msgspec.to_builtins(self)
        return made


@dataclass(frozen=True)
class KeptPage:
    """A page of the list, newest first; `next_before` asks for the next one, None at the end."""

    transcripts: tuple[Kept, ...]
    next_before: int | None

    def wire(self) -> dict[str, object]:
        """Return the answer of `GET /api/transcripts`."""
        return {"transcripts": [kept.wire() for kept in self.transcripts], "next_before": self.next_before}


@dataclass(frozen=True)
class KeptFile:
    """One file of a kept transcript, to be served from its path."""

    path: Path
    name: str
    content_type: str
    sha256: str
    size_bytes: int


def entry(transcript: Transcript, record: Record) -> Kept:
    """Return the list's entry of a transcript; its id is the store's to give."""
    facts = record.facts
    return Kept(
        title=transcript.title,
        author=transcript.author,
        language=transcript.language,
        duration_seconds=transcript.duration,
        chapters=len(transcript.chapters),
        segments=len(transcript.segments),
        words=transcript.word_count,
        engine=named_engine(transcript, facts),
        parts=facts.parts,
        seconds_spent=facts.seconds_spent,
        workers=facts.workers,
        gaps_total=len(transcript.gaps),
        warnings=facts.warnings[:MOST_LISTED],
        warnings_total=len(facts.warnings),
        server_id=record.server_id,
        library_id=facts.library_id,
        path=facts.path,
        kept_at=record.kept_at,
        artifacts=facts.artifacts,
    )
