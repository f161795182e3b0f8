"""How long and how big an engine child may get before it is replaced."""

from dataclasses import dataclass

from bridge_agent.transcription.model import RATE

GIB = 1024**3
_WORK = 3 * GIB // 2
"""What hearing a part takes beside the model, at most (measured: under 1 GiB with four windows at a time)."""

_DRIVER = 4 * GIB
"""What the libraries of a GPU map into memory."""


@dataclass(frozen=True)
class Limits:
    """All in seconds unless said otherwise; tests shorten them."""

    idle: float = 300.0
    """An idle child ends after this and gives its memory back."""
    load: float = 900.0
    """Loading a model, from a slow disk too."""
    silent: float = 60.0
    """Without a pulse the child counts as stuck."""
    still: float = 300.0
    """With pulses but without any use of the processor while busy (a server elsewhere has its own limits)."""
    least: float = 120.0
    """No part is given less processor time than this."""
    patience: float = 8.0
    """A part may take this many times what its length and the measured speed let expect."""
    first_speed: float = 0.4
    """Seconds of audio a second, until it was measured."""
    cancel: float = 0.3
    """How long a cancelled child may take to stop by itself, keeping its model, before it is killed."""
    look: float = 1.0
    """Between two looks at a busy child."""
    parts: int = 200
    """A child is replaced after this many parts: native libraries leak."""
    memory: int | None = None
    """Resident bytes a child may have; None: by its model's size."""

    def deadline(self, samples: int, speed: float | None) -> float:
        """Return the processor seconds that a part of this length may take."""
        return max(self.least, self.patience * samples / RATE / (speed or self.first_speed))

    def most_memory(self, model_bytes: int, device: str = "cpu") -> int:
        """Return the resident bytes that a child may have: a model is held twice while it is converted."""
        if self.memory is not None:
            return self.memory
        return 2 * model_bytes + _WORK + (0 if device == "cpu" else _DRIVER)

    def worst_case(self, samples: int, rungs: int, speed: float | None = None) -> float:
        """Return the longest that one part may take down the whole ladder, a second run included (P-031)."""
        each = max(self.deadline(samples, speed), self.still, self.silent) + self.load
        return 2 * rungs * each


class Speed:
    """Seconds of audio a processor second, by kind of work, from the parts that were heard."""

    _WEIGHT = 0.3

    def __init__(self) -> None:
        self._known: dict[str, float] = {}

    def measured(self, kind: str, samples: int, seconds: float) -> None:
        """Count one part; shorter ones than 10 s say little and are passed over."""
        if samples < 10 * RATE or seconds <= 0:
            return
        now = samples / RATE / seconds
        before = self._known.get(kind, now)
        self._known[kind] = before + self._WEIGHT * (now - before)

    def of(self, kind: str) -> float | None:
        """Return what was measured, or None."""
        return self._known.get(kind)
