"""The rows of the uploads' store, as values."""

import json
import sqlite3
from dataclasses import dataclass
from typing import Any, Literal

JobState = Literal["open", "reducing", "completed", "failed", "cancelled"]
TaskState = Literal["pending", "leased", "running", "completed", "failed", "cancelled"]
Kind = Literal["source", "partial", "result"]


@dataclass(frozen=True, kw_only=True)
class Job:
    """A row of `jobs`."""

    number: int
    id: str
    workload: str
    parameters: dict[str, Any]
    state: JobState
    error_code: str | None
    result_id: str | None
    parts: dict[str, int] | None
    created_at: str
    finished_at: str | None


@dataclass(frozen=True, kw_only=True)
class Task:
    """A row of `tasks`, with the id of its job."""

    id: str
    number: int
    job: int
    job_id: str
    chunk_index: int
    workload: str
    parameters: dict[str, Any]
    input_uri: str | None
    input_sha256: str
    input_type: str | None
    input_start: int | None
    input_size: int | None
    state: TaskState
    attempt: int
    max_attempts: int
    owner: str | None
    token_id: int | None
    lease_ends_at: str | None
    result_id: str | None

    @property
    def leased(self) -> bool:
        """Whether somebody holds it, or did so until its lease was over."""
        return self.state in ("leased", "running")


@dataclass(frozen=True, kw_only=True)
class Artifact:
    """A row of `artifacts`; `job_id` is None for what was handed in for a part of the pipeline's.

    `content` is all of it where it is kept in the row, None where it lies in a file.
    """

    id: str
    kind: Kind
    job_id: str | None
    task_id: str | None
    attempt: int | None
    name: str
    content_type: str
    sha256: str
    size: int
    content: bytes | None = None


@dataclass(frozen=True, kw_only=True)
class NewTask:
    """A task to be made: a shard of an upload, or a chunk that was described by its address."""

    id: str
    chunk_index: int
    workload: str
    parameters: str
    input_sha256: str
    max_attempts: int
    input_uri: str | None = None
    input_type: str | None = None
    input_start: int | None = None
    input_size: int | None = None


@dataclass(frozen=True, kw_only=True)
class NewArtifact:
    """Bytes that lie on the disk, or come along as `content`, and are to be known by an id."""

    id: str
    kind: Kind
    name: str
    content_type: str
    sha256: str
    size: int
    job: int | None = None
    task_id: str | None = None
    attempt: int | None = None
    content: bytes | None = None


@dataclass(frozen=True)
class Holder:
    """Who writes as a claimant: the worker's id as it was written, its token, and the attempt (law 1)."""

    owner: str
    token_id: int
    attempt: int


def read_job(row: sqlite3.Row) -> Job:
    """Return a job of its row."""
    parts = None if row["parts"] is None else json.loads(row["parts"])
    return Job(**{**_picked(row, Job), "parameters": json.loads(row["parameters"]), "parts": parts})


def read_task(row: sqlite3.Row) -> Task:
    """Return a task of its row."""
    return Task(**{**_picked(row, Task), "parameters": json.loads(row["parameters"])})


def read_artifact(row: sqlite3.Row, job_id: str | None) -> Artifact:
    """Return an artifact of its row."""
    return Artifact(
        **{name: row[name] for name in Artifact.__dataclass_fields__ if name != "job_id"}, job_id=job_id
    )


def _picked(row: sqlite3.Row, kind: type[Job] | type[Task]) -> dict[str, Any]:
    return {name: row[name] for name in kind.__dataclass_fields__}
