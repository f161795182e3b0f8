"""In which order tracks play: rows A-33 to A-50 of the folder rules.

Bettered against Audiobookshelf: A-22, A-34 (discs count also with gaps and come in natural order), A-43
(folders too), A-44 (what closes a book goes last), A-45, A-47 (all numbers of a name count). Not ours:
A-50's manual order.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge_agent.home.library.order import in_order
from bridge_agent.home.library.wholeness import lacking
from tests.unit.home_library.rules import file, one, order

IN_ORDER = [
    pytest.param(["1", "2", "10", "11"], id="A-36"),
    pytest.param(["Chapter 1 - x", "2", "10"], id="A-37"),
    pytest.param(["Book cd1 track1", "Book cd1 track2", "Book cd2 track1", "Book cd2 track2"], id="A-42"),
    pytest.param(["alpha", "beta", "gamma"], id="A-43"),
    pytest.param(["Prologue", "01 One", "02 Two", "Epilogue"], id="A-44"),
    pytest.param(["Fahrenheit 451 - 8", "Fahrenheit 451 - 9", "Fahrenheit 451 - 10"], id="A-45"),
    pytest.param(["O8 2001 Numbers - 01", "O8 2001 Numbers - 02", "O8 2001 Numbers - 11"], id="A-46"),
    pytest.param(["2.1 chapter", "2.2 chapter", "2.10 chapter"], id="A-47 second level"),
    pytest.param(["Book 3 - 001", "Book 3 - 002", "Book 3 - 010"], id="A-47 book"),
    pytest.param(["Part 01 - Ch 01", "Part 01 - Ch 02", "Part 02 - Ch 01"], id="A-47 part"),
    pytest.param(["1-01", "1-02", "2-01", "10-01"], id="A-47 disc-track"),
    pytest.param(["a1", "b1", "a2", "b2"], id="A-48"),
    pytest.param(["1 of 12", "2 of 12", "12 of 12"], id="A-49"),
    pytest.param(["NAME_01_01_02", "NAME_01_02_01", "NAME_02_01_01"], id="#999 the whole name counts"),
    pytest.param(["01 - Disc 1a", "02 - Disc 1b", "03 - Disc 2a"], id="#1634 leading numbers first"),
    pytest.param(["01 Disc 1", "02 Disc 1", "01 Disc 2", "02 Disc 2"], id="discs where tracks begin anew"),
    pytest.param(["Chapter 1", "Chapter 1.5", "Chapter 2"], id="#19 decimals"),
    pytest.param(["Chapter One", "Chapter Two", "Chapter Ten"], id="number words"),
]


@pytest.mark.parametrize("names", IN_ORDER)
def test_names_in_order(names: list[str]) -> None:
    assert order(*reversed(names)) == names


@pytest.mark.parametrize(
    "discs",
    [
        pytest.param(["CD1", "CD2", "CD10", "CD11"], id="A-34 gap"),
        pytest.param(["CD1", "CD3"], id="A-34 hole"),
        pytest.param(["CD0", "CD1"], id="A-34 from zero"),
        pytest.param([f"CD{i}" for i in range(1, 13)], id="A-34 twelve"),
        pytest.param(["Disc One", "Disc Two", "Disc Ten"], id="A-34 words"),
        pytest.param(["Part I", "Part II", "Part IX"], id="A-34 Roman"),
    ],
)
def test_a_34_discs_in_natural_order_also_with_gaps(discs: list[str]) -> None:
    paths = [f"T/{disc}/{track}.mp3" for disc in discs for track in (1, 2, 10)]
    assert [track.path for track in one(*reversed(paths)).tracks] == paths


def test_a_33_a_disc_folder_overrides_the_tags() -> None:
    files = [file(f"T/CD{disc}/{i}.mp3", disc=1, track=i) for disc in (2, 1) for i in (2, 1)]
    assert [track.path for track in one(*files).tracks] == [
        "T/CD1/1.mp3", "T/CD1/2.mp3", "T/CD2/1.mp3", "T/CD2/2.mp3",
    ]  # fmt: skip


def test_a_35_the_source_that_tells_more_apart_wins() -> None:
    files = [file(f"Au/T/{name}.mp3", track=track) for name, track in (("01", 2), ("02", 2), ("03", 1))]
    assert order(*files) == ["01", "02", "03"]


def test_a_38_tags_order_names_without_numbers() -> None:
    files = [file(f"Au/T/{name}.mp3", track=track) for name, track in (("c", 1), ("a", 2), ("b", 3))]
    assert order(*reversed(files)) == ["c", "a", "b"]


def test_a_39_on_a_tie_tags_win() -> None:
    files = [file(f"Au/T/{name}.mp3", track=track) for name, track in (("01", 3), ("02", 2), ("03", 1))]
    assert order(*files) == ["03", "02", "01"]


def test_a_40_equal_track_tags_say_nothing() -> None:
    files = [file(f"Au/T/{name}.mp3", track=1) for name in ("02", "01", "03")]
    assert order(*files) == ["01", "02", "03"]


def test_a_41_tag_discs_then_tag_tracks() -> None:
    tagged = [("d", 1, 1), ("c", 1, 2), ("b", 2, 1), ("a", 2, 2)]
    files = [file(f"Au/T/{name}.mp3", disc=disc, track=track) for name, disc, track in tagged]
    assert order(*reversed(files)) == ["d", "c", "b", "a"]


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (["01", "02", "03"], ""),
        (["00", "01", "02"], ""),
        (["01", "03"], "Track 2 is missing."),
        (["02", "03"], "Track 1 is missing."),
        (["01", "02", "05"], "Track 3, 4 is missing."),
        (["1", "2", "10", "11"], ""),
        (["1984 - a", "1985 - b"], ""),
        (["alpha", "beta"], ""),
        (["Fahrenheit 451 - 8", "Fahrenheit 451 - 10"], ""),
        (["1-01", "1-02", "2-01", "2-03"], "Track 2 of disc 2 is missing."),
        (["01 Intro", "02", "Epilogue"], ""),
    ],
)
def test_a_missing_track_number_is_told(names: list[str], sentence: str) -> None:
    files = [file(f"Au/T/{name}.mp3") for name in names]
    assert lacking(in_order(files, "Au/T")) == sentence


def test_a_missing_disc_is_told() -> None:
    files = [file(f"T/CD{disc}/01.mp3") for disc in (1, 3)]
    assert lacking(in_order(files, "T")) == "Disc 2 of the book is missing."


def test_numbers_that_go_on_from_disc_to_disc_are_whole() -> None:
    files = [file(f"T/CD{disc}/{disc * 2 + i - 1:02}.mp3") for disc in (1, 2) for i in (0, 1)]
    assert lacking(in_order(files, "T")) == ""


def test_tags_that_count_more_tracks_than_there_are_tell_so() -> None:
    files = [file(f"T/{i}.mp3", track=i, tracks=4) for i in (1, 2)]
    assert lacking(in_order(files, "T")) == "The tags count 4 tracks, but only 2 are there."


def test_a_single_container_is_whole_whatever_its_number() -> None:
    assert lacking(in_order([file("T/a.m4b", track=3, tracks=12)], "T")) == ""
    assert lacking(in_order([file("T/a.mp3", track=1, tracks=12)], "T")) != ""


@given(st.permutations([f"CD{d}/{t}.mp3" for d in (1, 2, 10) for t in (1, 2, 10)]))
def test_order_does_not_depend_on_the_order_in_which_files_come(names: list[str]) -> None:
    files = [file(f"T/{name}") for name in names]
    expected = [f"T/CD{d}/{t}.mp3" for d in (1, 2, 10) for t in (1, 2, 10)]
    assert [track.path for track in in_order(files, "T").files] == expected


@given(st.lists(st.text(min_size=1, max_size=12).filter(lambda s: "/" not in s), min_size=2, unique=True))
def test_every_track_is_kept_once_whatever_the_names(names: list[str]) -> None:
    files = [file(f"T/{name}.mp3") for name in names]
    assert sorted(track.path for track in in_order(files, "T").files) == sorted(f.path for f in files)
