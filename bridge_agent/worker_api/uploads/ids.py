"""Ids of jobs, tasks and artifacts: random UUIDs, as the public workers demand them."""

import uuid


def new_id() -> str:
    """Return an id that nothing else has."""
    return str(uuid.uuid4())
