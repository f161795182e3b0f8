"""What holds for the plan of any book."""

import os
import subprocess
import sys

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge_agent.transcription.model import RATE, FileChapter, FileSurvey, Span, Survey, encode
from bridge_agent.transcription.planning import cuts, plan
from tests.unit.transcription_planning.surveys import SETTINGS, file, survey

MOST = 2000 * RATE


@st.composite
def files(draw: st.DrawFn) -> FileSurvey:
    samples = draw(st.one_of(st.just(0), st.integers(1, 40 * RATE), st.integers(1, MOST)))
    places = st.tuples(st.integers(0, MOST), st.integers(0, 5 * RATE))
    pauses = draw(st.lists(places, max_size=40))
    marks = draw(st.lists(st.integers(-RATE, MOST), max_size=12))
    return FileSurvey(
        path=draw(st.text(max_size=5)),
        size=samples,
        content=draw(st.sampled_from("ab")),
        samples=samples,
        pauses=tuple(Span(start=start, end=min(start + length, samples)) for start, length in pauses),
        chapters=tuple(FileChapter(title="", start=m, end=m + 1, source="file") for m in marks),
    )


books = st.lists(files(), max_size=4).map(lambda found: Survey(files=tuple(found), decoder="d"))


@given(books)
def test_own_stretches_tile_each_file_without_holes_or_overlaps(book):
    made = plan.make(book, SETTINGS)
    for index, one in enumerate(book.files):
        mine = [part for part in made.parts if part.file == index]
        borders = [0, *(part.own_end for part in mine)]
        assert [part.own_start for part in mine] == borders[:-1]
        assert borders[-1] == one.samples
        assert all(part.own_start < part.own_end for part in mine)


@given(books)
def test_parts_stay_within_their_bounds_and_their_file(book):
    for part in plan.make(book, SETTINGS).parts:
        length = book.files[part.file].samples
        assert 0 <= part.start <= part.own_start < part.own_end <= part.end <= length
        assert part.samples <= cuts.MOST
        assert part.own_end - part.own_start >= min(cuts.LEAST, length)
        assert part.own_start - part.start in (0, cuts.OVERLAP)
        assert part.end - part.own_end in (0, cuts.OVERLAP)


@given(books)
def test_parts_are_numbered_in_reading_order(book):
    made = plan.make(book, SETTINGS)
    assert [part.number for part in made.parts] == list(range(len(made.parts)))
    line = [(part.file, part.start) for part in made.parts]
    assert line == sorted(line)


@given(books)
def test_a_cut_is_forced_only_where_there_is_no_pause(book):
    for part in plan.make(book, SETTINGS).parts:
        if part.end == part.own_end:
            continue
        one = book.files[part.file]
        reach = (part.own_start + cuts.LEAST, part.start + cuts.MOST)
        inside = [s for s in one.pauses if s.samples > RATE // 5 and reach[0] < s.start and s.end < reach[1]]
        assert not [s for s in inside if s.end < one.samples - cuts.LEAST]


@given(books, st.randoms(use_true_random=False))
def test_the_order_in_which_pauses_and_marks_were_found_does_not_matter_to_the_parts(book, chance):
    def shuffled(one: FileSurvey) -> FileSurvey:
        pauses, chapters = list(one.pauses), list(one.chapters)
        chance.shuffle(pauses)
        chance.shuffle(chapters)
        return msgspec.structs.replace(one, pauses=tuple(pauses), chapters=tuple(chapters))

    mixed = Survey(files=tuple(map(shuffled, book.files)), decoder="d")
    assert plan.make(mixed, SETTINGS).parts == plan.make(book, SETTINGS).parts


@given(books)
@settings(max_examples=30)
def test_the_same_survey_gives_the_same_bytes(book):
    again = msgspec.json.decode(encode(book), type=Survey)
    assert encode(plan.make(book, SETTINGS)) == encode(plan.make(again, SETTINGS))


@given(books, books)
@settings(max_examples=50)
def test_equal_hashes_mean_equal_plans(one, other):
    first, second = plan.make(one, SETTINGS), plan.make(other, SETTINGS)
    assert (first.hash == second.hash) == (one == other)


def test_the_plan_is_the_same_in_processes_that_hash_text_differently():
    script = (
        "from tests.unit.transcription_planning.surveys import *\n"
        "from bridge_agent.transcription.planning import plan\n"
        "made = plan.make(survey(file(900, [(n, n + 0.4) for n in range(9, 900, 7)], [0, 300])), SETTINGS)\n"
        "print(made.hash, [plan.part_key(made, part) for part in made.parts])"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1


def test_a_book_of_sixty_hours_is_planned_in_a_moment():
    one = file(60 * 3600, [(n, n + 0.4) for n in range(5, 216_000, 5)], list(range(0, 216_000, 1800)))
    made = plan.make(survey(one), SETTINGS)
    assert 1200 < len(made.parts) < 2000
