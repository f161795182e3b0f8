"""The ordered concatenation: the shards' tables one after the other, in the shards' order, one header."""

from collections.abc import Iterable, Mapping
from typing import Any, BinaryIO

from bridge_agent.worker_api.workloads import tables
from bridge_agent.worker_api.workloads.tables import BadTable, Row


def reduce(partials: Iterable[BinaryIO], _parameters: Mapping[str, Any], out: BinaryIO) -> None:
    """Write all rows under one header; raises BadTable where headers or widths differ."""
    header: Row | None = None
    for partial in partials:
        found = tables.rows(partial)
        own = next(found, None)
        if own is None:
            raise BadTable("it is empty")
        if header is None:
            header = own
            out.write(tables.line(header))
        elif own != header:
            raise BadTable("the headers differ")
        for row in found:
            out.write(tables.line(row))
