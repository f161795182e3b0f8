"""Executors: those who transcribe parts. This machine's children, workers on the network, a cluster."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol, overload

from bridge_agent.base.errors import BridgeError
from bridge_agent.transcription.engines.base import Context
from bridge_agent.transcription.engines.errors import EngineUnavailable
from bridge_agent.transcription.model import EngineInfo, PartResult, Value
from bridge_agent.transcription.models.errors import ModelError

WordsSoFar = Callable[[str], None]
"""Called with all words of the part so far; they begin anew when the part is tried again."""
Download = Callable[[int, int], None]
"""Called with the bytes of a model that are here, and the bytes in all."""


class BadAudio(BridgeError):
    """A part's cut audio is not what was cut; it is cut again by itself."""

    code = "bad_audio"


class PartWork(Value, frozen=True):
    """What an executor is given: a part's audio as FLAC with its checksum, and how it is to be heard.

    `planned_model` is the engine's own name of the model that the book is planned for.
    """

    recording_id: int
    number: int
    attempt: int
    path: Path
    sha256: str
    size: int
    samples: int
    context: Context
    planned_model: str = ""


class Executor(Protocol):
    """Somebody who transcribes parts. A cancelled call stops the work within a second."""

    @property
    def name(self) -> str:
        """What people know it by."""
        ...

    @property
    def places(self) -> int:
        """How many parts it takes at once, as of now; 0 while it takes none."""
        ...

    @property
    def pulls(self) -> bool:
        """Whether it claims parts at the desk by itself, and is handed none."""
        ...

    def why_none(self) -> str | None:
        """Return the sentence on why it takes no parts at all, or None."""
        ...

    def why_not(self, planned: str) -> str | None:
        """Return the sentence on why it takes no parts of a book planned for a model, or None."""
        ...

    async def info(self, model: str, download: Download) -> EngineInfo:
        """Return which engine it hears with; gets the model first, where that is its own to get.

        Raises EngineUnavailable, ModelError.
        """
        ...

    def worst_case(self, samples: int) -> float:
        """Return the seconds that a part of this length may take it at the very worst (P-031)."""
        ...

    async def run(self, work: PartWork, heard: WordsSoFar) -> PartResult:
        """Transcribe a part; raises BadAudio, EngineError, ModelError."""
        ...

    async def detect_language(self, path: Path, model: str) -> dict[str, float] | None:
        """Return each language's probability in cut audio; None where it can't tell languages."""
        ...


async def is_there(executor: Executor, model: str) -> bool:
    """Tell whether an executor can hear with a model now."""
    try:
        await executor.info(model, lambda done, total: None)
    except (EngineUnavailable, ModelError):
        return False
    return True


class Together(Sequence[Executor]):
    """Executors of this machine, then those elsewhere, who come and go."""

    def __init__(self, here: Sequence[Executor], elsewhere: Sequence[Executor]) -> None:
        """Look at both whenever somebody asks."""
        self._here = here
        self._elsewhere = elsewhere

    def __len__(self) -> int:
        return len(self._here) + len(self._elsewhere)

    @overload
    def __getitem__(self, index: int) -> Executor: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Executor]: ...

    def __getitem__(self, index: int | slice) -> Executor | Sequence[Executor]:
        return [*self._here, *self._elsewhere][index]

    def __iter__(self) -> Iterator[Executor]:
        yield from self._here
        yield from self._elsewhere


def worth_taking(mine: float, others: float, part_s: float, left_s: float) -> bool:
    """Tell whether an executor should take one more part of `part_s` seconds of audio.

    `mine` and `others` are speeds in seconds of audio a second (0: not known yet), `left_s` is what nobody
    has taken yet. Near the end a slow one leaves the last parts to faster ones, who then end sooner than it
    would: so faster ones get more, without anybody dealing out parts.
    """
    if mine <= 0 or others <= mine:
        return True
    return part_s / mine <= (left_s + part_s) / others
