"""What is sent to this wire; what is missing and not required has its zero, as the original has it."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

Named = Annotated[str, Meta(min_length=1, pattern=r"\S")]
Uuid = Annotated[str, Meta(extra_json_schema={"format": "uuid"})]
Index = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Count = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


class Message(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The root of all messages."""


class Register(Message, frozen=True):
    """`POST /workers/register`; cores and memory are taken and not used."""

    name: Named
    capabilities: Annotated[list[str], Meta(min_length=1)]
    cpu_count: Count | None = None
    memory_mb: Count | None = None


class Claim(Message, frozen=True):
    """`POST /tasks/claim`; the registered capabilities decide, not these."""

    worker_id: Uuid
    capabilities: list[str] = []
    max_concurrency: Count | None = None


class Hold(Message, frozen=True):
    """`POST /tasks/{id}/heartbeat`."""

    worker_id: str = ""
    attempt: Count = 0


class Manifest(Message, frozen=True):
    """Which artifact is the result; sum and type are taken and not looked at."""

    artifact_id: Uuid | None = None
    sha256: str | None = None
    content_type: str | None = None


class Result(Message, frozen=True):
    """`POST /tasks/{id}/result`."""

    worker_id: str = ""
    attempt: Count = 0
    result: Manifest = Manifest()
    metrics: dict[str, Any] | None = None


class Fail(Message, frozen=True):
    """`POST /tasks/{id}/failure`; what is not said to be retryable is not."""

    worker_id: str = ""
    attempt: Count = 0
    error_code: str | None = None
    error_message: str | None = None
    retryable: bool = False


class Chunk(Message, frozen=True):
    """A task of a job that is described by addresses."""

    input_uri: Named
    input_sha256: Named
    chunk_index: Index = 0
    workload: str = ""
    parameters: dict[str, Any] | None = None
    max_attempts: Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)] = 0


class Describe(Message, frozen=True):
    """`POST /jobs`."""

    workload: Named
    input_uri: Named
    chunks: Annotated[list[Chunk], Meta(min_length=1, max_length=100_000)]
    parameters: dict[str, Any] | None = None
