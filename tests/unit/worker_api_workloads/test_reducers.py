"""The reducers: the exact final tables, whatever order the partials were finished in."""

import io
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge_agent.worker_api.workloads import concat, tables, top_k
from bridge_agent.worker_api.workloads.tables import BadTable

HEADER = b"rank,chembl_id,canonical_smiles,similarity"


def best(partials: Sequence[bytes], **parameters: Any) -> bytes:
    out = io.BytesIO()
    top_k.reduce(map(io.BytesIO, partials), parameters, out)
    return out.getvalue()


def joined(*partials: bytes) -> bytes:
    out = io.BytesIO()
    concat.reduce(map(io.BytesIO, partials), {}, out)
    return out.getvalue()


def search(*rows: bytes, end: bytes = b"\r\n") -> bytes:
    return b"".join(row + end for row in (HEADER, *rows))


@pytest.mark.requirement("S-13")
def test_the_best_three_of_two_shards_to_the_byte():
    first = search(b"1,B,CC,0.9", b"2,A,C,0.5")
    second = search(b'1,A,"C,C",0.9', b"2,C,CCC,0.5", b"3,D,CCCC,0.1")
    expected = HEADER + b'\n1,A,"C,C",0.900000\n2,B,CC,0.900000\n3,A,C,0.500000\n'
    assert best([first, second], top_k=3) == expected
    assert best([second, first], top_k=3) == expected


def test_whole_numbers_are_compared_and_six_decimals_written():
    partials = [search(b"1,A,C,0.42857142857142855"), search(b"1,B,C,0.42857142857142860")]
    assert best(partials) == HEADER + b"\n1,B,C,0.428571\n2,A,C,0.428571\n"


def test_less_turns_the_order_of_similarities_alone():
    partials = [search(b"1,B,C,0", b"2,A,C,0.5"), search(b"1,A,C,0.0")]
    assert best(partials, threshold_direction="less", top_k=2) == (
        HEADER + b"\n1,A,C,0.000000\n2,B,C,0.000000\n"
    )


def test_without_a_number_the_best_twenty_are_kept():
    rows = [b"%d,M%02d,C,0.5" % (n, n) for n in range(1, 31)]
    assert best([search(*rows)]).count(b"\n") == 21


def test_no_matches_leave_the_header():
    assert best([search(), search()]) == HEADER + b"\n"


@pytest.mark.requirement("S-14")
@pytest.mark.parametrize(
    "partial",
    [
        b"",
        b"rank,chembl_id,canonical_smiles\r\n",
        HEADER.upper(),
        search(b"2,A,C,0.5"),
        search(b"1,A,C,0.5", b"1,B,C,0.4"),
        search(b"1,A,C,1.5"),
        search(b"1,A,C,-0.1"),
        search(b"1,A,C,nan"),
        search(b"1,A,C,inf"),
        search(b"1,A,C, 0.5"),
        search(b"1,A,C,0_5"),
        search(b"1,A,C,"),
        search(b"1,A,C"),
        search(b"1,A,C,0.4", b"2,B,C,0.5"),
        search(b"1,B,C,0.5", b"2,A,C,0.5"),
        search(b'1,A"B,C,0.5'),
        search(b'1,"A,C,0.5'),
    ],
)
def test_a_partial_that_is_not_as_it_has_to_be_is_refused(partial: bytes):
    with pytest.raises(BadTable):
        best([search(b"1,Z,C,0.9"), partial])


@given(
    st.lists(
        st.lists(
            st.tuples(st.floats(0, 1), st.sampled_from(["A", "B", "C,D", 'E"F']), st.text("CNO", max_size=3))
        ),
        min_size=1,
        max_size=4,
    ),
    st.integers(1, 8),
    st.randoms(use_true_random=False),
)
def test_the_best_do_not_depend_on_the_order_of_shards(shards: Any, most: int, chance: Any):
    partials = []
    for shard in shards:
        ordered = sorted(shard, key=lambda m: (-m[0], m[1].encode(), m[2].encode()))
        lines = [
            tables.line([b"%d" % n, i.encode(), s.encode(), repr(f).encode()])
            for n, (f, i, s) in enumerate(ordered, 1)
        ]
        partials.append(HEADER + b"\n" + b"".join(lines))
    expected = sorted(
        (m for shard in shards for m in shard), key=lambda m: (-m[0], m[1].encode(), m[2].encode())
    )
    found = best(partials, top_k=most)
    chance.shuffle(partials)
    assert best(partials, top_k=most) == found
    rows = list(tables.rows(io.BytesIO(found)))[1:]
    assert [row[1].decode() for row in rows] == [match[1] for match in expected[:most]]


def test_tables_are_joined_in_the_shards_order_under_one_header():
    assert joined(b'a,b\r\n1,"x"\r\n', b"a,b\n", b'a,b\n2,"x,y"\n3,') == b'a,b\n1,x\n2,"x,y"\n3,\n'


@pytest.mark.parametrize("second", [b"", b"a,c\n1,2\n", b"a,b\n1\n", b"a\n1\n"])
def test_headers_and_widths_that_differ_are_refused(second: bytes):
    with pytest.raises(BadTable):
        joined(b"a,b\n1,2\n", second)


@pytest.mark.parametrize(
    ("given", "written"),
    [
        (b"plain", b"plain\n"),
        (b" lead", b'" lead"\n'),
        (b"\xe2\x80\xa9x", b'"\xe2\x80\xa9x"\n'),
        (b'q"q', b'"q""q"\n'),
        (rb"\.", b'"\\."\n'),
        (b"a\rb", b'"a\rb"\n'),
        (b"\xff\xfe", b"\xff\xfe\n"),
    ],
)
def test_quotes_only_where_they_are_needed(given: bytes, written: bytes):
    assert tables.line([given]) == written


@given(st.lists(st.lists(st.binary(max_size=8), min_size=2, max_size=2), min_size=1, max_size=6))
def test_what_is_written_is_read_the_same(table: list[list[bytes]]):
    raw = b"".join(map(tables.line, table))
    # A carriage return before a newline within quotes is lost, as it is in the original.
    expected = [[field.replace(b"\r\n", b"\n") for field in row] for row in table]
    if not any(field.endswith(b"\r") for row in table for field in row):
        assert list(tables.rows(io.BytesIO(raw))) == expected
