"""The guards, pure: what they catch, what they leave alone, and what they mend."""

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge_agent.transcription.guards import coverage, language, loops, pace, policy, silence, times
from bridge_agent.transcription.model import RATE, Segment, Span, Word

STORY = (
    "Three tired soldiers came into a village where every door was shut. The farmers had seen them on "
    "the hill and had hidden their bread, their carrots and their meat. We have not had a bite in two "
    "days, said the first. Then we shall have to make a soup of stones, said the second, and he asked "
    "for the largest pot in the house. The children came to look, and then their mothers, and soon the "
    "whole street stood round the fire."
)


def said(text, start=0.0, each=0.4, **changed):
    """A segment of words of 0.4 s each."""
    words = [
        Word(
            start=round((start + each * n) * RATE),
            end=round((start + each * (n + 1)) * RATE),
            text=f" {word}",
            probability=0.9,
        )
        for n, word in enumerate(text.split())
    ]
    given_values = {"avg_logprob": -0.2, "no_speech_prob": 0.01} | changed
    return Segment(
        start=words[0].start, end=words[-1].end, text=f" {text}", words=tuple(words), **given_values
    )


def span(start, end):
    return Span(start=round(start * RATE), end=round(end * RATE))


@pytest.mark.parametrize(
    "text",
    [
        STORY,
        "No, no, no. Never, never, never, said the fox.",
        "Row, row, row your boat down the stream. Merrily, merrily, merrily, merrily, life is sleep.",
        "Tomorrow, and tomorrow, and tomorrow, creeps in this petty pace from day to day",
        "",
    ],
)
def test_told_repetition_is_no_loop(text):
    assert not loops.looping([said(text)] if text else [])


@pytest.mark.parametrize(
    "text",
    [
        "you " * 40,
        STORY + " I'm not a fan of the music." * 5,
        " ".join(["and then the fox said to the crow that the cheese was his"] * 5),
        "谢谢观看" * 10,
    ],
)
def test_what_goes_round_and_round_is_a_loop(text):
    assert loops.looping([said(text)])


def test_equal_cues_in_a_row_are_a_loop():
    assert loops.looping([said("Thank you.", start=n) for n in range(4)])
    assert not loops.looping([said("Thank you.", start=n) for n in range(3)])


def test_long_true_text_does_not_pack_too_well_only_by_its_length():
    chance = random.Random(1)
    words = STORY.split()
    text = " ".join(chance.choice(words) for _ in range(1500))
    assert not loops.looping([said(text)])


def test_pace():
    assert pace.too_fast([said("word " * 70)], 10 * RATE)
    assert not pace.too_fast([said("word " * 50)], 10 * RATE)
    assert pace.too_slow([said("one two")], 10 * RATE)
    assert not pace.too_slow([said("one two three four")], 10 * RATE)
    assert not pace.too_slow([], 3 * RATE)
    assert not pace.too_fast([said("的" * 100)], 10 * RATE, spaced=False)


def test_coverage_is_speech_with_words_of_all_speech():
    segments = [said("one two three four five", start=0), said("one two three four five", start=10)]
    assert coverage.coverage(segments, [span(0, 2), span(10, 12)]) == 1.0
    assert coverage.coverage(segments, [span(0, 2), span(10, 14), span(20, 26)]) == pytest.approx(4 / 12)
    assert coverage.coverage([], []) == 1.0
    assert coverage.low([], [span(0, 4)])
    assert not coverage.low([], [span(0, 2)])


def test_one_lost_sentence_shows_however_much_else_was_heard():
    speech = [span(0, 100), span(101, 106), span(107, 200)]
    before, after = said("word " * 250, start=0), said("word " * 230, start=107)
    assert coverage.coverage([before, after], speech) > 0.95
    assert coverage.longest_hole([before, after], speech) == 5 * RATE
    assert coverage.low([before, after], speech)
    assert not coverage.low([before, said("so it went on", start=102), after], speech)
    assert coverage.longest_hole([], []) == 0
    assert coverage.longest_hole([after], speech) == 105 * RATE
    assert coverage.longest_hole([before], speech) == 98 * RATE


