"""The lease: a part in a worker's hands, as the service gives it to a wire."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bridge_agent.base.errors import BridgeError
from bridge_agent.transcription.pipeline.leases import Told
from bridge_agent.transcription.pipeline.tasks import Claim, Phase, Task

WorkerState = Literal["idle", "working", "offline", "paused", "parked"]
FallenTo = Literal["again", "failed"]
"""What becomes of a part that a worker failed at: tried again, or not by this worker."""


class LeaseLost(BridgeError):
    """The part is not in this worker’s hands any more; claim another one."""

    code = "lease_lost"


class DifferentResult(BridgeError):
    """Another result for this part is kept already; claim another one."""

    code = "different_result"


class BadPartial(BridgeError):
    """The result is not of the form of this workload; see the sentence."""

    code = "bad_partial"


@dataclass(frozen=True)
class WorkerId:
    """Who works: a token's worker, and where one token has several, which of them.

    `name` is the token's, which is how people know it; `model` is what it hears with, where that is known.
    """

    token_id: int
    name: str
    model: str | None = None
    own: str = ""

    @property
    def holder(self) -> str:
        """The name under which it holds parts."""
        return f"{HOLDERS}{self.token_id}/{self.own}"

    def ref(self, task: Task, attempt: int) -> Claim:
        """Return the mark of its claim of a task, by the attempt as workers see it."""
        return Claim(task.id, attempt + task.cuts, self.holder)


HOLDERS = "worker/"
"""What the names begin with under which workers hold parts."""


def token_of(holder: str) -> int | None:
    """Return the id of the token whose worker a holder is; None where it is none."""
    if not holder.startswith(HOLDERS):
        return None
    return int(holder.removeprefix(HOLDERS).partition("/")[0])


@dataclass(frozen=True)
class Terms:
    """What holds between a wire and its workers: a claim lives `seconds` after each sign of life.

    `strict` claims end there for good; others stay their holder's until somebody else comes.
    """

    seconds: float
    strict: bool = True


@dataclass(frozen=True)
class Lease:
    """A part that a worker holds: the task as it is, and what the worker told of it."""

    task: Task
    told: Told
    language: str | None = None
    """The language that the part is in, where that is known."""

    @property
    def ref(self) -> Claim:
        """The mark that the worker's writes carry."""
        return self.task.claim

    @property
    def attempt(self) -> int:
        """The attempt as workers see it, from 1, never down and never the same twice."""
        return self.task.turn

    @property
    def phase(self) -> Phase:
        """How far the worker is."""
        return self.task.phase or "downloading"

    @property
    def notes(self) -> Mapping[str, Any]:
        """What the worker told."""
        return self.told.notes


@dataclass(frozen=True)
class PartFile:
    """A part's audio: 16 kHz mono FLAC."""

    path: Path
    sha256: str
    size: int


@dataclass(frozen=True)
class WorkerView:
    """A worker as people see it. `state` is `idle`, `working`, `offline`, `paused`, `parked`.

    `speed` is in seconds of audio a second, 0 while it is not known; `reason` says why it is parked, or what
    keeps it from its work; `on` are the books and parts in its hands.
    """

    id: int
    name: str
    state: WorkerState
    model: str | None
    created_at: str
    last_seen_at: str | None
    engine: str = ""
    device: str = ""
    speed: float = 0.0
    parts_done: int = 0
    reason: str = ""
    on: tuple["OnPart", ...] = ()


@dataclass(frozen=True)
class OnPart:
    """A part in a worker's hands: of which recording, whose order that is, and its number."""

    recording_id: int
    addressee: str | None
    title: str
    number: int
