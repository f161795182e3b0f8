"""What the page sees of transcription: who hears, books under way, models that come in."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


class Who(Protocol):
    """Somebody who transcribes parts."""

    @property
    def name(self) -> str:
        """What people know it by."""
        ...

    @property
    def places(self) -> int:
        """How many parts it takes at once, as of now."""
        ...


class Pipeline(Protocol):
    """What the page asks of the pipeline, which tells it by `on_change` that a book has gone on."""

    on_change: Callable[[Any], None] | None

    @property
    def executors(self) -> Sequence[Who]:
        """Who transcribes."""
        ...

    def views(self) -> list[dict[str, Any]]:
        """Return each book under way: how far, how fast, the words so far."""
        ...


class Engines(Protocol):
    """What the page asks of this machine's engine pool."""

    def why_none(self) -> str | None:
        """Return the sentence on why this machine has no engine, or None."""
        ...

    def view(self) -> dict[str, Any]:
        """Return what is known of engines and their processes."""
        ...


class Models(Protocol):
    """What the page asks of the speech models."""

    def downloads(self) -> Mapping[str, tuple[int, int]]:
        """Return the models that come in now: bytes that are here, and in all (0: not known)."""
        ...


@dataclass(frozen=True)
class Speech:
    """The rooms of transcription, as far as the page looks at them."""

    pipeline: Pipeline
    engines: Engines
    models: Models
