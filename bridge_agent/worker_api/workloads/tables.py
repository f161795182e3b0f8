"""Comma-separated tables as bytes: read strictly, written with quotes only where they are needed (RFC 4180).

They follow what the original coordinator's library does, so that the final tables are the same to the byte.
"""

import re
from collections.abc import Iterator, Sequence
from typing import BinaryIO

Row = list[bytes]

_QUOTED = re.compile(rb'"((?:[^"]|"")*)"(?=,|\Z)')
_PLAIN = re.compile(rb'[^",\n]*(?=,|\Z)')
_SPECIAL = re.compile(rb'[,"\r\n]')
_SPACES = frozenset("\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000") | {
    chr(code) for code in range(0x2000, 0x200B)
}
_LONGEST_RECORD = 64 << 20


class BadTable(Exception):
    """A worker's table is not what its workload makes."""


def rows(table: BinaryIO) -> Iterator[Row]:
    """Yield a table's rows, all as wide as the first; blank lines are passed over. Raises BadTable."""
    width = None
    for record in _records(table):
        row = _fields(record)
        if width is None:
            width = len(row)
        elif len(row) != width:
            raise BadTable("a row is not as wide as the first")
        yield row


def line(row: Sequence[bytes]) -> bytes:
    """Return a row as it stands in a file, with its newline."""
    return b",".join(map(_written, row)) + b"\n"


def _records(table: BinaryIO) -> Iterator[bytes]:
    """Yield records without their newline: lines, but for newlines within quotes."""
    open_record = b""
    while raw := table.readline(_LONGEST_RECORD):
        # A carriage return goes at the end of each line, also of those within quotes.
        plain = raw[:-2] + b"\n" if raw.endswith(b"\r\n") else raw
        if not raw.endswith(b"\n"):
            plain = plain.removesuffix(b"\r")
        if not open_record and plain in (b"\n", b""):
            continue
        open_record += plain
        if len(open_record) > _LONGEST_RECORD:
            raise BadTable("a row is too long")
        if open_record.count(b'"') % 2 == 0:
            yield open_record.removesuffix(b"\n")
            open_record = b""
    if open_record:
        raise BadTable("a quote is never closed")


def _fields(record: bytes) -> Row:
    if b'"' not in record:
        return record.split(b",")
    found: Row = []
    at = 0
    while True:
        quoted = record[at : at + 1] == b'"'
        match = (_QUOTED if quoted else _PLAIN).match(record, at)
        if match is None:
            raise BadTable("a quote is out of its place")
        found.append(match[1].replace(b'""', b'"') if quoted else match[0])
        at = match.end()
        if at >= len(record):
            return found
        at += 1


def _written(field: bytes) -> bytes:
    if not field:
        return field
    first = field[:4].decode("utf-8", "ignore")[:1]
    if field == rb"\." or first in _SPACES or _SPECIAL.search(field):
        return b'"' + field.replace(b'"', b'""') + b'"'
    return field
