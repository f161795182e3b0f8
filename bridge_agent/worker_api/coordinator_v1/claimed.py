"""A claimed task as this wire shows it, whatever it is a piece of."""

import re
from dataclasses import dataclass
from typing import Any

_FOREIGN = re.compile(r"\s*(?:https?:|[/\\]{2})", re.IGNORECASE)


@dataclass(frozen=True)
class Claimed:
    """What a worker is told of a task that it holds."""

    task_id: str
    job_id: str
    chunk_index: int
    workload: str
    input_sha256: str
    parameters: dict[str, Any]
    attempt: int
    lease_expires_at: str
    input_uri: str | None = None

    def wire(self) -> dict[str, Any]:
        """Return it as it is sent.

        An input that is named as another server's is sent as a path of this one, where it is not to be had: a
        public worker sends its token along to wherever an address leads.
        """
        foreign = self.input_uri is None or _FOREIGN.match(self.input_uri)
        return {
            "task_id": self.task_id,
            "job_id": self.job_id,
            "chunk_index": self.chunk_index,
            "workload": self.workload,
            "input": {
                "uri": f"/tasks/{self.task_id}/input" if foreign else self.input_uri,
                "sha256": self.input_sha256,
            },
            "parameters": self.parameters,
            "attempt": self.attempt,
            "lease_expires_at": self.lease_expires_at,
        }


@dataclass(frozen=True)
class Settled:
    """What became of a task by what its worker said."""

    task_id: str
    job_id: str
    status: str

    def wire(self) -> dict[str, str]:
        """Return it as it is sent."""
        return {"id": self.task_id, "job_id": self.job_id, "status": self.status}


@dataclass(frozen=True)
class Caller:
    """Who calls: the token's worker, and the id that it gives itself, as it writes it."""

    token_id: int
    name: str
    model: str | None
    worker_id: str
