"""The sample tables of a long MP4, read a page at a time: the library's own index grows with the book.

A book of 60 hours in one file has nine million samples; libavformat keeps some 40 bytes for each. Here
only the tables' places are kept, the library is shown a short table (`hidden`), and the samples are read
straight from the file. They decode to the very same sound.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bridge_agent.transcription.audio import boxes
from bridge_agent.transcription.audio.boxes import Box, File

LEAST = 400_000
"""Samples from which on it is worth it: two and a half hours, 15 MiB of index."""

_SHOWN = 2000
_PAGE = 16_384
_READ_BYTES = 256 * 1024
_MOST_SAMPLE = 4 * 1024 * 1024


@dataclass(frozen=True)
class Sample:
    """One sample: its bytes (None where they are not to be had), its time and length in the track's units."""

    raw: bytes | None
    start: int
    duration: int


@dataclass(frozen=True)
class Tables:
    """Where a sound track's tables lie, and how its time line begins and ends.

    `skip` units at the start are the encoder's and not heard, `delay` seconds of nothing come before; samples
    from `end` on are not heard.
    """

    timescale: int
    count: int
    sizes_at: int
    chunks: int
    chunks_at: int
    wide: bool
    runs: tuple[tuple[int, int], ...]
    times: tuple[tuple[int, int], ...]
    skip: int
    delay: float
    end: int | None
    hidden: tuple[tuple[int, bytes], ...]

    def samples(self, file: File) -> Iterator[Sample]:
        """Yield the track's samples in order, up to the file's own end."""
        start = 0
        times = _repeated(self.times)
        for raw in self._raw(file):
            duration = next(times, 0)
            if self.end is not None and start >= self.end:
                return
            yield Sample(raw, start, duration)
            start += duration

    def _raw(self, file: File) -> Iterator[bytes | None]:
        sizes = _pages(file, self.sizes_at, self.count, 4)
        page: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        for place, wanted in self._chunks(file):
            while wanted > 0:
                if not len(page):
                    page = next(sizes, page)
                    if not len(page):
                        return
                some = page[: min(wanted, _fitting(page))]
                page, wanted = page[len(some) :], wanted - len(some)
                total = int(some.sum())
                if total > _MOST_SAMPLE:
                    yield from (None for _ in some)
                else:
                    block = file.read(total) if file.seek(place) == place else b""
                    yield from _split(block, some)
                    if len(block) < total:
                        # The file breaks off here, in the middle of a sample.
                        yield None
                        return
                place += total

    def _chunks(self, file: File) -> Iterator[tuple[int, int]]:
        """Yield (place, samples) of each chunk."""
        run, number = 0, 0
        for page in _pages(file, self.chunks_at, self.chunks, 8 if self.wide else 4):
            for place in page.tolist():
                number += 1
                while run + 1 < len(self.runs) and self.runs[run + 1][0] <= number:
                    run += 1
                yield place, self.runs[run][1]


def find(file: File) -> Tables | None:
    """Return the tables of a file's first sound track, or None where the library shall read them.

    That is: short files, fragmented ones, samples of one size (PCM), more than one sample description, and
    edit lists that do more than trim and delay. Raises OSError.
    """
    size = file.seek(0, 2)
    moov = next((box for box in boxes.walk(file, 0, size) if box.kind == b"moov" and box.end <= size), None)
    if moov is None:
        return None
    parts = list(boxes.inside(file, moov))
    if any(part.kind == b"mvex" for part in parts):
        return None
    head = next((part for part in parts if part.kind == b"mvhd"), None)
    for part in parts:
        if part.kind == b"trak" and head is not None:
            track = _Track(file, part)
            if track.is_sound:
                return track.tables(_timescale(file, head))
    return None


