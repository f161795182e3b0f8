"""What the owner wishes of this machine's speech engine, out of the settings of whichever command."""

import importlib.util
import os

import psutil

from bridge_agent.settings import BridgeSettings
from bridge_agent.transcription.engines import scripted
from bridge_agent.transcription.engines.errors import not_installed
from bridge_agent.transcription.model import Value


class Wishes(Value, frozen=True):
    """`processes` is None for as many as fit this machine; `server` is empty for the own engine."""

    model: str = "small"
    device: str = "auto"
    compute_type: str = "auto"
    processes: int | None = None
    server: str = ""
    ca_file: str = ""

    @classmethod
    def of(cls, settings: BridgeSettings) -> "Wishes":
        """Read the wishes of a Bridge's settings."""
        return cls(
            model=settings.speech_model,
            device=settings.speech_device,
            compute_type=settings.speech_compute,
            processes=settings.speech_processes,
            server=settings.speech_server,
            ca_file=settings.ca_file,
        )

    def engine(self, model: str) -> str:
        """Return the engine for a model by its name."""
        if model.partition(":")[0] == scripted.NAME:
            return "scripted"
        return "openai-server" if self.server else "faster-whisper"

    def why_none(self) -> str | None:
        """Return the sentence on why this machine has no engine, or None when it has one."""
        if self.processes == 0:
            return "BRIDGE_SPEECH_PROCESSES is 0: this machine leaves all speech to workers; invite one."
        if self.engine(self.model) == "faster-whisper" and importlib.util.find_spec("faster_whisper") is None:
            return not_installed()
        return None

    def most_processes(self, device: str) -> int:
        """Return how many children may run: one a GPU or server, else cores less one, at least one."""
        if self.processes is not None:
            return self.processes
        return 1 if device != "cpu" else max(1, physical_cores() - 1)


def physical_cores() -> int:
    """Return the physical cores that this process may use."""
    try:
        usable = len(os.sched_getaffinity(0))
    except AttributeError:
        # Only Linux lets a process be bound to some of the processors.
        usable = os.cpu_count() or 1
    return max(1, min(psutil.cpu_count(logical=False) or usable, usable))
