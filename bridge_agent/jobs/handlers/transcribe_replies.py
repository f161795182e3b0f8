"""The way back to a server’s jobs: a recording’s end is told to its handler, whose report goes on."""

import contextlib
from collections.abc import Iterator

from bridge_agent.transcription.pipeline.recordings import Recording
from bridge_agent.transcription.pipeline.senders import NotRunning

SENDER = "server"


def addressee(server_id: str, job_id: int) -> str:
    """Return the name under which a server's job is told."""
    return f"{server_id}/{job_id}"


class Slot:
    """What one job has been told."""

    ended: Recording | None = None


class JobReplies:
    """The sender `server`: it reaches the jobs that run now, and their final reports carry it on."""

    def __init__(self) -> None:
        self._waiting: dict[str, Slot] = {}

    @contextlib.contextmanager
    def waiting(self, addressee: str) -> Iterator[Slot]:
        """Wait for what is told to an addressee."""
        slot = self._waiting[addressee] = Slot()
        try:
            yield slot
        finally:
            del self._waiting[addressee]

    async def send(self, addressee: str, ended: Recording) -> None:
        """Tell a job that runs; raises NotRunning for one that does not."""
        slot = self._waiting.get(addressee)
        if slot is None:
            raise NotRunning
        slot.ended = ended
