"""The reader's view: chapters, paragraphs, unsure words, gaps in their place, and where a text stands."""

from bridge_agent.transcription.assembly import transcript
from bridge_agent.transcription.model import RATE, Damage
from bridge_agent.transcription.transcripts import reader
from tests.unit.transcription_assembly.books import chapter, plan, result, segment, words
from tests.unit.transcription_transcripts.rig import made


def test_words_have_times_and_the_unsure_ones_a_mark():
    book = plan(10)
    said = [*words("sure", 1, probability=0.6), *words("unsure.", 2, probability=0.599)]
    shown = reader.chapters(transcript(book, {0: result(0, segment(said), flags=("loop",))}, "B", "A"))
    paragraph = shown[0].paragraphs[0]
    assert [(w.text, w.space, w.start, w.end, w.unsure) for w in paragraph.words] == [
        ("sure", False, 1.0, 1.4, False),
        ("unsure.", True, 2.0, 2.4, True),
    ]
    assert paragraph.flags == ("loop",)


def test_words_without_times_are_never_unsure_and_still_placed():
    shown = reader.chapters(made("One two.", word_timestamps=False))
    said = shown[0].paragraphs[0].words
    assert [(w.text, w.probability, w.unsure) for w in said] == [("One", None, False), ("two.", None, False)]
    assert 0.0 == said[0].start < said[1].start < said[1].end == 0.8


def test_chapters_hold_their_own_words_and_gaps_stand_between_them():
    book = plan(
        60,
        chapters=[chapter("One", 0, 30), chapter("Two", 30, 60)],
        gaps=[Damage(start=10 * RATE, end=12 * RATE, reason="damaged")],
    )
    results = {
        0: result(0, segment(words("Before.", 1)), segment(words("After.", 20)), segment(words("Next.", 40)))
    }
    shown = reader.chapters(transcript(book, results, "B", "A"))
    assert [c.title for c in shown] == ["One", "Two"]
    before, gap, after = shown[0].blocks
    assert (before.words[0].text, after.words[0].text) == ("Before.", "After.")
    assert (gap.start, gap.end, gap.reason) == (10.0, 12.0, "damaged")
    assert gap.sentence == "[Missing from 0:10 to 0:12: the audio is damaged.]"
    assert [p.number for p in shown[0].paragraphs] == [0, 1]
    assert shown[1].paragraphs[0].words[0].text == "Next."


def test_a_text_is_found_wherever_it_stands():
    shown = reader.chapters(made("The old bridge, the OLD bridges.", "An óld mill."))
    assert [(p.first, p.last, p.start) for p in reader.find(shown, '"old bridge*"')] == [
        (1, 2, 0.4),
        (4, 5, 1.6),
    ]
    assert [p.first for p in reader.find(shown, "old")] == [1, 4, 7]
    assert [p.first for p in reader.find(shown, "bridg")] == [2, 5]
    assert reader.find(shown, "mill bridges") == sorted(
        reader.find(shown, "mill") + reader.find(shown, "bridges"), key=lambda p: p.first
    )
    assert reader.find(shown, "") == []


def test_a_text_of_a_language_without_spaces_is_found_within_its_words():
    book = plan(10)
    said = [w for n, c in enumerate("東京タワー") for w in words(c, n)]
    shown = reader.chapters(transcript(book, {0: result(0, segment(said))}, "B", "A"))
    assert [(p.first, p.last) for p in reader.find(shown, "京タ")] == [(1, 2)]
