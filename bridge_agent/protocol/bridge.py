"""The Bridge API, version 1, as types: what travels between the Bridge and the server.

Field names are the wire's. A field unknown to a reader is ignored: an older half works with a newer one.
"""

import re
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec

API = "/api/v1"
VERIFY = "bridge.verify"
CLAIM_ID = "X-Claim-Id"
RUN_ID = "X-Bridge-Run"
"""Which run of a Bridge's process sends a heartbeat; a server that ignores it is tolerated."""
JOB_ATTEMPT = "X-Job-Attempt"
CONTENT_SHA256 = "X-Content-SHA256"
MAX_WAIT_S = 25.0
MAX_KINDS = 64
MAX_VERIFY_FILES = 50
MAX_HOLD_S = 600

ARTIFACT_BYTES = 64 << 20
ARTIFACTS_A_JOB = 32
ARTIFACT_TYPES = frozenset({"application/json", "text/vtt", "text/plain", "application/x-subrip"})

_KIND = re.compile(r"[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*\Z")
_ARTIFACT = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}\Z")

T = TypeVar("T")


def is_kind(text: str) -> bool:
    """Tell whether a text has the form `family.name`."""
    return _KIND.match(text) is not None


def family(kind: str) -> str:
    """Return the part of a kind before its dot: the feature that it gives (R-043)."""
    return kind.partition(".")[0]


def is_artifact_name(text: str) -> bool:
    """Tell whether a text may name an artifact."""
    return _ARTIFACT.match(text) is not None


def is_web_address(text: str) -> bool:
    """Tell whether a text is an absolute http(s) URL with a host (R-022, R-037)."""
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


class Message(msgspec.Struct, kw_only=True):
    """The root of all messages: built by keyword."""


class Sparse(Message, omit_defaults=True):
    """A message whose optional fields are left out when there is nothing to say."""


class Library(Message, kw_only=True):
    """A library as the server names it: its root is a path of the server's world."""

    id: int
    name: str = ""
    root: str


class ServerIdentity(Message):
    """Which server answered: `id` is a UUID that lasts as long as the server's data."""

    id: str
    name: str = ""


class PairRequest(Message):
    """What the Bridge sends to exchange a code."""

    code: str
    name: str | None = None
    version: str | None = None


class PairAnswer(Message):
    """What the server gives for a right code; the token is shown this once."""

    token: str
    server: ServerIdentity
    libraries: list[Library] = []


class LibraryCheck(Sparse):
    """The last mapping check of one library, as the heartbeat carries it; `path` is the path here."""

    library_id: int
    path: str
    ok: bool
    readable: bool
    writable: bool
    checked_at: str
    files_checked: int
    files_matched: int
    sample_path: str | None = None
    error: str | None = None


class WorkerStatus(Sparse):
    """A transcription worker as the heartbeat carries it."""

    name: str
    state: str
    engine: str | None = None
    device: str | None = None
    job_id: int | None = None
    seconds_per_second: float | None = None


class Heartbeat(Message):
    """PUT /bridge/status."""

    version: str
    kinds: list[str]
    libraries: list[LibraryCheck] = []
    workers: list[WorkerStatus] = []
    ui_url: str | None = None


class HeartbeatAnswer(Message):
    """The server's libraries, which the Bridge maps (R-040)."""

    libraries: list[Library]


class ClaimedJob(Message):
    """A job as a claim hands it out."""

    id: int
    attempt: int
    kind: str
    library_id: int = 0
    path: str = ""
    params: dict[str, Any] = {}
    lease_expires_at: str = ""
    lease_seconds: float = 120.0


class ClaimAnswer(Message):
    """GET /bridge/jobs/next when it has something; a server may also say so that it has nothing."""

    job: ClaimedJob | None = None


class Progress(Sparse):
    """How far a job is; `done` and `total` where they mean something (R-105)."""

    step: str
    message: str
    done: float | int | None = None
    total: float | int | None = None


class Report(Sparse):
    """PATCH /bridge/jobs/{id}."""

    attempt: int
    state: str
    progress: Progress | None = None
    result: dict[str, Any] | None = None
    error: str | None = None


class ReportAnswer(Message):
    """What a taken report is answered with; the lease is renewed."""

    id: int = 0
    state: str = ""
    attempt: int = 0
    cancel_requested: bool = False
    lease_expires_at: str | None = None
    lease_seconds: float = 120.0


class BookFile(Sparse):
    """An audio file of a book, its path relative to the library's root."""

    path: str
    size: int
    duration: float | None = None


class Chapter(Message):
    """A chapter on the book's time line, in seconds."""

    title: str
    start: float
    end: float


class Book(Message, kw_only=True):
    """GET /bridge/libraries/{id}/book: the files in reading order."""

    library_id: int = 0
    path: str = ""
    title: str = ""
    author: str = ""
    files: list[BookFile]
    chapters: list[Chapter] = []


class ArtifactAnswer(Message):
    """What a stored artifact is answered with."""

    artifact_id: int
    name: str
    sha256: str
    size_bytes: int


class VerifiedFile(Sparse):
    """One file of a verify's result (R-106, R-107)."""

    path: str
    size: int
    expected_size: int
    ok: bool
    error: str | None = None


class VerifyResult(Message):
    """The result of bridge.verify (R-106)."""

    library_id: int
    mount_path: str
    path: str
    files: list[VerifiedFile]
    writable: bool
    elapsed_ms: int
    writable_error: str | msgspec.UnsetType = msgspec.UNSET


class ErrorBody(Message):
    """The inside of an error answer: a stable code and one sentence."""

    code: str
    message: str = ""
    state: str | None = None
    field: str | None = None


class ErrorAnswer(Message):
    """The one shape of an error; a 401 without it is not this API's (settled point 10)."""

    error: ErrorBody


def decode(raw: bytes, kind: type[T]) -> T:
    """Read a JSON body as a message; raises msgspec.DecodeError, msgspec.ValidationError among it."""
    return msgspec.json.decode(raw, type=kind)


def decode_loosely(raw: bytes, kind: type[T]) -> T:
    """Read an answer of a server that may leave out, or set to null, what has a default here.

    Raises msgspec.DecodeError, msgspec.ValidationError among it.
    """
    try:
        return msgspec.convert(_without_nulls(msgspec.json.decode(raw)), kind)
    except RecursionError as error:
        raise msgspec.DecodeError("it is nested too deeply") from error


def _without_nulls(value: Any) -> Any:  # noqa: ANN401 - JSON of any shape
    if isinstance(value, dict):
        return {
            name: inner if name == "params" else _without_nulls(inner)
            for name, inner in value.items()
            if inner is not None
        }
    return [_without_nulls(inner) for inner in value] if isinstance(value, list) else value


def encode(message: object) -> bytes:
    """Write a message as JSON."""
    return msgspec.json.encode(message)


def plain(message: object) -> Any:  # noqa: ANN401
    """Return a message as dicts and lists, as it would stand in JSON."""
    return msgspec.to_builtins(message)
