"""Job ids of this wire: 24 lowercase hex digits, of which any case is taken."""

import re

from bridge_agent.worker_api.transcription_v1.errors import WireError

_HEX = re.compile(r"[0-9a-fA-F]{24}\Z")
_LARGEST = 2**63 - 1


def to_wire(task_id: int) -> str:
    """Return a task's id as workers know it."""
    return f"{task_id:024x}"


def from_wire(text: str) -> int:
    """Return a task's id, 0 for one that no task can have; raises WireError 400 `invalid_job_id`.

    Their server takes any twelve bytes for an id as well, and finds nothing under it.
    """
    if _HEX.match(text):
        found = int(text, 16)
        return found if found <= _LARGEST else 0
    if len(text.encode("utf-8", "surrogatepass")) == 12:
        return 0
    raise WireError(400, "invalid_job_id")
