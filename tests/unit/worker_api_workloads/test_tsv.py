"""The chunker of tables, against a plain reading of the same rules."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge_agent.worker_api.workloads import tsv
from bridge_agent.worker_api.workloads.tsv import BadTable, Chunker

HEADER = b"chembl_id\tcanonical_smiles"


class Shards:
    def __init__(self) -> None:
        self.closed: list[bytes] = []
        self.open = b""

    def write(self, piece: bytes) -> None:
        self.open += piece

    def end_shard(self) -> None:
        self.closed.append(self.open)
        self.open = b""


def split(table: bytes, chunk_rows: int, max_rows: int | None = None, piece: int = 1 << 20) -> list[bytes]:
    sink = Shards()
    chunker = Chunker(sink, chunk_rows, max_rows)
    for at in range(0, len(table), piece):
        chunker.feed(table[at : at + piece])
    chunker.close()
    assert sink.open == b""
    assert chunker.shards == len(sink.closed)
    return sink.closed


def plainly(table: bytes, chunk_rows: int, max_rows: int | None) -> list[bytes]:
    """The rules once more, with everything in memory."""
    lines = table.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    lines = [line.removesuffix(b"\r") for line in lines]
    header, rows = lines[0], lines[1:][:max_rows]
    return [
        b"".join(line + b"\n" for line in (header, *rows[at : at + chunk_rows]))
        for at in range(0, len(rows), chunk_rows)
    ]


@pytest.mark.requirement("S-12")
def test_five_rows_with_carriage_returns_and_no_last_newline_become_three_exact_shards():
    table = b"\r\n".join([HEADER, b"A\tC", b"B\tCC", b"C\tCCC", b"D\tN", b"E\tO"])
    shards = split(table, 2)
    assert shards == [
        HEADER + b"\nA\tC\nB\tCC\n",
        HEADER + b"\nC\tCCC\nD\tN\n",
        HEADER + b"\nE\tO\n",
    ]
    assert split(table, 2, max_rows=3) == [shards[0], HEADER + b"\nC\tCCC\n"]


def test_no_empty_last_shard_where_the_rows_come_out_even():
    assert len(split(HEADER + b"\nA\tC\nB\tC\n", 1)) == 2


def test_blank_lines_are_rows_and_quotes_mean_nothing():
    shards = split(HEADER + b'\n\n"a\nb"\tC\n', 2)
    assert shards == [HEADER + b'\n\n"a\n', HEADER + b'\nb"\tC\n']


def test_a_byte_order_mark_is_overlooked_and_kept_in_each_shard():
    shards = split(b"\xef\xbb\xbf" + HEADER + b"\nA\tC\nB\tC\n", 1)
    assert all(shard.startswith(b"\xef\xbb\xbfchembl_id") for shard in shards)


def test_other_columns_and_another_order_are_fine():
    assert split(b"x\tcanonical_smiles\tchembl_id\n1\tC\tA", 9) == [
        b"x\tcanonical_smiles\tchembl_id\n1\tC\tA\n"
    ]


@pytest.mark.requirement("S-12")
@pytest.mark.parametrize(
    "table",
    [b"", HEADER, HEADER + b"\n", b"chembl_id\tsmiles\nA\tC\n", b"chembl_id,canonical_smiles\nA,C\n", b"\n"],
)
def test_a_table_without_rows_or_columns_is_refused(table: bytes):
    with pytest.raises(BadTable):
        split(table, 2)


@given(
    rows=st.lists(st.binary(max_size=12).map(lambda raw: raw.replace(b"\n", b"")), min_size=1, max_size=30),
    ends=st.lists(st.sampled_from([b"\n", b"\r\n"]), min_size=31, max_size=31),
    cut_last=st.booleans(),
    chunk_rows=st.integers(1, 9),
    max_rows=st.none() | st.integers(1, 40),
    piece=st.integers(1, 50),
)
def test_shards_are_the_same_however_the_bytes_come(
    rows: list[bytes],
    ends: list[bytes],
    cut_last: bool,
    chunk_rows: int,
    max_rows: int | None,
    piece: int,
):
    table = b"".join(line + end for line, end in zip([HEADER, *rows], ends, strict=False))
    if cut_last and rows[-1]:
        table = table.removesuffix(b"\n").removesuffix(b"\r")
    assert split(table, chunk_rows, max_rows, piece) == plainly(table, chunk_rows, max_rows)


def test_a_line_may_be_just_shorter_than_eight_mebibytes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tsv, "LONGEST_LINE", 40)
    assert split(HEADER + b"\n" + b"x" * 40 + b"\n", 1, piece=7)
    for table in (HEADER + b"\n" + b"x" * 41, HEADER + b"\n" + b"x" * 41 + b"\n"):
        for piece in (7, 1000):
            with pytest.raises(BadTable, match="line"):
                split(table, 1, piece=piece)


def test_a_shard_may_have_64_mebibytes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tsv, "LARGEST_SHARD", len(HEADER) + 1 + 8)
    assert split(HEADER + b"\nA\tC\nB\tC\n", 2)
    with pytest.raises(BadTable, match="shard"):
        split(HEADER + b"\nA\tC\nB\tCC\n", 2)
