"""The transcript out of plan and results: order does not matter, times never go back, words belong once."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge_agent.transcription.assembly import transcript
from bridge_agent.transcription.assembly.transcript import FLAGS, to_ms
from bridge_agent.transcription.formats import json_bytes, read_json
from bridge_agent.transcription.model import RATE, Damage, Segment, Word
from tests.unit.transcription_assembly.books import (
    BASE,
    chapter,
    heard,
    plan,
    result,
    segment,
    words,
)


def said(found) -> str:
    return " ".join(each.text for each in found.segments)


def test_words_stand_on_the_line_of_the_whole_book():
    book = plan(10, 10, cuts=[[], [5]])
    found = transcript(book, {0: heard(0, "one"), 1: heard(1, "two"), 2: heard(2, "three", 1)}, "B", "A")
    assert [(s.id, s.file, s.start, s.end, s.text) for s in found.segments] == [
        (0, 0, 0.0, 0.4, "one"),
        (1, 1, 10.0, 10.4, "two"),
        (2, 1, 16.0, 16.4, "three"),
    ]
    assert [w.word for w in found.segments[0].words] == [" one"]
    assert [(f.path, f.start, f.duration) for f in found.files] == [
        ("01 File.mp3", 0.0, 10.0),
        ("02 File.mp3", 10.0, 10.0),
    ]
    assert found.duration == 20.0


def test_the_shape_is_the_wires_in_its_order():
    found = transcript(plan(3), {0: heard(0, "one")}, "Book", "Author")
    assert json_bytes(found) == (
        b'{"version":1,"title":"Book","author":"Author","language":"en","duration":3.0,'
        b'"engine":{"name":"scripted","model":"base","compute_type":"int8"},'
        b'"files":[{"path":"01 File.mp3","start":0.0,"duration":3.0}],'
        b'"chapters":[{"title":"Book","start":0.0,"end":3.0,"source":"folder"}],'
        b'"segments":[{"id":0,"file":0,"chapter":0,"start":0.0,"end":0.4,"text":"one","avg_logprob":-0.2,'
        b'"no_speech_prob":0.01,"flags":[],"words":[{"start":0.0,"end":0.4,"word":" one",'
        b'"probability":0.9}]}],'
        b'"gaps":[]}\n'
    )
    assert read_json(json_bytes(found)) == found


def test_the_order_of_results_changes_no_byte():
    book = plan(30, cuts=[[10, 20]])
    results = {n: heard(n, "some words here") for n in range(3)}
    turned = dict(reversed(list(results.items())))
    assert json_bytes(transcript(book, results, "B", "A")) == json_bytes(transcript(book, turned, "B", "A"))


def test_a_word_belongs_to_the_part_that_holds_its_middle():
    book = plan(20, cuts=[[10]], overlap=5)
    before = heard(0, "a b c d e f g", 8.0, 0.6)
    after = heard(1, "a b c d e f g", 3.0, 0.6)
    found = transcript(book, {0: before, 1: after}, "B", "A")
    assert said(found) == "a b c d e f g"
    assert [s.text for s in found.segments] == ["a b c", "d e f g"]


@pytest.mark.parametrize("jitter", [-0.3, -0.1, 0.1, 0.3])
def test_a_word_at_a_forced_cut_is_neither_lost_nor_doubled_when_both_sides_time_it_differently(jitter):
    book = plan(20, cuts=[[10]], overlap=5)
    before = heard(0, "a b c d e f g", 8.0, 0.6)
    after = heard(1, "a b c d e f g", 3.0 + jitter, 0.6)
    assert said(transcript(book, {0: before, 1: after}, "B", "A")) == "a b c d e f g"


def test_a_repeated_word_on_both_sides_of_a_forced_cut_stays_repeated():
    book = plan(20, cuts=[[10]], overlap=5)
    found = transcript(
        book,
        {0: heard(0, "no no no no no no", 8.5, 0.5), 1: heard(1, "no no no no no no", 3.5, 0.5)},
        "B",
        "A",
    )
    assert said(found) == "no no no no no no"


def test_words_that_end_past_a_part_are_kept_where_no_other_part_hears_them():
    book = plan(5)
    late = Word(start=5 * RATE, end=6 * RATE, text=" end", probability=1.0)
    found = transcript(book, {0: result(0, segment([late]))}, "B", "A")
    assert [(s.start, s.end, s.text) for s in found.segments] == [(5.0, 5.0, "end")]


def test_a_part_without_a_result_is_a_gap_beside_the_damage_of_the_plan():
    book = plan(30, cuts=[[10, 20]], gaps=[Damage(start=RATE, end=2 * RATE, reason="damaged")])
    found = transcript(book, {0: heard(0, "one")}, "B", "A")
    assert [(g.start, g.end, g.reason) for g in found.gaps] == [
        (1.0, 2.0, "damaged"),
        (10.0, 30.0, "failed"),
    ]


def test_failed_parts_of_two_files_are_two_gaps():
    found = transcript(plan(10, 10), {}, "B", "A")
    assert [(g.start, g.end) for g in found.gaps] == [(0.0, 10.0), (10.0, 20.0)]
    assert found.segments == ()
    assert found.language is None


def test_switched_off_words_are_left_out_but_still_cut_by():
    book = plan(20, cuts=[[10]], overlap=5, word_timestamps=False)
    found = transcript(book, {0: heard(0, "a b c d", 9.0, 0.6), 1: heard(1, "a b c d", 4.0, 0.6)}, "B", "A")
    assert said(found) == "a b c d"
    assert all(s.words == () for s in found.segments)


def test_segments_that_were_never_timed_by_word_are_shared_out_at_a_forced_cut():
    book = plan(20, cuts=[[10]], overlap=5, word_timestamps=False)

    def bare(start):
        text = "aaaa bbbb cccc dddd"
        return Segment(
            start=int(start * RATE),
            end=int((start + 4) * RATE),
            text=text,
            avg_logprob=0,
            no_speech_prob=0,
        )

    found = transcript(book, {0: result(0, bare(8)), 1: result(1, bare(3))}, "B", "A")
    assert said(found) == "aaaa bbbb cccc dddd"


def test_a_segment_across_a_chapter_is_parted_there_and_keeps_its_figures():
    book = plan(10, chapters=[chapter("One", 0, 2), chapter("Two", 2, 10)])
    found = transcript(book, {0: heard(0, "a b c d e f g h", flags=("loop",))}, "B", "A")
    assert [(s.chapter, s.text, s.avg_logprob, s.flags) for s in found.segments] == [
        (0, "a b c d e", -0.2, ("loop",)),
        (1, "f g h", -0.2, ("loop",)),
    ]


def test_figures_are_rounded_and_odd_ones_are_none():
    odd = segment(words("hm"), avg_logprob=float("nan"), no_speech_prob=0.12345)
    found = transcript(plan(3), {0: result(0, odd)}, "B", "A").segments[0]
    assert (found.avg_logprob, found.no_speech_prob) == (0.0, 0.123)


def test_only_known_flags_are_written_in_one_order():
    found = transcript(plan(3), {0: heard(0, "a", flags=("loop", "what", "rerun"))}, "B", "A")
    assert found.segments[0].flags == ("rerun", "loop")


def test_the_language_is_the_one_of_most_speech_unless_it_was_asked_for():
    results = {
        0: heard(0, "a", language="de", speech_samples=10),
        1: heard(1, "b", language="en", speech_samples=900),
        2: heard(2, "c", language="de", speech_samples=10),
    }
    cuts = [[10, 20]]
    assert transcript(plan(30, cuts=cuts), results, "B", "A").language == "en"
    assert transcript(plan(30, cuts=cuts, language="fr"), results, "B", "A").language == "fr"


def test_parts_that_another_device_heard_are_listed_and_another_model_is_flagged():
    other = msgspec.structs.replace(BASE, device="cuda", compute_type="float16")
    small = msgspec.structs.replace(BASE, model="small")
    results = {
        0: heard(0, "a"),
        1: heard(1, "b", engine=other),
        2: heard(2, "c", engine=other),
        3: heard(3, "d", engine=small),
        4: heard(4, "e"),
        5: heard(5, "f"),
    }
    found = transcript(plan(60, cuts=[[10, 20, 30, 40, 50]]), results, "B", "A")
    assert found.engine.model == "base"
    listed = [(p.start, p.end, p.device, p.compute_type, p.model) for p in found.engine.parts]
    assert listed == [(10.0, 30.0, "cuda", "float16", "base"), (30.0, 40.0, "cpu", "int8", "small")]
    assert [s.flags for s in found.segments] == [(), (), (), ("other_settings",), (), ()]


def test_a_title_that_utf8_cannot_hold_is_still_written():
    found = transcript(plan(3), {}, "B\udcff\n", "A")
    assert read_json(json_bytes(found)).title.startswith("B")


def test_samples_are_rounded_once_halves_up():
    assert [to_ms(samples) for samples in (0, 7, 8, 23, 24, 16_000)] == [0, 0, 1, 1, 2, 1000]
    # Ten hours of thirds of a second add nothing up: the place follows from the sample alone.
    assert to_ms(576_000_005) == 36_000_000


@st.composite
def books(draw):
    """Plans with forced and free cuts, and what careless engines say of them."""
    lengths = draw(st.lists(st.integers(0, 90), min_size=1, max_size=3))
    cuts = [sorted(draw(st.sets(st.integers(10, 80), max_size=3))) for _ in lengths]
    cuts = [[c for c in own if 5 < c < n - 5] for own, n in zip(cuts, lengths, strict=True)]
    book = plan(
        *lengths,
        cuts=cuts,
        overlap=draw(st.sampled_from([0, 5])),
        chapters=[chapter(f"C{n}", n * 20, n * 20 + draw(st.integers(0, 30))) for n in range(6)],
        word_timestamps=draw(st.booleans()),
    )
    times = st.integers(-RATE, 100 * RATE)
    results = {}
    for part in book.parts:
        segments = []
        for _ in range(draw(st.integers(0, 3))):
            own = [
                Word(
                    start=draw(times),
                    end=draw(times),
                    text=" w" + draw(st.sampled_from("abc")),
                    probability=0.5,
                )
                for _ in range(draw(st.integers(0, 4)))
            ]
            start = draw(times)
            segments.append(
                Segment(
                    start=start,
                    end=start + draw(st.integers(-10, 9 * RATE)),
                    text="".join(w.text for w in own) or draw(st.sampled_from(["", " ", "said so"])),
                    avg_logprob=-0.5,
                    no_speech_prob=0.1,
                    words=tuple(own),
                )
            )
        if draw(st.integers(0, 9)):
            results[part.number] = result(part.number, *segments)
    return book, results


@settings(max_examples=150, deadline=None)
@given(books(), st.randoms(use_true_random=False))
def test_whatever_engines_say_times_never_go_back_and_stay_in_their_file(given_book, chance):
    book, results = given_book
    found = transcript(book, results, "B", "A")
    shuffled = list(results.items())
    chance.shuffle(shuffled)
    assert json_bytes(found) == json_bytes(transcript(book, dict(shuffled), "B", "A"))
    last = 0.0
    for number, each in enumerate(found.segments):
        assert each.id == number
        file = found.files[each.file]
        assert file.start <= each.start <= each.end <= round(file.start + file.duration, 3)
        assert last <= each.start
        last = each.end
        inner = [time for word in each.words for time in (word.start, word.end)]
        assert inner == sorted(inner)
        assert not inner or (inner[0], inner[-1]) == (each.start, each.end)
        middle = (each.start + each.end) / 2
        holding = [n for n, c in enumerate(found.chapters) if c.start <= middle < c.end]
        assert each.chapter == (holding[0] if holding else len(found.chapters) - 1)
        assert set(each.flags) <= set(FLAGS)
        assert each.text
    borders = [c.start for c in found.chapters] + [found.duration]
    assert [c.end for c in found.chapters] == borders[1:] or not book.samples


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from("abcdefgh"), min_size=2, max_size=40),
    st.integers(6, 14),
    st.floats(-0.15, 0.15),
)
def test_every_word_across_a_forced_cut_is_kept_exactly_once(texts, cut, jitter):
    each = 20.0 / len(texts)
    marked = [f"{text}{number}" for number, text in enumerate(texts)]
    book = plan(20, cuts=[[cut]], overlap=5)
    every = words(" ".join(marked), 0.0, each)

    def hear(part, shift):
        own = [w for w in every if part.start <= (w.start + w.end) / 2 < part.end]
        moved = round(shift * RATE) - part.start
        return result(
            part.number,
            segment([msgspec.structs.replace(w, start=w.start + moved, end=w.end + moved) for w in own]),
        )

    found = transcript(book, {0: hear(book.parts[0], 0.0), 1: hear(book.parts[1], jitter)}, "B", "A")
    assert said(found).split() == marked
