"""A file's stamp: is it still the one that was surveyed? Told without reading all of it."""

import hashlib
import os
from pathlib import Path
from typing import BinaryIO

from bridge_agent.transcription.audio import sidecar

_END = 64 * 1024
_SAMPLES = 16
_SAMPLE = 4 * 1024


def stamp(path: Path) -> str:
    """Return a hash over a file's size, time of change, ends, places between, and its cue sheet.

    Blocks on the file system; raises OSError.
    """
    digest = hashlib.sha256(content_bytes(path).encode())
    digest.update(str(path.stat().st_mtime_ns).encode())
    cue = sidecar.cue_beside(path)
    if cue is not None:
        digest.update(cue.read_bytes())
    return digest.hexdigest()


def content_bytes(path: Path) -> str:
    """Return a hash over a file's size, its ends and places between, the same on every machine."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        digest = hashlib.sha256(f"{size}:".encode())
        for start, length in _places(size):
            digest.update(_read(file, start, length))
    return digest.hexdigest()


def _places(size: int) -> list[tuple[int, int]]:
    if size <= 2 * _END + _SAMPLES * _SAMPLE:
        return [(0, size)]
    between = [(_END + (size - 2 * _END - _SAMPLE) * n // _SAMPLES, _SAMPLE) for n in range(_SAMPLES)]
    return [(0, _END), *between, (size - _END, _END)]


def _read(file: BinaryIO, start: int, length: int) -> bytes:
    file.seek(start)
    return file.read(length)
