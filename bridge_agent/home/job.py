"""A job as the server holds it, and in the wire's shape."""

import json
import sqlite3
from dataclasses import dataclass

from bridge_agent.protocol.bridge import ClaimedJob
from bridge_agent.protocol.states import ENDED, HELD, JobState

Json = dict[str, object]


@dataclass(frozen=True)
class Job:
    """One row of bridge_jobs."""

    id: int
    kind: str
    library_id: int
    path: str
    params: Json
    state: JobState
    priority: int
    attempts: int
    lease_expires_at: str | None
    cancel_requested: bool
    progress: Json | None
    result: Json | None
    error: str | None
    created_at: str
    updated_at: str
    finished_at: str | None

    @classmethod
    def of(cls, row: sqlite3.Row) -> "Job":
        """Read a whole row."""
        return cls(
            id=row["id"],
            kind=row["kind"],
            library_id=row["library_id"],
            path=row["path"],
            params=json.loads(row["params"]),
            state=JobState(row["state"]),
            priority=row["priority"],
            attempts=row["attempts"],
            lease_expires_at=row["lease_expires_at"],
            cancel_requested=bool(row["cancel_requested"]),
            progress=_json(row["progress"]),
            result=_json(row["result"]),
            error=row["error"],
            created_at=row["created_at"],
            updated_at=row["updated_at"],
            finished_at=row["finished_at"],
        )

    @property
    def held(self) -> bool:
        """Whether a claim holds it."""
        return self.state in HELD

    @property
    def ended(self) -> bool:
        """Whether it is over."""
        return self.state in ENDED

    def wire(self) -> Json:
        """Return the job as every admin route shows it."""
        return dict(vars(self))

    def claimed(self, lease_seconds: float) -> ClaimedJob:
        """Return the job as a claim hands it out."""
        return ClaimedJob(
            id=self.id,
            attempt=self.attempts,
            kind=self.kind,
            library_id=self.library_id,
            path=self.path,
            params=self.params,
            lease_expires_at=self.lease_expires_at or "",
            lease_seconds=lease_seconds,
        )


def _json(text: str | None) -> Json | None:
    return None if text is None else json.loads(text)
