"""A part's audio on disk, as whoever hears it is told."""

from pathlib import Path

from bridge_agent.transcription.model import Value


class CutFile(Value, frozen=True):
    """A FLAC file of 16 kHz mono; `sha256` and `size` are of its bytes."""

    path: Path
    sha256: str
    size: int
    samples: int
