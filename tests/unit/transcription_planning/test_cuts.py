"""Where parts end: the longest pause near 150 s, chapters, force."""

from bridge_agent.transcription.model import RATE, Part
from bridge_agent.transcription.planning import plan
from tests.unit.transcription_planning.surveys import SETTINGS, file, survey


def parts(*files) -> tuple[Part, ...]:
    return plan.make(survey(*files), SETTINGS).parts


def ends(*files) -> list[float]:
    return [part.own_end / RATE for part in parts(*files)]


def test_a_cut_lies_in_the_middle_of_the_longest_pause_of_the_window():
    assert ends(file(300, [(140, 140.4), (160, 161), (190, 195)])) == [160.5, 300]


def test_equally_long_pauses_are_decided_by_nearness_to_the_target():
    assert ends(file(300, [(130, 130.5), (148, 148.5), (165, 165.5)]))[0] == 148.25


def test_a_longer_pause_far_from_the_window_does_not_matter():
    assert ends(file(300, [(100, 110), (150, 150.3)]))[0] == 150.15


def test_a_pause_outside_the_window_is_better_than_a_cut_through_speech():
    (first, second) = parts(file(300, [(80, 80.3)]))
    assert first.end == second.start == round(80.15 * RATE)


def test_the_longest_part_is_240_seconds_and_a_file_of_that_length_is_one_part():
    assert ends(file(240, [(150, 151)])) == [240]
    assert all(part.samples <= 240 * RATE for part in parts(file(3000)))


def test_without_any_pause_the_cut_is_forced_and_both_sides_hear_beyond_it():
    first, second = parts(file(300))
    assert first.own_end == second.own_start == 150 * RATE
    assert first.end == 155 * RATE
    assert second.start == 145 * RATE
    assert (first.start, second.end) == (0, 300 * RATE)


def test_a_pause_that_covers_the_whole_window_is_cut_within_the_window():
    assert ends(file(400, [(100, 380)]))[0] == 175


def test_a_cut_is_made_at_the_longest_pause_beside_a_chapter_mark():
    assert ends(file(300, [(99, 99.3), (100.5, 101.5), (103, 104)], [0, 100]))[0] == 101


def test_a_chapter_mark_without_a_pause_near_it_is_no_cut():
    assert ends(file(200, [(95, 96)], [0, 100])) == [200]


def test_chapters_shorter_than_20_seconds_make_no_scraps():
    lengths = [
        part.samples / RATE
        for part in parts(
            file(200, [(n - 0.2, n + 0.2) for n in range(10, 200, 10)], list(range(0, 200, 10)))
        )
    ]
    assert min(lengths) >= 20
    assert sum(lengths) == 200


def test_no_part_reaches_over_the_end_of_a_file():
    made = parts(file(200, path="a"), file(0, path="b"), file(5, path="c"))
    assert [(part.file, part.own_end) for part in made] == [(0, 200 * RATE), (2, 5 * RATE)]
