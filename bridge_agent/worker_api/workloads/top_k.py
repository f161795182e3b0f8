"""The top-k reducer: the best matches of all shards, in one order whoever finished first."""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, BinaryIO

from bridge_agent.worker_api.workloads import tables
from bridge_agent.worker_api.workloads.tables import BadTable

HEADER = [b"rank", b"chembl_id", b"canonical_smiles", b"similarity"]
DEFAULT_K = 20
_NUMBER = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\Z")

# What is compared: the similarity, its sign turned where more is better, then id and structure byte by byte.
Match = tuple[float, bytes, bytes]


def reduce(partials: Iterable[BinaryIO], parameters: Mapping[str, Any], out: BinaryIO) -> None:
    """Write the `top_k` best of all partials; raises BadTable for one that is not as it has to be.

    Compared is the whole number a worker gave, not what is written of it.
    """
    most = int(parameters.get("top_k") or DEFAULT_K)
    sign = 1.0 if parameters.get("threshold_direction") == "less" else -1.0
    best: list[Match] = []
    for partial in partials:
        _read(partial, sign, most, best.append)
        best.sort()
        del best[most:]
    out.write(tables.line(HEADER))
    for rank, (key, chembl_id, smiles) in enumerate(best, start=1):
        out.write(tables.line([b"%d" % rank, chembl_id, smiles, b"%.6f" % (key * sign)]))


def _read(partial: BinaryIO, sign: float, most: int, keep: Callable[[Match], None]) -> None:
    """Judge every row and keep the first `most`: rows are in order, so no later one can be among the best."""
    found = tables.rows(partial)
    if next(found, None) != HEADER:
        raise BadTable("the header is not the search's")
    before: Match | None = None
    for rank, row in enumerate(found, start=1):
        if row[0] != b"%d" % rank:
            raise BadTable("the ranks are not 1, 2, 3, …")
        match = (sign * _similarity(row[3]), row[1], row[2])
        if before is not None and match < before:
            raise BadTable("the rows are not in order")
        if rank <= most:
            keep(match)
        before = match


def _similarity(field: bytes) -> float:
    if not _NUMBER.match(field):
        raise BadTable("a similarity is no number")
    value = float(field)
    if not math.isfinite(value) or not 0.0 <= value <= 1.0:
        raise BadTable("a similarity is not between 0 and 1")
    # Adding zero turns -0.0 into 0.0.
    return value + 0.0
