"""Transcripts on the page: the API’s shapes, list, search and reader, and what is said without an engine."""

import hashlib
from collections.abc import AsyncIterator
from html import unescape
from typing import Any

import pytest

from bridge_agent.page import views_reader, views_speech
from bridge_agent.transcription.assembly.transcript import Gap
from bridge_agent.transcription.transcripts import open_transcripts
from tests.fakes import speech
from tests.fakes.rooms import SERVER_ID
from tests.unit.page.conftest import MakePage, Page
from tests.unit.page.test_pages import NASTY, show, words_of


@pytest.fixture
async def library(make_page: MakePage) -> AsyncIterator[Page]:
    """Return a page with two kept transcripts, the older one about soup."""
    page = await make_page(opened=False)
    parts = page.house.parts
    parts.transcripts = await open_transcripts(parts.settings.data_dir, page.clock)
    parts.speech = speech.speech()
    parts.open()
    soup = speech.book([("The Pot", "They made soup of a stone.")], title="Stone Soup", author="Folk Tales")
    await speech.keep(parts.transcripts, soup, "Folk Tales/Stone Soup")
    await speech.keep(parts.transcripts, speech.book())
    yield page
    await parts.transcripts.close()


async def get(page: Page, path: str, status: int = 200) -> Any:
    answer = await page.client.get(path)
    assert answer.status == status, await answer.text()
    return await answer.json()


# ---- the API


async def test_the_list_is_newest_first_and_goes_on_by_its_cursor(library: Page):
    first = await get(library, "/api/transcripts?limit=1")
    assert set(first) == {"transcripts", "next_before"}
    assert [one["title"] for one in first["transcripts"]] == ["Three Fables"]
    rest = await get(library, f"/api/transcripts?limit=1&before={first['next_before']}")
    assert [one["title"] for one in rest["transcripts"]] == ["Stone Soup"]
    assert rest["next_before"] is None


async def test_the_list_is_narrowed_by_title_author_and_path(library: Page):
    found = await get(library, "/api/transcripts?q=tales+stone")
    assert [one["title"] for one in found["transcripts"]] == ["Stone Soup"]
    assert (await get(library, "/api/transcripts?q=submarine"))["transcripts"] == []


async def test_one_transcript_is_its_entry_of_the_list(library: Page):
    listed = (await get(library, "/api/transcripts"))["transcripts"]
    one = await get(library, f"/api/transcripts/{listed[0]['id']}")
    assert one == listed[0]
    assert one["engine"] == {"name": "scripted", "model": "base", "device": "cpu", "compute_type": "int8"}
    for missing in ("/api/transcripts/99", "/api/transcripts/x", "/api/transcripts/99/transcript.txt"):
        assert (await get(library, missing, 404))["error"]["code"] == "not_found"
    name = await get(library, f"/api/transcripts/{one['id']}/other.txt", 404)
    assert name["error"]["code"] == "not_found"


async def test_a_file_is_downloaded_and_never_shown_as_a_page(library: Page):
    kept = (await get(library, "/api/transcripts"))["transcripts"][0]
    for artifact in kept["artifacts"]:
        path = f"/api/transcripts/{kept['id']}/{artifact['name']}"
        answer = await library.client.get(path)
        raw = await answer.read()
        assert hashlib.sha256(raw).hexdigest() == artifact["sha256"]
        assert answer.headers["ETag"] == f'"{artifact["sha256"]}"'
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Content-Disposition"].startswith(f'attachment; filename="{artifact["name"]}"')
        assert answer.content_type == artifact["content_type"]
        again = await library.client.get(path, headers={"If-None-Match": answer.headers["ETag"]})
        assert (again.status, await again.read()) == (304, b"")
        head = await library.client.head(path)
        assert (head.status, head.content_length) == (200, artifact["size_bytes"])
    assert "filename*=UTF-8''Three%20Fables" in answer.headers["Content-Disposition"]


