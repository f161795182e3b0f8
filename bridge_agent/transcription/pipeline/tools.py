"""What every run of a recording works with."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bridge_agent.base.clock import Clock
from bridge_agent.base.tasks import Tasks
from bridge_agent.store import Database
from bridge_agent.transcription.pipeline.desk import LOCAL, Desk
from bridge_agent.transcription.pipeline.executor import Executor
from bridge_agent.transcription.pipeline.reading import Decoder


@dataclass(frozen=True)
class Tools:
    """Shared by all runs; `folder` is where cut audio lies, a folder a recording."""

    db: Database
    clock: Clock
    desk: Desk
    decoder: Decoder
    executors: Sequence[Executor]
    tasks: Tasks
    folder: Path

    def places(self) -> dict[str, int]:
        """Return how many parts each executor takes at once."""
        return {executor.name: executor.places for executor in self.executors}

    @property
    def ahead(self) -> int:
        """How many parts may lie cut on disk: at least three, or two for each place."""
        return max(3, 2 * sum(self.places().values()))


def holder(recording_id: int, worker: str) -> str:
    """Return the name under which a worker of this machine holds parts of a recording."""
    return f"{LOCAL}{recording_id}/{worker}"
