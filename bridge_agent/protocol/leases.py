"""The rules of leases, without clock, store or network.

A claim is a term: the job's id and the attempt that the claim counted up. The attempt fences every write: it
only ever grows, is never used twice, and a write that names another attempt is refused (law 1). The server's
row decides who holds a job and until when. The Bridge keeps a trust window: from the moment it *began* the
request that renewed the lease, for the lease's length less a margin. Past it the Bridge no longer believes
that it holds the job; it withholds reports, uploads and writes, and goes on computing (law 5).
"""

from dataclasses import dataclass

from bridge_agent.protocol.states import HELD, JobState

DEFAULT_LEASE_S = 120.0
STOPPED_REPORTING = "the Bridge stopped reporting on every attempt"
"""What a job that lapsed on its last attempt fails with, to the letter (R-068)."""


def may_write(held_attempt: int, state: JobState, attempt: int) -> bool:
    """Tell whether a claimant that names `attempt` holds the job (R-064)."""
    return state in HELD and attempt == held_attempt


@dataclass(frozen=True)
class Lapse:
    """What a lease that ran out makes of a job."""

    state: JobState
    error: str | None
    keeps_report: bool


def lapse(attempts: int, max_attempts: int, cancel_requested: bool) -> Lapse:
    """Decide what becomes of a held job whose lease has run out (R-067, R-068, R-069).

    An asked-for cancel wins over the last attempt: that is what the admin wanted.
    """
    if cancel_requested:
        return Lapse(JobState.CANCELLED, None, keeps_report=True)
    if attempts >= max_attempts:
        return Lapse(JobState.FAILED, STOPPED_REPORTING, keeps_report=True)
    return Lapse(JobState.QUEUED, None, keeps_report=False)


@dataclass(frozen=True)
class Trust:
    """How long a claimant trusts a lease, in monotonic seconds."""

    until: float

    @classmethod
    def from_request(cls, started: float, lease_seconds: float | None) -> "Trust":
        """Return the window that a renewal gives: from its request's start, less a twelfth of the lease."""
        lease = DEFAULT_LEASE_S if lease_seconds is None else lease_seconds
        return cls(started + lease - lease / 12)

    def holds(self, monotonic: float) -> bool:
        """Tell whether the lease is still trusted at that moment."""
        return monotonic < self.until
