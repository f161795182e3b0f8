"""The boxes of an MP4 file: what its header says of protection, and whether the file ends too early."""

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

_NEST = (b"moov", b"trak", b"mdia", b"minf", b"stbl")
_AUDIBLE = frozenset({b"aax ", b"aaxc"})
_SEALED = frozenset({b"aavd", b"drms", b"drmi", b"enca"})
_MOST_BOXES = 100_000
_MOST_DEPTH = len(_NEST)


@dataclass(frozen=True)
class Look:
    """What the boxes tell: `seller` is who protected it, `missing` how many bytes the last box lacks."""

    is_mp4: bool
    seller: str = ""
    has_index: bool = False
    missing: int = 0


def look(file: BinaryIO) -> Look:
    """Walk the boxes of an open file; raises OSError. What is no MP4 gives a Look that says so."""
    size = file.seek(0, os.SEEK_END)
    if _bytes(file, 4, 4) not in (b"ftyp", b"moov", b"mdat", b"free", b"skip", b"wide"):
        return Look(is_mp4=False)
    seller, has_index, missing = "", False, 0
    for kind, start, end in _walk(file, 0, size):
        missing = max(0, end - size)
        if kind == b"ftyp" and _brands(file, start, min(end, size)) & _AUDIBLE:
            seller = "Audible"
        if kind in (b"moov", b"moof"):
            has_index = has_index or end <= size
            seller = seller or _sealed(file, start, min(end, size))
    return Look(is_mp4=True, seller=seller, has_index=has_index, missing=missing)


def _brands(file: BinaryIO, start: int, end: int) -> set[bytes]:
    body = _bytes(file, start, min(end - start, 4096))
    return {body[at : at + 4].lower() for at in range(0, len(body), 4) if at != 4}


def _sealed(file: BinaryIO, start: int, end: int, depth: int = 1) -> str:
    """Find the sample entries under a box; name who sealed one of them."""
    for kind, body, after in _walk(file, start, end):
        after = min(after, end)
        if kind == b"stsd":
            entry = _bytes(file, body + 12, 4)
            if entry in _SEALED:
                return {b"aavd": "Audible", b"drms": "Apple", b"drmi": "Apple"}.get(entry, "its seller")
        elif (
            depth < _MOST_DEPTH and kind == _NEST[depth] and (found := _sealed(file, body, after, depth + 1))
        ):
            return found
    return ""


def _walk(file: BinaryIO, start: int, end: int) -> Iterator[tuple[bytes, int, int]]:
    """Yield (kind, start of its body, end) of the boxes between two places."""
    for _ in range(_MOST_BOXES):
        head = _bytes(file, start, 16)
        if start + 8 > end or len(head) < 8:
            return
        length, kind = struct.unpack(">I4s", head[:8])
        body = start + 8
        if length == 1 and len(head) == 16:
            length, body = struct.unpack(">Q", head[8:16])[0], start + 16
        if length == 0:
            length = end - start
        if length < body - start:
            return
        yield kind, body, start + length
        start += length


def _bytes(file: BinaryIO, start: int, length: int) -> bytes:
    file.seek(start)
    return file.read(length)
