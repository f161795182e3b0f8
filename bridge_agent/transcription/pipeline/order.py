"""The order: which book is to be transcribed, how, for whom, and who watches."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from bridge_agent.transcription.model import Settings
from bridge_agent.transcription.pipeline.recordings import Asker


class SourceFile(msgspec.Struct, frozen=True, kw_only=True):
    """An audio file of a book: where it is here, its path in the book, and how long somebody says it is."""

    path: Path
    relative: str
    expected_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class Order:
    """A book to transcribe. `settings.model` is the name or folder to ask executors for; empty: their own.

    `apart` is a name under which this order keeps its finished parts to itself, so that those of other jobs
    are not used; empty: all share theirs. With `final_verdicts` one worker's word that a part can't be done
    counts for all; else the part is left to the others.
    """

    asker: Asker
    title: str
    author: str
    files: tuple[SourceFile, ...]
    settings: Settings
    apart: str = ""
    final_verdicts: bool = False


Progress = Callable[[str, str, float | None, float | None], None]
"""Called on the event loop with a step of the wire, its message, and how much of what is done."""


def unwatched(_step: str, _message: str, _done: float | None, _total: float | None) -> None:
    """Take progress that nobody looks at."""