def test_a_pause_within_a_sentence_is_no_lost_one():
    segments = [said("one two", start=0), said("three four", start=1.6)]
    assert coverage.coverage(segments, [span(0, 2.4)]) == 1.0


def test_without_words_segments_count():
    plain = Segment(start=0, end=5 * RATE, text=" all of it", avg_logprob=-0.1, no_speech_prob=0.0)
    assert coverage.coverage([plain], [span(0, 10)]) == 0.5


def test_text_over_silence_is_left_out_and_text_at_its_edge_is_kept():
    speech = [span(10, 14)]
    segments = [said("Thank you.", start=2), said("it was night", start=9.7), said("Subtitles by", start=20)]
    assert [s.text for s in silence.without_invented(segments, speech)] == [" it was night"]
    assert silence.without_invented(segments, []) == []


def test_invented_words_at_the_end_of_a_true_segment_are_cut_off():
    segment = said("one two three four five six seven eight", start=0, each=1.0)
    (kept,) = silence.without_invented([segment], [span(0, 3.9)])
    assert kept.text == " one two three four"
    assert kept.end == 4 * RATE


def test_what_the_model_doubts_twice_is_left_out():
    doubted = said("music", no_speech_prob=0.9, avg_logprob=-1.4)
    once = said("music", no_speech_prob=0.9, avg_logprob=-0.4)
    assert silence.without_invented([doubted], [span(0, 5)]) == []
    assert silence.without_invented([once], [span(0, 5)]) == [once]


def test_a_first_word_begun_in_the_silence_before_it_is_moved_to_its_speech():
    early = Word(start=2 * RATE, end=12 * RATE + 4000, text=" Once", probability=0.8)
    segment = Segment(
        start=early.start, end=early.end, text=" Once", avg_logprob=0, no_speech_prob=0, words=(early,)
    )
    (mended,) = times.repaired([segment], [span(12, 20)], 30 * RATE)
    assert mended.words[0].start == mended.start == 12 * RATE
    kept = policy.judge([segment], [span(12, 20)], 30 * RATE).segments
    assert [s.text for s in kept] == [" Once"]


def test_two_words_wholly_in_the_silence_before_their_speech_are_moved_and_three_are_no_slip():
    def heard(early):
        return said("we have nothing for ourselves", start=24 - 0.4 * early - 2.5)

    words = list(heard(0).words)
    slipped = [
        Word(start=w.start - 3 * RATE, end=w.end - 3 * RATE, text=w.text, probability=0.9) for w in words
    ]
    for early, kept in ((1, 5), (2, 5), (3, 2)):
        mixed = tuple(
            slipped[:early]
            + [
                Word(start=w.start + 5 * RATE // 2, end=w.end + 5 * RATE // 2, text=w.text, probability=0.9)
                for w in words[early:]
            ]
        )
        segment = Segment(start=0, end=1, text=" x", avg_logprob=0, no_speech_prob=0, words=mixed)
        judged = policy.judge([segment], [span(0, 12), span(24 + 0.4 * early, 40)], 40 * RATE)
        assert sum(len(s.words) for s in judged.segments) == kept
        assert judged.segments[0].words[0].start >= 24 * RATE


def test_times_after_the_end_are_clamped_and_crossed_ones_put_right():
    words = (
        Word(start=RATE, end=RATE // 2, text=" a", probability=1),
        Word(start=RATE // 4, end=9 * RATE, text=" b", probability=1),
        Word(start=7 * RATE, end=8 * RATE, text=" c", probability=1),
    )
    segment = Segment(start=0, end=9 * RATE, text=" a b c", avg_logprob=0, no_speech_prob=0, words=words)
    (mended,) = times.repaired([segment], [], 5 * RATE)
    places = [(w.start, w.end) for w in mended.words]
    assert places[0] == (RATE, RATE + times.SHORTEST)
    assert places[-1][1] <= 5 * RATE


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), max_size=5), max_size=8),
    st.integers(1, 10**6),
)
def test_repaired_times_never_go_back_and_stay_within_the_part(places, samples):
    segments = [
        Segment(
            start=0,
            end=10**6,
            text=" x",
            avg_logprob=0,
            no_speech_prob=0,
            words=tuple(Word(start=a, end=b, text=" x", probability=1) for a, b in words),
        )
        for words in places
    ]
    mended = times.repaired(segments, [Span(start=1000, end=2000)], samples)
    words = [word for segment in mended for word in segment.words]
    assert [len(s.words) for s in mended] == [len(s.words) for s in segments]
    for before, after in pairwise(words):
        assert before.end <= after.start
    starts = [segment.start for segment in mended]
    assert starts == sorted(starts)
    assert all(0 <= s.start <= s.end <= max(samples, 0) for s in mended)
    if len(words) * times.SHORTEST <= samples:
        assert all(word.end - word.start >= times.SHORTEST for word in words)


