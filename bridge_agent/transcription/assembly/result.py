"""The result that a job of the kind `transcribe.book` reports, within the wire's limits."""

from collections.abc import Sequence

from bridge_agent.protocol.text import clean
from bridge_agent.transcription.assembly.transcript import Gap, Transcript, Wire

MOST_LISTED = 100
"""As many gaps and warnings as a result lists; the transcript has all."""
_WARNING_BYTES = 1024


class Artifact(Wire, frozen=True):
    """A file that came of a job; `stored` is `server` or `bridge`."""

    name: str
    content_type: str
    sha256: str
    size_bytes: int
    stored: str = "bridge"


class WorkerShare(Wire, frozen=True):
    """What one executor did of a book, by the name a person knows it by."""

    name: str
    parts: int
    audio_seconds: float


class RunFacts(Wire, frozen=True):
    """What a run knows and its transcript does not; `path` is the book's within its library."""

    library_id: int
    path: str
    parts: int
    device: str
    seconds_spent: float
    reused_parts: int = 0
    workers: tuple[WorkerShare, ...] = ()
    warnings: tuple[str, ...] = ()
    artifacts: tuple[Artifact, ...] = ()


class ResultEngine(Wire, frozen=True):
    """The engine as a result names it."""

    name: str
    model: str
    device: str
    compute_type: str


class Result(Wire, frozen=True):
    """The result as the wire has it."""

    library_id: int
    path: str
    title: str
    language: str | None
    duration_seconds: float
    parts: int
    segments: int
    words: int
    engine: ResultEngine
    seconds_spent: float
    speed: float
    reused_parts: int
    workers: tuple[WorkerShare, ...]
    gaps: tuple[Gap, ...]
    gaps_total: int
    warnings: tuple[str, ...]
    warnings_total: int
    artifacts: tuple[Artifact, ...]


def result(transcript: Transcript, facts: RunFacts) -> Result:
    """Return a job's result; `speed` is seconds of audio a second, 0 where no time was spent."""
    spent = facts.seconds_spent
    return Result(
        library_id=facts.library_id,
        path=facts.path,
        title=transcript.title,
        language=transcript.language,
        duration_seconds=transcript.duration,
        parts=facts.parts,
        segments=len(transcript.segments),
        words=transcript.word_count,
        engine=named_engine(transcript, facts),
        seconds_spent=round(spent, 1),
        speed=round(transcript.duration / spent, 2) if spent > 0 else 0.0,
        reused_parts=facts.reused_parts,
        workers=facts.workers,
        gaps=transcript.gaps[:MOST_LISTED],
        gaps_total=len(transcript.gaps),
        warnings=_warnings(facts.warnings),
        warnings_total=len(facts.warnings),
        artifacts=facts.artifacts,
    )


def named_engine(transcript: Transcript, facts: RunFacts) -> ResultEngine:
    """Return the engine that heard a transcript, as results name it."""
    return ResultEngine(
        name=transcript.engine.name,
        model=transcript.engine.model,
        device=facts.device,
        compute_type=transcript.engine.compute_type,
    )


def _warnings(found: Sequence[str]) -> tuple[str, ...]:
    return tuple(clean(warning, _WARNING_BYTES) for warning in found[:MOST_LISTED])
