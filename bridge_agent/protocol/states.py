"""The states of a job on each half, and which may follow which."""

from enum import StrEnum


class JobState(StrEnum):
    """A job on the server: the intent and the lease."""

    QUEUED = "queued"
    CLAIMED = "claimed"
    RUNNING = "running"
    NEEDS_ATTENTION = "needs_attention"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


OPEN = frozenset({JobState.QUEUED, JobState.CLAIMED, JobState.RUNNING, JobState.NEEDS_ATTENTION})
"""At most one open job per kind, library and path (R-051)."""
HELD = frozenset({JobState.CLAIMED, JobState.RUNNING, JobState.NEEDS_ATTENTION})
"""The states in which a claim holds the job."""
ENDED = frozenset({JobState.DONE, JobState.FAILED, JobState.CANCELLED})
REPORTABLE = frozenset({JobState.RUNNING, JobState.NEEDS_ATTENTION}) | ENDED
"""What the Bridge may report (R-052); never queued, never claimed."""

FOLLOWS: dict[JobState, frozenset[JobState]] = {
    JobState.QUEUED: frozenset({JobState.CLAIMED, JobState.CANCELLED}),
    JobState.CLAIMED: REPORTABLE | {JobState.QUEUED},
    JobState.RUNNING: REPORTABLE | {JobState.QUEUED},
    JobState.NEEDS_ATTENTION: REPORTABLE | {JobState.QUEUED},
    JobState.DONE: frozenset(),
    JobState.FAILED: frozenset(),
    JobState.CANCELLED: frozenset(),
}
"""Which state may follow which; `queued` again only by a lapse or a claim given back."""


class RunState(StrEnum):
    """A job on the Bridge: the execution truth, one row of `server_jobs`."""

    RUNNING = "running"
    NEEDS_ATTENTION = "needs_attention"
    ASIDE = "aside"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    LOST = "lost"


RUN_OPEN = frozenset({RunState.RUNNING, RunState.NEEDS_ATTENTION, RunState.ASIDE})
