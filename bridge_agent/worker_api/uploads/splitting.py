"""Splitting: an uploaded table is kept whole, and its shards written behind one another into one file."""

import hashlib
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from bridge_agent.worker_api.uploads.files import Growing
from bridge_agent.worker_api.uploads.refusals import Invalid
from bridge_agent.worker_api.workloads.tsv import BadTable, Chunker

MOST_SHARDS = 100_000
_DIGEST = 32


class Shard(NamedTuple):
    """A stretch of the file of shards."""

    chunk_index: int
    start: int
    size: int
    sha256: str


class Shards:
    """The file of shards as the chunker fills it; where each begins is kept in a few bytes."""

    def __init__(self, path: Path) -> None:
        self._file = Growing(path)
        self._digest = hashlib.sha256()
        self._size = 0
        self._sizes = array("q")
        self._digests = bytearray()

    def write(self, piece: bytes) -> None:
        """Take more bytes of the shard that is open."""
        self._file.write(piece)
        self._digest.update(piece)
        self._size += len(piece)

    def end_shard(self) -> None:
        """Close the shard that is open; raises BadTable where there are too many."""
        if len(self._sizes) >= MOST_SHARDS:
            raise BadTable("it has too many shards")
        self._sizes.append(self._size)
        self._digests += self._digest.digest()
        self._digest = hashlib.sha256()
        self._size = 0

    def end(self) -> None:
        """Make all of them durable."""
        self._file.end()

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def __iter__(self) -> Iterator[Shard]:
        start = 0
        for index, size in enumerate(self._sizes):
            digest = self._digests[index * _DIGEST : (index + 1) * _DIGEST]
            yield Shard(index, start, size, digest.hex())
            start += size

    def __len__(self) -> int:
        return len(self._sizes)


class Splitting:
    """A table on its way in; to be used in threads."""

    def __init__(self, source: Path, shards: Path, chunk_rows: int, max_rows: int | None) -> None:
        self.source = Growing(source)
        self.shards = Shards(shards)
        self._chunker = Chunker(self.shards, chunk_rows, max_rows)

    def take(self, piece: bytes) -> None:
        """Take more of the table; raises Invalid, StoreFull, OSError."""
        self.source.write(piece)
        try:
            self._chunker.feed(piece)
        except BadTable as bad:
            raise Invalid(f"The table can’t be split: {bad}.") from bad

    def end(self) -> None:
        """Take the table's end; raises Invalid, StoreFull, OSError."""
        try:
            self._chunker.close()
        except BadTable as bad:
            raise Invalid(f"The table can’t be split: {bad}.") from bad
        self.source.end()
        self.shards.end()

    def close(self) -> None:
        """Let go of both files."""
        self.source.close()
        self.shards.close()
