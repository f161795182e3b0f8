"""The search across all books: words, phrases, beginnings, pages, and hits that jump to the right place."""

import html
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bridge_agent.store.database import open_inline
from bridge_agent.transcription.assembly.result import ResultEngine
from bridge_agent.transcription.transcripts import BadCursor, Kept, Transcripts, rows
from bridge_agent.transcription.transcripts.fold import words
from bridge_agent.transcription.transcripts.query import Query, Term
from bridge_agent.transcription.transcripts.search import search
from bridge_agent.transcription.transcripts.stretches import stretches
from tests.fakes.clock import FakeClock
from tests.unit.transcription_transcripts.rig import chapter, facts, made

FABLE = (
    "A hare never tired of laughing at a tortoise because he walked so slowly.",
    "Let us have a race he said from this old gate to the bridge beside the mill.",
    "Slow and steady wins the race.",
)


def plain(hit) -> str:
    return html.unescape(re.sub("</?mark>", "", hit.wire()["snippet"]))


async def starts(transcripts, q: str) -> list[float]:
    return [hit.start for hit in (await transcripts.search(q)).hits]


async def test_a_hit_names_the_book_the_chapter_the_time_and_shows_the_words(transcripts):
    text = made(*FABLE, chapters=[chapter("The Hare", 0, 3), chapter("The Race", 3, 60)])
    kept = await transcripts.keep(text, facts(), "k1")
    found = (await transcripts.search("Bridge")).wire()
    assert found == {
        "hits": [
            {
                "transcript_id": kept.id,
                "title": "Three Fables",
                "author": "Aesop",
                "chapter": "The Race",
                "start": 6.2,
                "snippet": "Let us have a race he said from this old gate to the "
                "<mark>bridge</mark> beside the mill.",
            }
        ],
        "next_after": None,
    }


@pytest.mark.parametrize(
    ("q", "count"),
    [
        ("race", 2),
        ("old bridge", 1),
        ('"old bridge"', 0),
        ('"bridge beside the mill"', 1),
        ("“beside the mi*”", 1),
        ("tort*", 1),
        ("tort", 1),
        ("race steady", 1),
        ("hare steady", 0),
        ("RÁCE", 2),
        ("nothing", 0),
        ("", 0),
        ("*", 0),
    ],
)
async def test_words_phrases_and_beginnings_find_what_they_should(transcripts, q, count):
    await transcripts.keep(made(*FABLE), facts(), "k1")
    assert len((await transcripts.search(q)).hits) == count


async def test_a_phrase_across_two_stretches_is_one_hit_where_it_begins(transcripts):
    await transcripts.keep(made(*FABLE), facts(), "k1")
    assert await starts(transcripts, '"beside the mill slow and"') == [6.2]
    assert await starts(transcripts, '"the mill slow and steady wins the race"') == [6.2]
    assert await starts(transcripts, '"slow and steady"') == [13.6]


async def test_a_phrase_longer_than_what_is_indexed_is_checked_to_its_end(transcripts):
    await transcripts.keep(made(*FABLE), facts(), "k1")
    long = " ".join(FABLE).replace(".", "")
    assert await starts(transcripts, f'"{long}"') == [0.0]
    assert await starts(transcripts, f'"{long.replace("wins", "loses")}"') == []


async def test_words_that_cannot_be_told_from_markup_are_shown_as_they_are(transcripts):
    await transcripts.keep(made("We said <b>fish</b> & chips together today."), facts(), "k1")
    hit = (await transcripts.search("fish chips")).hits[0]
    assert hit.wire()["snippet"] == (
        "We said &lt;b&gt;<mark>fish</mark>&lt;/b&gt; &amp; <mark>chips</mark> together today."
    )
    assert "".join(text for text, _ in hit.pieces) == "We said <b>fish</b> & chips together today."


async def test_a_language_without_spaces_is_found_by_any_of_its_words(transcripts):
    text = made("昔々あるところにおじいさんが住んでいました。", "川へ洗濯に行きました。")
    await transcripts.keep(text, facts(), "k1")
    assert len((await transcripts.search("おじいさん")).hits) == 1
    assert len((await transcripts.search("洗濯")).hits) == 1
    assert (await transcripts.search("濯洗")).hits == ()
    assert "<mark>洗濯</mark>" in (await transcripts.search("洗濯")).hits[0].wire()["snippet"]


