"""The length that an MP3's first frame promises (Xing, Info, VBRI), counted by its writer."""

import os
import struct
from dataclasses import dataclass
from typing import BinaryIO

_RATES = {3: (44100, 48000, 32000), 2: (22050, 24000, 16000), 0: (11025, 12000, 8000)}
_SEARCH = 64 * 1024
_SLACK = 4096


@dataclass(frozen=True)
class Promise:
    """How long the file says it is, in seconds; `cut` when its bytes end well before that."""

    seconds: float
    cut: bool


def promise(file: BinaryIO) -> Promise | None:
    """Read the promise of an open MP3 file, or None where it makes none; raises OSError."""
    size = file.seek(0, os.SEEK_END)
    start = _after_id3(file)
    file.seek(start)
    head = file.read(_SEARCH)
    for at in range(max(0, len(head) - 200)):
        if head[at] == 0xFF and head[at + 1] & 0xE6 == 0xE2 and (frame := _frame(head, at)) is not None:
            return _promise(head, at, *frame, size - start)
    return None


def _after_id3(file: BinaryIO) -> int:
    file.seek(0)
    head = file.read(10)
    if head[:3] != b"ID3" or len(head) < 10:
        return 0
    length = 0
    for byte in head[6:10]:
        length = length << 7 | byte & 0x7F
    return 10 + length


def _frame(head: bytes, at: int) -> tuple[int, int, int] | None:
    """Return (samples a frame, rate, bytes of side information) of a Layer III frame header."""
    version, rate = head[at + 1] >> 3 & 3, head[at + 2] >> 2 & 3
    if version == 1 or rate == 3 or head[at + 2] >> 4 in (0, 15):
        return None
    mono = head[at + 3] >> 6 == 3
    side = (17 if mono else 32) if version == 3 else (9 if mono else 17)
    return 1152 if version == 3 else 576, _RATES[version][rate], side


def _promise(head: bytes, at: int, samples: int, rate: int, side: int, size: int) -> Promise | None:
    frames = total = None
    tag = at + 4 + side
    if head[tag : tag + 4] in (b"Xing", b"Info"):
        flags, place = struct.unpack_from(">I", head, tag + 4)[0], tag + 8
        if flags & 1:
            frames, place = struct.unpack_from(">I", head, place)[0], place + 4
        if flags & 2:
            total = struct.unpack_from(">I", head, place)[0]
    elif head[at + 36 : at + 40] == b"VBRI":
        total, frames = struct.unpack_from(">II", head, at + 46)
    if not frames:
        return None
    return Promise(frames * samples / rate, cut=total is not None and size - at < total - _SLACK)