async def test_a_damaged_file_is_told_as_that(library: Page):
    kept = (await get(library, "/api/transcripts"))["transcripts"][0]
    folder = library.house.parts.settings.data_dir / "transcripts"
    for path in folder.glob("*/transcript.json"):
        path.write_text("{}")
    error = (await get(library, f"/api/transcripts/{kept['id']}/transcript.json", 410))["error"]
    assert error["code"] == "transcript_damaged"
    answer = await library.client.get(f"/transcripts/{kept['id']}")
    assert answer.status == 410
    assert "transcribe the book again" in words_of(await answer.text())


async def test_a_search_answers_hits_with_their_place_and_a_marked_snippet(library: Page):
    found = await get(library, "/api/search?q=bridge&limit=1")
    (hit,) = found["hits"]
    assert set(hit) == {"transcript_id", "title", "author", "chapter", "start", "snippet"}
    assert (hit["title"], hit["author"]) == ("Three Fables", "Aesop")
    assert hit["chapter"] == "The Tortoise and the Hare"
    assert "<mark>bridge</mark>" in hit["snippet"]
    rest = await get(library, f"/api/search?q=bridge&limit=1&after={found['next_after']}")
    assert [one["chapter"] for one in rest["hits"]] == ["The Fox and the Grapes"]
    assert rest["next_after"] is None
    assert (await get(library, "/api/search"))["hits"] == []
    assert (await get(library, "/api/search?q=a&after=zzz", 400))["error"]["code"] == "bad_cursor"


async def test_a_bridge_that_keeps_no_transcripts_answers_with_none(served: Page):
    assert await get(served, "/api/transcripts") == {"transcripts": [], "next_before": None}
    assert await get(served, "/api/search?q=bridge") == {"hits": [], "next_after": None}
    await get(served, "/api/transcripts/1", 404)


# ---- the list and the search


async def test_the_page_lists_what_is_kept(library: Page):
    text = words_of(await show(library, "/transcripts"))
    assert "2 transcripts to read and to search." in text
    assert text.index("Three Fables") < text.index("Stone Soup")
    assert "Aesop · " in text
    assert "English" in text


async def test_the_page_finds_words_in_all_books_and_leads_to_the_place(library: Page):
    html = await show(library, "/transcripts?q=bridge")
    text = words_of(html)
    assert "“bridge” is said in 1 book." in text
    assert "2 places, by book and in reading order." in text
    assert "<mark>bridge</mark>" in html
    link = unescape(html.partition('<ol class="places">')[2].partition('href="')[2].partition('"')[0])
    assert link.endswith("#here")
    place = await show(library, "/" + link.removeprefix("./").partition("#")[0])
    assert '<span id="here"></span>' in place
    assert 'class="hit" id="hit-1"' in place


async def test_a_book_is_found_by_its_title_though_nobody_says_it(library: Page):
    text = words_of(await show(library, "/transcripts?q=Folk"))
    assert "“Folk” is never said." in text
    assert "1 book is named like that." in text
    assert "Stone Soup" in text


async def test_nothing_found_says_what_to_try(library: Page):
    text = words_of(await show(library, "/transcripts?q=submarine"))
    assert "“submarine” is never said." in text
    assert "Try fewer words" in text


async def test_what_is_typed_is_never_taken_for_html(library: Page):
    transcripts = library.house.parts.transcripts
    assert transcripts is not None
    kept = await speech.keep(
        transcripts, speech.book([(NASTY, f"Say {NASTY}? now.")], title=NASTY, author=NASTY), f"x/{NASTY}"
    )
    for path in ("/transcripts", f"/transcripts/{kept.id}", f"/transcripts/{kept.id}?q=script"):
        html = await show(library, path)
        assert "<script>alert" not in html
        assert "<img src=x" not in html
    for path in ("/transcripts", f"/transcripts/{kept.id}"):
        answer = await library.client.get(path, params={"q": NASTY})
        html = await answer.text()
        assert "<script>alert" not in html
        assert "<img src=x" not in html