async def test_pages_go_on_where_the_last_one_ended_though_books_come_and_go(transcripts):
    for number in range(7):
        await transcripts.keep(made("The bridge.", title=f"Book {number}"), facts(), f"k{number}")
    seen, after = [], None
    while True:
        page = await transcripts.search("bridge", after, 2)
        seen += [hit.title for hit in page.hits]
        after = page.next_after
        if after is None:
            break
        if len(seen) == 2:
            await transcripts.keep(made("The bridge.", title="New"), facts(), "new")
            await transcripts.remove(4)
    assert seen == ["Book 6", "Book 5", "Book 4", "Book 2", "Book 1", "Book 0"]


async def test_pages_of_a_widened_search_go_on_as_beginnings(transcripts):
    for number in range(3):
        await transcripts.keep(made("The bridges fall."), facts(), f"k{number}")
    first = await transcripts.search("bridg", None, 2)
    assert len(first.hits) == 2
    assert len((await transcripts.search("bridg", first.next_after, 2)).hits) == 1


@pytest.mark.parametrize("after", ["", "!", "eA", "zzzz", "x" * 300, "é"])
async def test_a_cursor_that_was_never_given_is_refused_in_words(transcripts, after):
    with pytest.raises(BadCursor, match="search again"):
        await transcripts.search("bridge", after)


async def test_a_removed_book_is_found_no_more_and_leaves_no_word_behind(transcripts):
    kept = await transcripts.keep(made(*FABLE), facts(), "k1")
    other = await transcripts.keep(made("The race is on."), facts("Other"), "k2")
    assert await transcripts.remove(kept.id)
    assert [hit.transcript_id for hit in (await transcripts.search("race")).hits] == [other.id]
    assert (await transcripts.search("tort*")).hits == ()


async def test_a_transcript_made_anew_replaces_its_words(transcripts):
    first = await transcripts.keep(made("The fox spoke."), facts(), "k1")
    again = await transcripts.keep(made("The crow spoke."), facts(), "k1")
    assert first.id == again.id
    assert (await transcripts.search("fox")).hits == ()
    assert len((await transcripts.search("crow")).hits) == 1


def test_stretches_are_short_and_never_lie_in_two_chapters():
    text = made(
        *[f"word{n} and more words follow it" for n in range(60)],
        chapters=[chapter("One", 0, 31), chapter("Two", 31, 500)],
    )
    found = list(stretches(text))
    assert max(len(each.text.split()) for each in found) <= 28
    assert " ".join(each.text for each in found) == " ".join(s.text for s in text.segments)
    assert [each.start for each in found] == sorted(each.start for each in found)
    assert {each.chapter for each in found} == {0, 1}


@pytest.fixture
def inline(tmp_path):
    db = open_inline(tmp_path / "t.sqlite3", "bridge_agent.transcription.transcripts.schema")
    return Transcripts(db, tmp_path / "kept", FakeClock())


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=60) | st.text(st.sampled_from('ab "*()-^:NOTAND{}+“”\0\n'), max_size=40))
async def test_any_text_is_a_valid_query(inline, q):
    if not (await inline.list()).transcripts:
        await inline.keep(made(*FABLE), facts(), "k1")
    for hit in (await inline.search(q)).hits:
        assert "<mark>" in hit.wire()["snippet"]


_WORDS = st.sampled_from(["fox", "Föx", "crow", "crown", "a", "the", "bridge", "東京", "京"])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(_WORDS, min_size=1, max_size=40).map(" ".join), min_size=1, max_size=4),
    st.lists(_WORDS, min_size=1, max_size=3).map(" ".join),
)
async def test_a_phrase_is_found_exactly_where_it_begins(sentences, phrase):
    db = open_inline(":memory:", "bridge_agent.transcription.transcripts.schema")
    found = list(stretches(made(*sentences)))
    said = [(word, each.start / 1000) for each in found for word in words(each.text)]
    wanted = words(phrase)
    begins = {
        said[n][1] for n in range(len(said)) if [word for word, _ in said[n : n + len(wanted)]] == wanted
    }
    entry = Kept(engine=ResultEngine(name="", model="", device="", compute_type=""))
    await db.write(lambda c: rows.put(c, "folder", "key", entry, ["One"], found))
    hits = await db.read(lambda c: search(c, Query((Term(tuple(wanted)),)), None, 100))
    if begins:
        assert {hit.start for hit in hits.hits} == begins
    await db.write(lambda c: rows.remove(c, 1))
    assert await db.read(lambda c: c.execute("SELECT count(*) FROM vocabulary").fetchone()[0]) == 0
    again = await db.read(lambda c: search(c, Query((Term(tuple(wanted)),)), None, 100))
    assert again.hits == ()
    await db.close()
