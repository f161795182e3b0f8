"""Artifacts by their ids, as units over the store."""

import sqlite3
from dataclasses import asdict

from bridge_agent.store import Queries
from bridge_agent.worker_api.uploads.records import Artifact, NewArtifact, read_artifact
from bridge_agent.worker_api.uploads.refusals import NoSuchArtifact

SQL = Queries("bridge_agent.worker_api.uploads", "artifacts.sql")


def add(c: sqlite3.Connection, new: NewArtifact, now: str) -> bool:
    """Know bytes by an id; False where the claim has handed in some already."""
    return c.execute(SQL["add"], {**asdict(new), "now": now}).fetchone() is not None


def one(c: sqlite3.Connection, artifact_id: str) -> Artifact:
    """Return an artifact; raises NoSuchArtifact."""
    row = c.execute(SQL["one"], {"id": artifact_id}).fetchone()
    if row is None:
        raise NoSuchArtifact
    return read_artifact(row, row["job_id"])


def of_claim(c: sqlite3.Connection, task_id: str, attempt: int) -> Artifact | None:
    """Return what a claim has handed in, if anything."""
    row = c.execute(SQL["of_claim"], {"task_id": task_id, "attempt": attempt}).fetchone()
    return None if row is None else read_artifact(row, row["job_id"])


def of_parts(c: sqlite3.Connection) -> set[str]:
    """Return the ids of all that was handed in for parts of the pipeline's."""
    return {row["id"] for row in c.execute(SQL["of_parts"]).fetchall()}


def forget_parts(c: sqlite3.Connection, before: str) -> list[str]:
    """Drop what was handed in for parts before a time; return the ids."""
    return [row["id"] for row in c.execute(SQL["forget_parts"], {"before": before}).fetchall()]


def source_of(c: sqlite3.Connection, job: int) -> Artifact | None:
    """Return the file that a job was uploaded with."""
    row = c.execute(SQL["source_of"], {"job": job}).fetchone()
    return None if row is None else read_artifact(row, None)