async def test_without_an_engine_the_page_says_how_to_install_one(
    served: Page, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(views_speech, "find_spec", lambda name: None)
    for path in ("/transcripts", "/settings"):
        text = words_of(await show(served, path))
        assert "No speech engine is installed here" in text
        assert "pip install 'audiobook-bridge-agent[speech]'" in text
    assert "No transcript yet." in words_of(await show(served, "/transcripts"))


async def test_another_reason_for_no_engine_is_told_without_a_command(library: Page):
    why = "BRIDGE_SPEECH_PROCESSES is 0: this machine leaves all speech to workers; invite one."
    library.house.parts.speech = speech.speech(engines=speech.FakeEngines(why=why))
    text = words_of(await show(library, "/transcripts"))
    assert "leaves all speech to workers. Invite one." in text
    assert "pip install" not in text


# ---- the reader


async def test_the_reader_shows_chapters_times_and_unsure_words(library: Page):
    html = await show(library, "/transcripts/2")
    text = words_of(html)
    assert "The Tortoise and the Hare" in text
    assert '<span class="unsure" title="41 % sure">fell</span>' in html
    assert 'lang="en"' in html
    assert 'href="#chapter-1"' in html
    for name in ("txt", "vtt", "srt", "json"):
        assert f"api/transcripts/2/transcript.{name}" in html


async def test_find_marks_each_place_and_leads_from_one_to_the_next(library: Page):
    html = await show(library, "/transcripts/2?q=bridge")
    assert "2 places" in words_of(html)
    assert 'id="hit-1" href="#hit-2"' in html
    assert 'id="hit-2" href="#hit-1"' in html
    assert html.count('class="hit"') == 2
    assert "Not said in this book." in words_of(await show(library, "/transcripts/2?q=submarine"))


async def test_a_gap_and_warnings_stand_where_they_matter(library: Page):
    transcripts = library.house.parts.transcripts
    assert transcripts is not None
    kept = await speech.keep(
        transcripts,
        speech.book(gaps=[Gap(start=4.0, end=6.0, reason="damaged")]),
        "Aesop/Other",
        warnings=("1 of 41 files could not be read; the rest is transcribed.",),
    )
    text = words_of(await show(library, f"/transcripts/{kept.id}"))
    assert "[Missing from 0:04 to 0:06: the audio is damaged.]" in text
    assert "1 of 41 files could not be read" in text
    assert "1 gap" in text


async def test_a_long_book_is_shown_a_chapter_a_page(library: Page, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(views_reader, "WHOLE_WORDS", 20)
    first = await show(library, "/transcripts/2")
    assert "A hare never tired" in words_of(first)
    assert "They are surely sour" not in words_of(first)
    assert 'href="?chapter=1#chapter-1"' in first
    second = words_of(await show(library, "/transcripts/2?chapter=1"))
    assert "They are surely sour" in second
    assert "A hare never tired" not in second
    found = await show(library, "/transcripts/2?q=bridge")
    assert "2 places" in words_of(found)
    assert 'id="hit-1" href="?q=bridge&amp;chapter=1#hit-2"' in found
    by_place = words_of(await show(library, "/transcripts/2?at=99"))
    assert "They are surely sour" in by_place


@pytest.mark.parametrize("query", ["at=x", "at=-1", "at=nan", "at=1e99", "chapter=77", "q=%00", "q=*"])
async def test_odd_questions_to_the_reader_show_the_book(library: Page, query: str):
    assert "A hare never tired" in words_of(await show(library, f"/transcripts/2?{query}"))


async def test_a_book_leads_to_its_newest_transcript(library: Page):
    answer = await library.client.get(
        "/transcripts/book?library=1&path=Aesop/Three+Fables", allow_redirects=False
    )
    assert (answer.status, answer.headers["Location"]) == (303, "../transcripts/2")
    other = await library.client.get(
        "/transcripts/book?library=2&path=Aesop/Three+Fables", allow_redirects=False
    )
    assert other.headers["Location"] == "../transcripts"


# ---- a book under way


async def test_a_book_under_way_shows_figures_and_the_words_as_they_are_heard(library: Page):
    house = library.house
    house.pair()
    pipeline = speech.FakePipeline()
    pipeline.book(f"{SERVER_ID}/5", at_work={"this computer": 2, "games-room": 1})
    house.parts.speech = speech.speech(pipeline)
    house.job(5, "running", kind="transcribe.book", path="Jules Verne/Nautilus")
    for path in ("/", f"/jobs/{SERVER_ID}/5"):
        text = words_of(await show(library, path))
        for figure in ("62 %", "10 h 02 of 16 h 10", "21 times real time", "about 18 minutes left"):
            assert figure in text
        assert "2 here, 1 at games-room" in text
        assert "unable to say what swam there." in text


async def test_before_anything_is_known_places_for_the_figures_are_kept(library: Page):
    house = library.house
    house.pair()
    pipeline = speech.FakePipeline()
    pipeline.book(f"{SERVER_ID}/5", done_seconds=0.0, speed=0.0, left_seconds=None, words="")
    house.parts.speech = speech.speech(pipeline)
    house.job(5, "running", kind="transcribe.book")
    text = words_of(await show(library))
    assert "speed and time left in a moment" in text
    assert "The words appear here as they are heard." in text


async def test_a_model_that_comes_in_has_a_bar(library: Page):
    house = library.house
    house.pair()
    house.parts.speech = speech.speech(models=speech.FakeModels({"small": (121_000_000, 484_000_000)}))
    house.job(5, "running", kind="transcribe.book", progress={"step": "probe", "message": "Downloading"})
    for path in ("/", "/transcripts", "/settings"):
        html = await show(library, path)
        assert "Downloading the speech model “small”, once" in words_of(html)
        assert "25 %" in words_of(html)
        assert 'value="121000000" max="484000000"' in html


async def test_settings_show_what_hears(library: Page):
    engines = speech.FakeEngines(
        engines=[
            {
                "name": "faster-whisper",
                "version": "1.1",
                "model": "base",
                "device": "cpu",
                "compute_type": "int8",
            }
        ],
        children=[{"pid": 7, "state": "busy", "parts": 3, "memory": 400_000_000}],
        notes=["cuda did not work: no driver."],
    )
    library.house.parts.speech = speech.speech(engines=engines)
    text = words_of(await show(library, "/settings"))
    for said in (
        "faster-whisper 1.1",
        "base",
        "cpu, int8",
        "2, 1 started, 1 at work",
        "400.0 MB",
        "no driver",
    ):
        assert said in text


async def test_a_transcription_that_is_done_leads_to_its_transcript(library: Page):
    house = library.house
    house.pair()
    result = {"path": "Aesop/Three Fables", "duration_seconds": 115, "seconds_spent": 9, "words": 340}
    house.job(5, "done", kind="transcribe.book", result=result)
    house.job(6, "done", kind="transcribe.book", result={**result, "seconds_spent": 0, "gaps_total": 2})
    html = await show(library)
    text = words_of(html)
    assert "Transcribed: 1 min 55 in 9 s, 340 words." in text
    assert "Transcribed: 1 min 55, from what was there already, 340 words, 2 gaps." in text
    assert "/transcripts/book?library=1&amp;path=Aesop%2FThree+Fables" in html


async def test_news_of_a_book_reach_open_pages(library: Page):
    pipeline = speech.FakePipeline()
    parts = library.house.parts
    parts.speech = speech.speech(pipeline)
    from bridge_agent.page.api import LIVE

    live = library.client.server.app[LIVE]  # type: ignore[attr-defined]
    await live.stop()
    live.start()
    assert pipeline.on_change == live.changed


# ---- the words of one paragraph


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("“bridge,”", ("“", "bridge", ",”")),
        ("don’t", ("", "don’t", "")),
        ("…", ("", "…", "")),
        ("", ("", "", "")),
    ],
)
def test_a_word_is_parted_from_its_signs(text: str, parts: tuple[str, str, str]):
    assert views_reader.parted(text) == parts


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (20, "less than a minute left"),
        (60, "about 1 minute left"),
        (1080, "about 18 minutes left"),
        (7500, "about 2 h 05 left"),
    ],
)
def test_time_left_is_said_as_people_say_it(seconds: float, words: str):
    assert views_speech.time_left(seconds) == words


def test_the_last_words_begin_with_a_whole_one():
    heard = views_speech.tail("word " * 100)
    assert heard.startswith("…word ")
    assert views_speech.tail("京" * 400) == "…" + "京" * 170