class _Track:
    """One track's boxes."""

    def __init__(self, file: File, trak: Box) -> None:
        self._file = file
        self._boxes: dict[bytes, Box] = {}
        self._gather(trak)

    def _gather(self, outer: Box) -> None:
        for box in boxes.inside(self._file, outer):
            self._boxes.setdefault(box.kind, box)
            if box.kind in (b"mdia", b"minf", b"stbl", b"edts"):
                self._gather(box)

    @property
    def is_sound(self) -> bool:
        box = self._boxes.get(b"hdlr")
        return box is not None and self._bytes(box, 8, 4) == b"soun"

    def tables(self, movie_scale: int) -> Tables | None:
        needed = [self._boxes.get(kind) for kind in (b"mdhd", b"stsz", b"stsc", b"stts")]
        offsets = self._boxes.get(b"co64") or self._boxes.get(b"stco")
        if None in needed or offsets is None or b"ctts" in self._boxes:
            return None
        media, sizes, to_chunk, to_time = (box for box in needed if box is not None)
        one_size, count = struct.unpack(">II", self._bytes(sizes, 4, 8))
        runs = self._rows(to_chunk, 3)
        if one_size or count < LEAST or not runs or {row[2] for row in runs} != {1}:
            return None
        timescale = _timescale(self._file, media)
        edits = self._edits(timescale, movie_scale)
        if edits is None or not timescale:
            return None
        skip, delay, end = edits
        (chunks,) = struct.unpack(">I", self._bytes(offsets, 4, 4))
        shown = struct.pack(">I", _SHOWN)
        return Tables(
            timescale=timescale,
            count=count,
            sizes_at=sizes.start + 12,
            chunks=chunks,
            chunks_at=offsets.start + 8,
            wide=offsets.kind == b"co64",
            runs=tuple((row[0], row[1]) for row in runs),
            times=tuple((row[0], row[1]) for row in self._rows(to_time, 2)),
            skip=skip,
            delay=delay,
            end=end,
            hidden=(
                (sizes.start + 8, shown),
                (offsets.start + 4, struct.pack(">I", min(chunks, _SHOWN))),
            ),
        )

    def _edits(self, timescale: int, movie_scale: int) -> tuple[int, float, int | None] | None:
        """Return what is skipped, the delay, the end; None for an edit list that does more."""
        box = self._boxes.get(b"elst")
        if box is None:
            return 0, 0.0, None
        version, count = struct.unpack(">B3xI", self._bytes(box, 0, 8))
        layout = struct.Struct(">Qqi" if version else ">Iii")
        if not 1 <= count <= 2 or not movie_scale:
            return None
        raw = self._bytes(box, 8, layout.size * count)
        if len(raw) < layout.size * count:
            return None
        *before, (length, media_time, rate) = layout.iter_unpack(raw)
        if media_time < 0 or rate != 0x10000 or any(time != -1 for _, time, _ in before):
            return None
        delay = sum(empty / movie_scale for empty, _, _ in before)
        end = media_time + -(-length * timescale // movie_scale) if length else None
        return media_time, delay, end

    def _rows(self, box: Box, columns: int) -> list[tuple[int, ...]]:
        (count,) = struct.unpack(">I", self._bytes(box, 4, 4))
        size = 4 * columns
        raw = self._bytes(box, 8, min(count * size, box.end - box.start))
        return list(struct.iter_unpack(f">{columns}I", raw[: len(raw) // size * size]))

    def _bytes(self, box: Box, at: int, length: int) -> bytes:
        return boxes.read(self._file, box.start + at, min(length, max(0, box.end - box.start - at)))


def _timescale(file: File, box: Box) -> int:
    """Return the units a second of an mvhd or mdhd box."""
    raw = boxes.read(file, box.start, 24)
    if len(raw) < 24:
        return 0
    scale: int = struct.unpack_from(">I", raw, 20 if raw[0] else 12)[0]
    return scale


def _pages(file: File, place: int, count: int, width: int) -> Iterator[npt.NDArray[np.int64]]:
    while count > 0:
        file.seek(place)
        raw = file.read(min(count, _PAGE) * width)
        page = np.frombuffer(raw[: len(raw) // width * width], f">u{width}").astype(np.int64)
        if not len(page):
            return
        yield page
        place += len(page) * width
        count -= len(page)


def _fitting(page: npt.NDArray[np.int64]) -> int:
    """Return how many of the next samples are read at once: at least one."""
    some = page[:1024]
    return max(1, int(np.searchsorted(np.cumsum(some), _READ_BYTES, side="right")))


def _split(block: bytes, sizes: npt.NDArray[np.int64]) -> Iterator[bytes]:
    at = 0
    for size in sizes.tolist():
        if at + size > len(block):
            return
        yield block[at : at + size]
        at += size


def _repeated(rows: tuple[tuple[int, int], ...]) -> Iterator[int]:
    for count, value in rows:
        for _ in range(count):
            yield value
