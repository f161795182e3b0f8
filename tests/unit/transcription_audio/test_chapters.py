"""Chapter lists put right."""

from hypothesis import given
from hypothesis import strategies as st

from bridge_agent.transcription.audio import chapters
from bridge_agent.transcription.audio.chapters import Mark
from bridge_agent.transcription.model import RATE


def tiled(marks: list[Mark], samples: int) -> list[tuple[str, float, float]]:
    found = chapters.sanitised(marks, samples, "file")
    return [(c.title, c.start / RATE, c.end / RATE) for c in found]


def at(title: str, start: float, end: float | None = None) -> Mark:
    return Mark(title, round(start * RATE), None if end is None else round(end * RATE))


def test_an_unordered_list_with_holes_is_sorted_and_closed():
    assert tiled([at("b", 60, 90), at("a", 5, 50)], 100 * RATE) == [("a", 0, 60), ("b", 60, 100)]


def test_what_a_muxer_makes_of_a_list_out_of_order_loses_its_empty_ones():
    marks = [at("a", 0, 0), at("b", 0, 200), at("c", 200, 200), at("d", 200, 200)]
    assert tiled(marks, 300 * RATE) == [("b", 0, 300)]


def test_chapters_are_clamped_to_what_was_decoded():
    assert tiled([at("a", -5, 50), at("b", 50, 999), at("c", 999, 2000)], 60 * RATE) == [
        ("a", 0, 50),
        ("b", 50, 60),
    ]


def test_scraps_beside_a_chapter_are_dropped_and_their_title_kept_where_it_is_the_only_one():
    assert tiled([at("", 0, 30), at("Intro", 0.2, 30), at("b", 30, 60)], 60 * RATE) == [
        ("Intro", 0, 30),
        ("b", 30, 60),
    ]


def test_chapters_without_a_title_are_numbered():
    assert [title for title, *_ in tiled([at("", 0), at(" \n", 30)], 60 * RATE)] == ["Chapter 1", "Chapter 2"]


def test_titles_lose_line_breaks_and_control_characters():
    assert tiled([at("One\r\n\x00two  three", 0)], RATE)[0][0] == "One two three"


def test_a_file_without_marks_is_one_chapter_named_by_its_tags_or_itself():
    (tagged,) = chapters.whole(RATE, " Prologue ", "01.mp3")
    (named,) = chapters.whole(RATE, "", "01 Prologue.mp3")
    assert (tagged.title, tagged.source) == ("Prologue", "tags")
    assert (named.title, named.source) == ("01 Prologue", "folder")
    assert chapters.whole(0, "x", "y") == ()


marks = st.builds(
    Mark,
    title=st.text(max_size=3),
    start=st.integers(-(2**40), 2**40),
    end=st.none() | st.integers(-(2**40), 2**40),
)


@given(
    st.lists(marks | st.builds(Mark, title=st.just("t"), start=st.integers(0, 50 * RATE)), max_size=30),
    st.integers(1, 60 * RATE),
)
def test_whatever_the_list_its_chapters_tile_the_file_or_there_are_none(found, samples):
    made = chapters.sanitised(found, samples, "file")
    if made:
        borders = [0, *(c.end for c in made)]
        assert [c.start for c in made] == borders[:-1]
        assert borders[-1] == samples
        assert all(c.start < c.end and c.title for c in made)
