"""QuickTime chapter tracks: the text track that an MP4's audio track names as its chapters."""

import io
import os
import struct
from collections.abc import Iterator
from typing import BinaryIO

Points = list[tuple[float, str]]

_MOST_MOOV = 128 << 20
_MOST_CHAPTERS = 5000
_CONTAINERS = frozenset({b"moov", b"trak", b"mdia", b"minf", b"stbl", b"tref"})


def read_chapter_track(path: str) -> Points:
    """Return (start in seconds, title) of each chapter, empty where there is no chapter track.

    Raises OSError, struct.error, ValueError or IndexError for a damaged file.
    """
    with open(path, "rb") as file:  # noqa: PTH123 - a byte-exact text path
        moov = _moov(file)
        tracks = [dict(_flat(body)) for kind, body in _atoms(moov) if kind == b"trak"]
        wanted = {number for track in tracks for number in _references(track)}
        for track in tracks:
            if _track_id(track) in wanted:
                return _points(file, track)
    return []


def _moov(file: BinaryIO) -> bytes:
    end = file.seek(0, os.SEEK_END)
    place = 0
    while place + 8 <= end:
        file.seek(place)
        size, kind = struct.unpack(">I4s", file.read(8))
        head = 8
        if size == 1:
            size, head = struct.unpack(">Q", file.read(8))[0], 16
        size = size or end - place
        if size < head:
            raise ValueError("an atom smaller than its head")
        if kind == b"moov":
            return file.read(min(size - head, _MOST_MOOV))
        place += size
    return b""


def _atoms(body: bytes) -> Iterator[tuple[bytes, bytes]]:
    place = 0
    while place + 8 <= len(body):
        size, kind = struct.unpack_from(">I4s", body, place)
        size = size or len(body) - place
        if size < 8:
            return
        yield kind, body[place + 8 : place + size]
        place += size


def _flat(body: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the atoms of a track, those inside its containers among them."""
    for kind, inner in _atoms(body):
        yield kind, inner
        if kind in _CONTAINERS:
            yield from _flat(inner)


def _references(track: dict[bytes, bytes]) -> tuple[int, ...]:
    body = track.get(b"chap", b"")
    return struct.unpack(f">{len(body) // 4}I", body[: len(body) // 4 * 4])


def _track_id(track: dict[bytes, bytes]) -> int:
    head = track.get(b"tkhd", b"")
    if not head:
        return 0
    return int(struct.unpack_from(">I", head, 20 if head[0] == 1 else 12)[0])


def _points(file: BinaryIO, track: dict[bytes, bytes]) -> Points:
    media = track[b"mdhd"]
    scale = int(struct.unpack_from(">I", media, 20 if media[0] == 1 else 12)[0]) or 1
    points, now = [], 0
    for (place, size), length in zip(_samples(track), _lengths(track), strict=False):
        file.seek(place)
        points.append((now / scale, _title(file.read(min(size, 4096)))))
        now += length
    return points


def _title(sample: bytes) -> str:
    length = struct.unpack_from(">H", sample)[0]
    text = sample[2 : 2 + length]
    if text[:2] in (b"\xfe\xff", b"\xff\xfe"):
        return text.decode("utf-16", "replace")
    return text.decode("utf-8", "replace")


def _lengths(track: dict[bytes, bytes]) -> Iterator[int]:
    body = track[b"stts"]
    for i in range(struct.unpack_from(">I", body, 4)[0]):
        count, length = struct.unpack_from(">II", body, 8 + 8 * i)
        for _ in range(min(count, _MOST_CHAPTERS)):
            yield length


def _samples(track: dict[bytes, bytes]) -> Iterator[tuple[int, int]]:
    """Yield (place in the file, size) of each sample."""
    sizes = _sizes(track[b"stsz"])
    chunks = _chunks(track)
    runs = io.BytesIO(track[b"stsc"][8:])
    table = [struct.unpack(">III", run) for run in iter(lambda: runs.read(12), b"") if len(run) == 12]
    taken = 0
    for number, place in enumerate(chunks, 1):
        several = next((count for first, count, _ in reversed(table) if first <= number), 1)
        for _ in range(several):
            if taken >= len(sizes):
                return
            yield place, sizes[taken]
            place += sizes[taken]
            taken += 1


def _sizes(body: bytes) -> list[int]:
    every, count = struct.unpack_from(">II", body, 4)
    count = min(count, _MOST_CHAPTERS)
    return [every] * count if every else list(struct.unpack_from(f">{count}I", body, 12))


def _chunks(track: dict[bytes, bytes]) -> list[int]:
    body = track.get(b"stco") or track[b"co64"]
    kind = "I" if b"stco" in track else "Q"
    count = min(struct.unpack_from(">I", body, 4)[0], _MOST_CHAPTERS)
    return list(struct.unpack_from(f">{count}{kind}", body, 8))
