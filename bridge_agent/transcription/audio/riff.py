"""The length that a WAV file's header promises: the decoder itself only looks at how much is there."""

import os
import struct
from typing import BinaryIO

_MOST_CHUNKS = 1000
_UNKNOWN = (0, 0xFFFFFFFF)
"""What writers to a pipe put where they do not know the length yet."""


def seconds(file: BinaryIO) -> float | None:
    """Return the promised length of an open RIFF file, or None where it makes no promise; raises OSError."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    head = file.read(12)
    if head[:4] != b"RIFF" or head[8:12] != b"WAVE":
        return None
    place, byte_rate = 12, 0
    for _ in range(_MOST_CHUNKS):
        file.seek(place)
        chunk = file.read(24)
        if place >= size or len(chunk) < 8:
            return None
        kind, length = struct.unpack_from("<4sI", chunk)
        if kind == b"fmt " and len(chunk) >= 20:
            byte_rate = struct.unpack_from("<I", chunk, 16)[0]
        if kind == b"data":
            return None if length in _UNKNOWN or not byte_rate else length / byte_rate
        place += 8 + length + length % 2
    return None
