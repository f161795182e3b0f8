"""What a handler is given, and what it may answer."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from bridge_agent.base.errors import BridgeError
from bridge_agent.protocol.bridge import Progress


@dataclass(frozen=True)
class Done:
    """The job is done, with what it found."""

    result: dict[str, Any]


@dataclass(frozen=True)
class Failed:
    """The job can't be done: one sentence with the next step, and what was found where that helps (R-108)."""

    error: str
    result: dict[str, Any] | None = None


Mended = Callable[[], Awaitable[None]]
"""Returns once what a job waits on is mended; it is cancelled when nobody waits for that any more."""


@dataclass(frozen=True)
class NeedsAttention:
    """Only a person can mend what the job waits on; the sentence asks for it (settled point 5).

    With `mended` the job goes on by itself as soon as that returns, without being told to try again.
    """

    error: str
    mended: Mended | None = None


Outcome = Done | Failed | NeedsAttention


class AttentionNeeded(BridgeError):
    """This job waits on something that only a person can mend; mend it and press “Try again”.

    Raised instead of returning NeedsAttention, from wherever in a handler that is known.
    """

    code = "needs_attention"

    def __init__(self, message: str | None = None, mended: Mended | None = None) -> None:
        """Hold the sentence, and what returns once it is mended, where that can be seen."""
        super().__init__(message)
        self.mended = mended


def _unheard(progress: Progress) -> None:
    """Take progress that nobody listens to."""


def _trusted() -> bool:
    """Trust a claim that nobody watches over."""
    return True


@dataclass(frozen=True, kw_only=True)
class JobContext:
    """One job as its handler sees it; a cancel or a stop arrives as asyncio.CancelledError.

    A handler that is cancelled tidies up and lets the CancelledError go on. It can't tell a cancel from a
    stop and need not: what is written down about the job is the runner's.
    """

    server_id: str
    job_id: int
    attempt: int
    kind: str
    library_id: int
    path: str
    params: dict[str, Any] = field(default_factory=dict)
    record: Callable[[Progress], None] = _unheard
    trusted: Callable[[], bool] = _trusted
    """Whether the lease can still be believed in; without it a handler uploads and writes nothing (law 5)."""

    def progress(
        self, step: str, message: str, done: float | None = None, total: float | None = None
    ) -> None:
        """Record how far the job is; nothing is sent here and nothing waits (R-062).

        Each new step gets a report of its own, in order; within a step only the latest counts. To be called
        on the event loop.
        """
        self.record(Progress(step=step, message=message, done=done, total=total))


class Handler(Protocol):
    """What runs the jobs of one kind.

    `run` may raise BridgeError, whose sentence then fails the job; anything else it raises fails the job with
    a plain sentence and goes to the log. It must not swallow CancelledError.
    """

    @property
    def kind(self) -> str:
        """The kind that it runs, as on the wire."""
        ...

    @property
    def lane(self) -> str:
        """The lane in which its jobs run."""
        ...

    async def run(self, job: JobContext) -> Outcome:
        """Run one job to its end."""
        ...
