"""What an engine is: it is given PCM and a context, and answers segments. Another engine is one module."""

from collections.abc import Callable, Mapping
from typing import Literal, Protocol

from bridge_agent.transcription.model import EngineInfo, Segment, Span, Value

Quality = Literal["balanced", "accurate"]

MOST_HINT_TOKENS = 100
"""Names and places beyond this many tokens are left out: long hints make Whisper invent or fail."""


class Context(Value, frozen=True):
    """How one part is to be heard. `model` is a name; empty means the pool's own.

    `hints` are names and places, most wanted first. `seed` decides the chance in a decode that had to be
    tried again with a temperature, so that equal parts give equal words.
    """

    language: str | None = None
    quality: Quality = "balanced"
    word_timestamps: bool = True
    hints: tuple[str, ...] = ()
    seed: int = 0
    temperatures: tuple[float, ...] = (0.0, 0.2, 0.4)
    model: str = ""


class Heard(Value, frozen=True):
    """What came of one part, in samples of the part; `speech` is where the engine noticed speech.

    `flags` are the wire's, raised by the guards; `rung` is how far down the ladder of settings the part was
    heard (0: as asked), and `engine` what it was heard with there.
    """

    segments: tuple[Segment, ...]
    language: str
    speech: tuple[Span, ...]
    engine: EngineInfo
    flags: tuple[str, ...] = ()
    rung: int = 0
    language_probability: float = 1.0

    @property
    def speech_samples(self) -> int:
        """How much of the part is speech."""
        return sum(span.samples for span in self.speech)


class Fit(Value, frozen=True):
    """What an engine computes with: `device`, `compute_type`, and how many windows at a time."""

    device: str = "cpu"
    compute_type: str = "int8"
    batch: int = 4


class Setup(Value, frozen=True):
    """What a child loads: an engine by name, its model, and the fit.

    `place` is the model's folder, or a speech server's address; `model` is what its results name it, and
    `ca_file` holds certificates to trust besides the system's.
    """

    engine: str
    model: str
    place: str = ""
    ca_file: str = ""
    fit: Fit = Fit()
    prove: bool = False
    """Whether loading ends with a real decode of one second: libraries that are missing show only then."""


class Machine(Value, frozen=True):
    """What an engine's libraries find on this machine before any model is loaded."""

    version: str
    gpus: int = 0
    driver: str = ""
    compute_types: Mapping[str, tuple[str, ...]] = {}


class Hearing(Protocol):
    """What an engine tells its child while it hears, and asks it."""

    def heard(self, text: str) -> None:
        """Take the words of one more segment."""
        ...

    def stopped(self) -> bool:
        """Tell whether nobody wants the rest any more."""
        ...


class Engine(Protocol):
    """A loaded engine in a child process. All its methods block; one call runs at a time."""

    def info(self) -> EngineInfo:
        """Return what decides about the words."""
        ...

    def transcribe(self, pcm: bytes, context: Context, hearing: Hearing) -> Heard:
        """Hear 16 kHz mono int16 little-endian PCM; raises Refused, Away, Stopped, or what broke."""
        ...

    def detect_language(self, pcm: bytes) -> dict[str, float]:
        """Return each language's probability; nothing where there is no speech."""
        ...


Load = Callable[[Setup], Engine]
"""Each engine's module has a function `load` of this type, and `machine() -> Machine`."""


class Refused(Exception):
    """The engine can't do what is asked, however often it is tried; holds a sentence with the next step."""


class Away(Exception):
    """What the engine needs can't be reached now; holds a sentence with the next step."""


class Stopped(Exception):
    """The part was cancelled between two segments."""


ENGINES: Mapping[str, str] = {
    "faster-whisper": "bridge_agent.transcription.engines.faster_whisper_engine",
    "openai-server": "bridge_agent.transcription.engines.openai_server",
    "scripted": "bridge_agent.transcription.engines.scripted",
}
"""Each engine's name and its module, which only a child imports."""

ELSEWHERE = frozenset({"openai-server"})
"""Engines that compute on another machine: no fit to choose, and a still processor means nothing."""
