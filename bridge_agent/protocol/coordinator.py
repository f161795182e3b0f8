"""The coordinator's wire (version 1) as a worker sees it, and what a `transcribe` task carries over it.

Field names are the wire's. A reader passes over fields it does not know. What this Bridge adds to the public
contract is optional on both sides: a foreign worker leaves it out, a foreign coordinator never sends it.
"""

import msgspec

TRANSCRIBE = "transcribe"
"""The workload, and the capability of everybody who can do it; `transcribe:MODEL` stands beside it."""
WORKER_ID = "X-Worker-ID"
TASK_ATTEMPT = "X-Task-Attempt"
PARTIAL_TYPE = "application/json"

GIVEN_BACK = "given_back"
"""The error code of a failure that is none: the claim came to nothing without anybody's fault."""
STOPPING = "The worker is stopping."
"""The message of a part given back in an orderly end; any other tells what keeps the worker from its work."""
BAD_INPUT = "input_checksum_mismatch"
"""The error code where the bytes of an input are not those that the claim names."""

MOST_ERROR_BYTES = 300
"""Of an error's message: more says nothing to a person."""


def capability(model: str) -> str:
    """Return the capability of a worker whose engine hears with this model."""
    return f"{TRANSCRIBE}:{model}"


class Message(msgspec.Struct, kw_only=True):
    """The root of all messages: built by keyword."""


class Sparse(Message, omit_defaults=True):
    """A message whose optional fields are left out when there is nothing to say."""


class Registration(Sparse):
    """`POST /workers/register`."""

    name: str
    capabilities: list[str]
    cpu_count: int | None = None
    memory_mb: int | None = None


class Registered(Message):
    """Its answer: who the worker is, and at most how many seconds may lie between two heartbeats."""

    worker_id: str
    heartbeat_interval_seconds: float = 15.0


class ClaimRequest(Message):
    """`POST /tasks/claim`; the registered capabilities decide, not these."""

    worker_id: str
    capabilities: list[str]
    max_concurrency: int = 1


class Input(Message):
    """Where a task's bytes are (relative to the root of the coordinator's address), and their SHA-256."""

    uri: str
    sha256: str


class SpeechParameters(Sparse):
    """How a part is to be heard: those of `transcribe.book`, and what makes equal parts give equal words.

    `hints` are names and places, most wanted first; where they are missing they are read from `prompt`.
    `seed` decides the chance in a decode that had to be tried again.
    """

    language: str | None = None
    model: str = ""
    quality: str = "balanced"
    word_timestamps: bool = True
    prompt: str = ""
    hints: list[str] = []
    seed: int | None = None


class ClaimedTask(Message):
    """The answer of a claim and of each heartbeat; `parameters` are the workload's own, still unread."""

    task_id: str
    attempt: int
    lease_expires_at: str
    workload: str = TRANSCRIBE
    input: Input | None = None
    parameters: msgspec.Raw = msgspec.Raw(b"{}")
    job_id: str = ""
    chunk_index: int = 0


class Hold(Message):
    """`POST /tasks/{id}/heartbeat`: who holds the task, and by which attempt."""

    worker_id: str
    attempt: int


class Uploaded(Message):
    """The answer to an uploaded partial: what was stored."""

    artifact_id: str
    sha256: str
    size_bytes: int
    uri: str = ""


class Manifest(Sparse):
    """Which artifact is a task's result."""

    artifact_id: str
    sha256: str = ""
    content_type: str = ""


class Completion(Message):
    """`POST /tasks/{id}/result`."""

    worker_id: str
    attempt: int
    result: Manifest
    metrics: dict[str, float | int] = {}


class Failure(Message):
    """`POST /tasks/{id}/failure`; never with a traceback, a token or a path."""

    worker_id: str
    attempt: int
    error_code: str
    error_message: str
    retryable: bool


class PartialWord(Message):
    """A word, in seconds of its part; `word` carries its leading space."""

    start: float
    end: float
    word: str
    probability: float = 0.0


class PartialSegment(Sparse):
    """A segment, in seconds of its part. Ours are whole samples over the rate, so nothing is lost."""

    start: float
    end: float
    text: str
    avg_logprob: float = 0.0
    no_speech_prob: float = 0.0
    words: list[PartialWord] = []
    compression_ratio: float = 1.0
    temperature: float = 0.0


class PartialEngine(Sparse):
    """What heard a part; `version` is this Bridge's addition."""

    name: str
    model: str = ""
    device: str = ""
    compute_type: str = ""
    version: str = ""


class Partial(Sparse):
    """The result of a `transcribe` task; `flags` and `speech_seconds` are this Bridge's additions.

    `flags` are those of `transcript.json`, raised by the guards beside the engine; `speech_seconds` is how
    much of the part is speech. A foreign worker has neither.
    """

    segments: list[PartialSegment]
    language: str = ""
    engine: PartialEngine | None = None
    flags: list[str] | None = None
    speech_seconds: float | None = None


class Refusal(Message):
    """The body of every error."""

    error: str = ""
    request_id: str = ""
