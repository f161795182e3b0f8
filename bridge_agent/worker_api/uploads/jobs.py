"""Uploaded jobs, as units over the store."""

import json
import sqlite3
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from bridge_agent.store import Queries
from bridge_agent.worker_api.uploads import artifacts, tasks
from bridge_agent.worker_api.uploads.records import Job, JobState, NewArtifact, NewTask, read_job
from bridge_agent.worker_api.uploads.refusals import NoSuchJob, NotCancellable
from bridge_agent.worker_api.workloads.catalogue import CATALOGUE

SQL = Queries("bridge_agent.worker_api.uploads", "jobs.sql")
REDUCED = json.dumps([workload.name for workload in CATALOGUE.values() if workload.reducer is not None])
"""The workloads whose results are put together here."""


class Sized(NamedTuple):
    """A job that has ended, and the bytes that it takes."""

    job: Job
    size: int


def add(c: sqlite3.Connection, job_id: str, workload: str, parameters: str, now: str) -> Job:
    """Begin a job."""
    values = {"id": job_id, "workload": workload, "parameters": parameters, "now": now}
    return read_job(c.execute(SQL["add"], values).fetchone())


def one(c: sqlite3.Connection, job_id: str) -> Job:
    """Return a job; raises NoSuchJob."""
    row = c.execute(SQL["one"], {"id": job_id}).fetchone()
    if row is None:
        raise NoSuchJob
    return read_job(row)


def by_number(c: sqlite3.Connection, number: int) -> Job | None:
    """Return a job by its number."""
    row = c.execute(SQL["by_number"], {"number": number}).fetchone()
    return None if row is None else read_job(row)


def in_state(c: sqlite3.Connection, state: JobState) -> list[Job]:
    """Return all jobs in a state."""
    return [read_job(row) for row in c.execute(SQL["in_state"], {"state": state}).fetchall()]


def settle(c: sqlite3.Connection, numbers: Iterable[int], now: str) -> list[Job]:
    """Close those of these jobs whose tasks have all come to their end; return the ones that were closed."""
    closed = []
    for number in sorted(numbers):
        row = c.execute(SQL["settle"], {"number": number, "reduced": REDUCED, "now": now}).fetchone()
        if row is not None:
            closed.append(read_job(row))
    return closed


def reduce(c: sqlite3.Connection, number: int) -> Job | None:
    """Write down that a job's results are put together now; None where it is not open any more."""
    row = c.execute(SQL["reduce"], {"number": number}).fetchone()
    return None if row is None else read_job(row)


def complete(c: sqlite3.Connection, number: int, result: NewArtifact, now: str) -> bool:
    """Give a job its final result; False where it had come to its end before."""
    done = c.execute(SQL["complete"], {"number": number, "result_id": result.id, "now": now}).fetchone()
    return done is not None and artifacts.add(c, result, now)


def fail(c: sqlite3.Connection, number: int, error_code: str, now: str) -> None:
    """Write down that a job can't be had."""
    c.execute(SQL["fail"], {"number": number, "error_code": error_code, "now": now})


def cancel(c: sqlite3.Connection, job_id: str, now: str) -> tuple[Job, int]:
    """End a job that nobody wants any more, its open tasks with it, in one transaction.

    Return it and how many tasks were ended: none where that was done before. Raises NoSuchJob,
    NotCancellable.
    """
    job = one(c, job_id)
    row = c.execute(SQL["cancel"], {"number": job.number, "now": now}).fetchone()
    if row is None:
        if job.state != "cancelled":
            raise NotCancellable
        return job, 0
    return read_job(row), tasks.cancel(c, job.number, now)


def begin(
    c: sqlite3.Connection,
    job_id: str,
    workload: str,
    parameters: str,
    source: NewArtifact | None,
    new: Iterable[NewTask],
    now: str,
) -> Job:
    """Make a job whole: with the file it came from and all its tasks, or not at all."""
    job = add(c, job_id, workload, parameters, now)
    if source is not None:
        artifacts.add(c, _of(source, job), now)
    tasks.add(c, job.number, new, now)
    return job


def _of(artifact: NewArtifact, job: Job) -> NewArtifact:
    return NewArtifact(
        id=artifact.id,
        kind=artifact.kind,
        name=artifact.name,
        content_type=artifact.content_type,
        sha256=artifact.sha256,
        size=artifact.size,
        job=job.number,
    )


def finished_before(c: sqlite3.Connection, before: str) -> list[Job]:
    """Return the jobs that ended before a time."""
    return [read_job(row) for row in c.execute(SQL["finished_before"], {"before": before}).fetchall()]


def finished(c: sqlite3.Connection) -> list[Sized]:
    """Return the jobs that have ended, the one that did so first first."""
    return [Sized(read_job(row), int(row["bytes"])) for row in c.execute(SQL["finished"]).fetchall()]


def all_bytes(c: sqlite3.Connection) -> int:
    """Return how many bytes all jobs take."""
    return int(c.execute(SQL["bytes"]).fetchone()["bytes"])


def ids(c: sqlite3.Connection) -> set[str]:
    """Return the ids of all jobs."""
    return {row["id"] for row in c.execute(SQL["ids"]).fetchall()}


def forget(c: sqlite3.Connection, number: int) -> None:
    """Drop a job with its tasks and the rows of its artifacts."""
    c.execute(SQL["forget"], {"number": number})


def keep_parts(c: sqlite3.Connection, number: int, counts: Mapping[str, int]) -> None:
    """Remember how many parts of audio were in each state at a job's end."""
    c.execute(SQL["keep_parts"], {"number": number, "parts": json.dumps(counts)})


def forget_id(c: sqlite3.Connection, job_id: str) -> None:
    """Drop a job by its id, if there is one."""
    c.execute(SQL["forget_id"], {"id": job_id})