def test_repairing_what_is_right_changes_nothing():
    segments = [said(STORY), said(STORY, start=60)]
    assert times.repaired(segments, [span(0, 120)], 120 * RATE) == segments


def test_an_intro_in_another_language_is_outvoted():
    votes = [
        {"en": 0.99, "de": 0.01},
        {"de": 0.97, "en": 0.03},
        {"de": 0.9, "en": 0.1},
        {"de": 0.99, "en": 0.01},
    ]
    assert language.vote(votes) == language.Vote(language="de", share=0.718, sure=True)
    assert language.vote(votes, prior="de").sure


def test_music_and_silence_have_no_vote():
    assert language.vote([{}, {}, {"fr": 0.9, "en": 0.1}]).language == "fr"
    assert language.vote([{}, {}], prior="fr") == language.Vote(language="fr", share=1.0, sure=False)
    assert language.vote([]) == language.Vote(language="en", share=0.0, sure=False)


def test_samples_that_disagree_are_unsure_until_the_metadata_decide():
    votes = [{"no": 0.55, "da": 0.45}, {"da": 0.52, "no": 0.48}]
    assert not language.vote(votes).sure
    assert language.vote(votes, prior="da") == language.Vote(language="da", share=0.985, sure=True)


def test_wrong_metadata_are_overruled_by_clear_samples_only():
    assert language.vote([{"de": 0.99, "en": 0.01}] * 4, prior="en") == language.Vote(
        language="de", share=0.99, sure=True
    )
    assert language.vote([{"de": 0.6, "en": 0.4}] * 4, prior="en").language == "en"


def test_the_better_of_two_hearings():
    good = policy.Judged(segments=(), faults=(), coverage=0.9)
    loop = policy.Judged(segments=(), faults=("loop",), coverage=0.95)
    low = policy.Judged(segments=(), faults=("low_coverage",), coverage=0.4)
    lower = policy.Judged(segments=(), faults=("low_coverage",), coverage=0.3)
    assert policy.better(loop, good) is good
    assert policy.better(good, loop) is good
    assert policy.better(low, lower) is low
    assert policy.better(loop, low) is low
    assert policy.better(low, low) is low


def test_judging_a_plain_part_finds_no_fault():
    judged = policy.judge([said(STORY)], [span(0, 35)], 45 * RATE)
    assert judged.faults == ()
    assert judged.segments == (said(STORY),)


def test_judging_names_loops_and_lost_sentences():
    assert policy.judge([said("you " * 60)], [span(0, 24)], 30 * RATE).faults == ("loop",)
    assert policy.judge([said(STORY)], [span(0, 120)], 130 * RATE).faults == ("low_coverage",)
    assert policy.judge([], [], 30 * RATE).faults == ()
