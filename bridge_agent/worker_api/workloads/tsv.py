"""The chunker of tables: a stream of tab-separated rows becomes shards, byte for byte the same each time.

Rows are lines: nothing is unquoted, one carriage return at a line's end is dropped, a blank line is a row and
a missing last newline is added. Every shard repeats the header.
"""

from typing import Protocol

REQUIRED_COLUMNS = frozenset({b"chembl_id", b"canonical_smiles"})
LONGEST_LINE = (8 << 20) - 1
"""Bytes of the longest line, its end not counted."""
LARGEST_SHARD = 64 << 20
_BOM = b"\xef\xbb\xbf"


class BadTable(Exception):
    """The upload is no table that can be split."""


class Sink(Protocol):
    """Where shards go."""

    def write(self, piece: bytes) -> None:
        """Take more bytes of the shard that is open."""
        ...

    def end_shard(self) -> None:
        """Close the shard that is open; the next bytes begin another."""
        ...


class Chunker:
    """Splits what it is fed, keeping one unfinished line in memory."""

    def __init__(self, sink: Sink, chunk_rows: int, max_rows: int | None = None) -> None:
        """Split into shards of `chunk_rows` rows; only the first `max_rows` rows become shards."""
        self._sink = sink
        self._chunk_rows = chunk_rows
        self._rows_to_take = max_rows
        self._line = bytearray()
        self._header: bytes | None = None
        self._rows = 0
        self._size = 0
        self.shards = 0

    def feed(self, piece: bytes) -> None:
        """Take more of the table; raises BadTable."""
        if self._full:
            return
        end = piece.rfind(b"\n") + 1
        if not end:
            self._keep(piece)
            return
        whole = bytes(self._line) + piece[:end]
        self._line.clear()
        self._keep(piece[end:])
        self._check_lines(whole)
        self._lines(whole.replace(b"\r\n", b"\n"))

    def close(self) -> None:
        """Take the end of the table; raises BadTable where there is no row to work on."""
        if self._line and not self._full:
            last = bytes(self._line)
            self._line.clear()
            self._lines(last.removesuffix(b"\r") + b"\n")
        if self._rows:
            self._end_shard()
        if not self.shards:
            raise BadTable("it has no rows")

    @property
    def _full(self) -> bool:
        return self._rows_to_take == 0

    def _keep(self, piece: bytes) -> None:
        self._line += piece
        if len(self._line) > LONGEST_LINE:
            raise BadTable("a line is too long")

    def _check_lines(self, whole: bytes) -> None:
        # Cheap as long as all lines together are shorter than one may be.
        if len(whole) > LONGEST_LINE and max(map(len, whole.split(b"\n"))) > LONGEST_LINE:
            raise BadTable("a line is too long")

    def _lines(self, whole: bytes) -> None:
        """Take lines that all end in a newline."""
        at = 0
        if self._header is None:
            at = whole.index(b"\n") + 1
            self._begin(whole[:at])
        rest = memoryview(whole)[at:]
        while rest and not self._full:
            room = self._chunk_rows - self._rows
            if self._rows_to_take is not None:
                room = min(room, self._rows_to_take)
            size, rows = _lines_at_most(rest, room)
            self._rows_in(rest[:size], rows)
            rest = rest[size:]

    def _begin(self, header: bytes) -> None:
        columns = header[:-1].removeprefix(_BOM).split(b"\t")
        if not REQUIRED_COLUMNS.issubset(columns):
            raise BadTable("it lacks a column")
        self._header = header

    def _rows_in(self, lines: memoryview, rows: int) -> None:
        if not self._rows:
            self._put(self._header or b"")
        self._put(bytes(lines))
        self._rows += rows
        if self._rows_to_take is not None:
            self._rows_to_take -= rows
        if self._rows == self._chunk_rows:
            self._end_shard()

    def _put(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > LARGEST_SHARD:
            raise BadTable("a shard is too large")
        self._sink.write(piece)

    def _end_shard(self) -> None:
        self._sink.end_shard()
        self.shards += 1
        self._rows = self._size = 0


def _lines_at_most(whole: memoryview, most: int) -> tuple[int, int]:
    """Return the bytes and the number of the first lines, at most so many."""
    raw = bytes(whole)
    count = raw.count(b"\n")
    if count <= most:
        return len(raw), count
    return len(raw) - len(raw.split(b"\n", most)[-1]), most
