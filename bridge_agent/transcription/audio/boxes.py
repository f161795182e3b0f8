"""The boxes of an MP4 file: what its header says of protection, and whether the file ends too early."""

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol


class File(Protocol):
    """What is needed of an open file."""

    def seek(self, place: int, whence: int = 0, /) -> int:
        """Move."""
        ...

    def read(self, count: int, /) -> bytes:
        """Read up to `count` bytes."""
        ...


_NEST = (b"moov", b"trak", b"mdia", b"minf", b"stbl")
_AUDIBLE = frozenset({b"aax ", b"aaxc"})
_SEALED = {b"aavd": "Audible", b"drms": "Apple", b"drmi": "Apple", b"enca": "its seller"}
_MOST_BOXES = 100_000


@dataclass(frozen=True)
class Look:
    """What the boxes tell: `seller` is who protected it, `missing` how many bytes the last box lacks."""

    is_mp4: bool
    seller: str = ""
    has_index: bool = False
    missing: int = 0


@dataclass(frozen=True)
class Box:
    """A box: its kind, where its body starts, where it ends (which may be beyond the file's end)."""

    kind: bytes
    start: int
    end: int


def look(file: File) -> Look:
    """Walk the boxes of an open file; raises OSError. What is no MP4 gives a Look that says so."""
    size = file.seek(0, os.SEEK_END)
    if read(file, 4, 4) not in (b"ftyp", b"moov", b"mdat", b"free", b"skip", b"wide"):
        return Look(is_mp4=False)
    seller, has_index, missing = "", False, 0
    for box in walk(file, 0, size):
        missing = max(0, box.end - size)
        if box.kind == b"ftyp" and _brands(file, box) & _AUDIBLE:
            seller = "Audible"
        if box.kind in (b"moov", b"moof"):
            has_index = has_index or box.end <= size
            seller = seller or _sealed(file, Box(box.kind, box.start, min(box.end, size)))
    return Look(is_mp4=True, seller=seller, has_index=has_index, missing=missing)


def walk(file: File, start: int, end: int) -> Iterator[Box]:
    """Yield the boxes between two places; a broken head ends it."""
    for _ in range(_MOST_BOXES):
        if start + 8 > end:
            return
        head = read(file, start, 16)
        if len(head) < 8:
            return
        length, kind = struct.unpack(">I4s", head[:8])
        body = start + 8
        if length == 1 and len(head) == 16:
            length, body = struct.unpack(">Q", head[8:16])[0], start + 16
        if length == 0:
            length = end - start
        if length < body - start:
            return
        yield Box(kind, body, start + length)
        start += length


def inside(file: File, outer: Box) -> Iterator[Box]:
    """Yield the boxes within a box, none of which reaches beyond it."""
    for box in walk(file, outer.start, outer.end):
        yield Box(box.kind, box.start, min(box.end, outer.end))


def read(file: File, start: int, length: int) -> bytes:
    """Read from a place."""
    file.seek(start)
    return file.read(length)


def _brands(file: File, box: Box) -> set[bytes]:
    body = read(file, box.start, min(box.end - box.start, 4096))
    return {body[at : at + 4].lower() for at in range(0, len(body), 4) if at != 4}


def _sealed(file: File, outer: Box, depth: int = 1) -> str:
    """Find the sample entries under a box; name who sealed one of them."""
    for box in inside(file, outer):
        found = ""
        if box.kind == b"stsd":
            entry = read(file, box.start + 12, 4)
            found = _SEALED.get(entry, "")
        elif depth < len(_NEST) and box.kind == _NEST[depth]:
            found = _sealed(file, box, depth + 1)
        if found:
            return found
    return ""
