"""What is sent to this wire; a member that is missing has its zero, as the original has it."""

from typing import Any

import msgspec


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """The root of all messages."""


class Register(Message, frozen=True):
    """`POST /workers/register`; cores and memory are taken and not used."""

    name: str = ""
    capabilities: list[str] = []
    cpu_count: int | None = None
    memory_mb: int | None = None


class Claim(Message, frozen=True):
    """`POST /tasks/claim`; the registered capabilities decide, not these."""

    worker_id: str = ""
    capabilities: list[str] = []
    max_concurrency: int | None = None


class Hold(Message, frozen=True):
    """`POST /tasks/{id}/heartbeat`."""

    worker_id: str = ""
    attempt: int = 0


class Manifest(Message, frozen=True):
    """Which artifact is the result; sum and type are taken and not looked at."""

    artifact_id: str = ""
    sha256: str | None = None
    content_type: str | None = None


class Result(Message, frozen=True):
    """`POST /tasks/{id}/result`."""

    worker_id: str = ""
    attempt: int = 0
    result: Manifest = Manifest()
    metrics: dict[str, Any] | None = None


class Fail(Message, frozen=True):
    """`POST /tasks/{id}/failure`; what is not said to be retryable is not."""

    worker_id: str = ""
    attempt: int = 0
    error_code: str | None = None
    error_message: str | None = None
    retryable: bool = False


class Chunk(Message, frozen=True):
    """A task of a job that is described by addresses."""

    chunk_index: int = 0
    input_uri: str = ""
    input_sha256: str = ""
    workload: str = ""
    parameters: dict[str, Any] | None = None
    max_attempts: int = 0


class Describe(Message, frozen=True):
    """`POST /jobs`."""

    workload: str = ""
    input_uri: str = ""
    parameters: dict[str, Any] | None = None
    chunks: list[Chunk] = []
