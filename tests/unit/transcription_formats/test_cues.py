"""Subtitles: two lines of 42 columns, 1 to 7 s, broken at phrases, never across a chapter or a gap."""

import pytest
from hypothesis import given, settings

from bridge_agent.transcription.assembly.transcript import Gap, milliseconds
from bridge_agent.transcription.formats.atoms import LINE, width
from bridge_agent.transcription.formats.breaks import BETWEEN, CLAUSE, PHRASE, rank
from bridge_agent.transcription.formats.cues import LONGEST, SHORTEST, cues
from bridge_agent.transcription.formats.tokens import all_tokens
from tests.unit.transcription_formats.scripts import book, segment, spoken, transcript, transcripts

FABLE = (
    "A hare never tired of laughing at a tortoise because he walked so slowly. One morning the tortoise "
    "answered him. Let us have a race, he said, from this old gate to the bridge beside the mill. "
    "The hare thought it was the best joke of the year and agreed at once."
)


def bare(text: str) -> str:
    return "".join(text.split())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("end.", PHRASE),
        ("end.”", PHRASE),
        ("Really?)", PHRASE),
        ("です。」", PHRASE),
        ("so,", CLAUSE),
        ("so”,", CLAUSE),
        ("word", BETWEEN),
        ("Mr.", BETWEEN),
        ("J.", BETWEEN),
        ("”", BETWEEN),
    ],
)
def test_breaks_are_ranked_by_what_ends_before_them(text, expected):
    assert rank(text) == expected


def test_cues_end_where_sentences_end():
    found = cues(book(FABLE))
    assert [cue.lines for cue in found] == [
        ("A hare never tired of laughing at a", "tortoise because he walked so slowly."),
        ("One morning the tortoise answered him.",),
        ("Let us have a race, he said, from this", "old gate to the bridge beside the mill."),
        ("The hare thought it was the best", "joke of the year and agreed at once."),
    ]


def test_a_long_sentence_is_broken_at_its_clauses():
    text = (
        "When the hare woke up he ran like the wind, but the tortoise was already sitting on the old bridge."
    )
    found = cues(book(text))
    assert [rank(cue.lines[-1]) for cue in found] == [CLAUSE, PHRASE]


def test_a_cue_of_one_short_word_stays_a_second_where_there_is_room():
    found = cues(transcript([segment(0, [(5.0, 5.1, " Yes.")])], 20.0))
    assert [(cue.start, cue.end) for cue in found] == [(5000, 6000)]


def test_a_short_word_at_the_end_of_a_chapter_appears_a_little_earlier_instead():
    parts = [segment(0, [(4.8, 4.9, " Yes.")]), segment(1, [(5.0, 6.5, " Next.")], chapter=1)]
    found = cues(transcript(parts, 20.0, chapters=(0.0, 5.0)))
    assert [(cue.start, cue.end, cue.chapter) for cue in found] == [(4000, 5000, 0), (5000, 6500, 1)]


def test_a_word_that_lasts_half_a_minute_has_a_cue_of_seven_seconds():
    found = cues(transcript([segment(0, [(1.0, 31.0, " Ooooh!")])], 60.0))
    assert [(cue.start, cue.end) for cue in found] == [(1000, 8000)]


def test_no_cue_lies_across_a_chapter_that_begins_in_a_sentence():
    words = spoken("one two three four five six seven eight", each=0.5)
    found = cues(transcript([segment(0, words)], 5.0, chapters=(0.0, 2.0)))
    assert [(cue.lines, cue.chapter) for cue in found] == [
        (("one two three four",), 0),
        (("five six seven eight",), 1),
    ]


def test_no_cue_lies_across_a_gap():
    words = spoken("one two three four", each=0.5)
    gap = Gap(start=1.0, end=1.0, reason="damaged")
    found = cues(transcript([segment(0, words)], 5.0, gaps=[gap]))
    assert [cue.lines for cue in found] == [("one two",), ("three four",)]


def test_a_language_without_spaces_is_broken_between_characters_and_keeps_its_marks_together():
    text = "昔々あるところにおじいさんとおばあさんが住んでいました。おじいさんは山へ行きました。"
    words = [(n * 0.2, n * 0.2 + 0.2, character) for n, character in enumerate(text)]
    found = cues(transcript([segment(0, words)], 30.0))
    assert "".join(line for cue in found for line in cue.lines) == text
    lines = [line for cue in found for line in cue.lines]
    assert all(width(line) <= LINE for line in lines)
    assert not any(line.startswith("。") for line in lines)
    assert [rank(cue.lines[-1]) for cue in found].count(PHRASE) >= 2


def test_without_words_a_segment_is_split_by_the_proportions_of_its_text():
    found = cues(book(FABLE, timed=False))
    assert bare("".join(line for cue in found for line in cue.lines)) == bare(FABLE)
    assert len(found) >= 4
    assert [rank(cue.lines[-1]) for cue in found].count(PHRASE) == 4


def test_a_transcript_without_a_word_has_no_cues():
    assert cues(transcript([], 10.0)) == []


@settings(max_examples=200, deadline=None)
@given(transcripts())
def test_any_transcript_gives_cues_in_order_within_the_limits_with_every_word_once(given_transcript):
    found = cues(given_transcript)
    said = bare("".join(token.text for token in all_tokens(given_transcript)))
    assert bare("".join(line for cue in found for line in cue.lines)) == said
    borders = {milliseconds(chapter.start) for chapter in given_transcript.chapters}
    borders |= {milliseconds(t) for gap in given_transcript.gaps for t in (gap.start, gap.end)}
    last = 0
    crowded = False
    for number, cue in enumerate(found):
        assert last <= cue.start < cue.end
        assert cue.end - cue.start <= LONGEST
        assert 1 <= len(cue.lines) <= 2
        assert all(0 < width(line) <= LINE for line in cue.lines)
        # Where more cues than milliseconds crowd together, order goes before borders.
        crowded = crowded or cue.end - cue.start < 3
        if not crowded:
            assert not any(cue.start < border < cue.end for border in borders)
        if cue.end - cue.start < SHORTEST and not crowded:
            nearest = {cue.end + 1, *borders, milliseconds(given_transcript.duration)}
            following = found[number + 1].start if number + 1 < len(found) else cue.end
            assert following == cue.end or cue.end in nearest
        last = cue.end
