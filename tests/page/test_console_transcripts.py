"""Transcriptions on the console: where the button is, what it asks for, what a book's page shows of one."""

import hashlib

import pytest

from bridge_agent.home.console.results import result_line
from tests.page.console_rig import OtherHalf

KINDS = ["bridge.verify", "transcribe.book"]
RESULT = {
    "library_id": 1,
    "path": "Aesop/Three Fables",
    "title": "Three Fables",
    "duration_seconds": 115.2,
    "seconds_spent": 9.4,
    "words": 340,
    "engine": {"name": "faster-whisper", "model": "base", "device": "cpu", "compute_type": "int8"},
    "gaps": [],
    "gaps_total": 0,
    "warnings": [],
}


@pytest.fixture
async def bridge(browser, home):
    other = await OtherHalf.paired(browser, home)
    await other.beat(kinds=KINDS, ui_url="http://study.lan:13380/")
    yield other
    await other.close()


@pytest.fixture
async def path(home) -> str:
    return (await home.library.books(1)).books[0].path


def page_of(path: str) -> str:
    return f"/libraries/1/book?path={path}"


async def test_the_button_is_there_where_the_bridge_transcribes_and_nowhere_else(browser, bridge, path):
    assert "Transcribe this book" in (await browser.get(page_of(path))).text
    assert "/libraries/1/transcribe" in (await browser.get("/libraries/1")).html
    await bridge.beat()
    assert "Transcribe" not in (await browser.get(page_of(path))).text
    assert "/libraries/1/transcribe" not in (await browser.get("/libraries/1")).html


async def test_a_press_queues_the_book_and_leads_to_its_job(browser, bridge, path):
    page = await browser.send("/libraries/1/transcribe", {"path": path})
    assert page.url.startswith("/jobs/1")
    assert "The job was queued" in page.text
    job = await bridge.claim()
    assert (job["kind"], job["path"], job["params"]) == ("transcribe.book", path, {})
    again = await browser.send("/libraries/1/transcribe", {"path": path})
    assert again.url.startswith("/jobs/1")
    assert "already asked for" in again.text


async def test_language_quality_and_model_are_passed_on(browser, bridge, path):
    wanted = {"path": path, "language": "de", "quality": "accurate", "model": "large-v3", "force": "1"}
    await browser.send("/libraries/1/transcribe", wanted)
    assert (await bridge.claim())["params"] == {
        "language": "de",
        "quality": "accurate",
        "model": "large-v3",
        "force": True,
    }


async def test_the_form_s_own_defaults_are_no_parameters(browser, bridge, path):
    await browser.send(
        "/libraries/1/transcribe", {"path": path, "language": "", "quality": "balanced", "model": " "}
    )
    assert (await bridge.claim())["params"] == {}


async def test_wrong_wishes_are_said_beside_the_form_and_kept(browser, bridge, path):
    page = await browser.send("/libraries/1/transcribe", {"path": path, "quality": "best", "model": "tiny"})
    assert page.status == 400
    assert "“quality” takes “balanced” or “accurate”" in page.text
    assert 'value="tiny"' in page.html


async def test_without_a_bridge_that_transcribes_a_press_says_so(browser, bridge, path):
    await bridge.beat()
    page = await browser.send("/libraries/1/transcribe", {"path": path})
    assert page.url.startswith("/libraries/1")
    assert "does not do this kind of job" in page.text


async def test_a_book_shows_its_transcript_with_its_files_and_where_to_read_it(browser, bridge, path):
    await browser.send("/libraries/1/transcribe", {"path": path})
    job = await bridge.claim()
    raw = b"A hare never tired of laughing.\n"
    name, kind = "transcript.txt", "text/plain"
    assert await bridge.hand_in(job, name, kind, raw, hashlib.sha256(raw).hexdigest()) == 200
    await bridge.report(job, "done", result=RESULT)
    page = await browser.get(page_of(path))
    assert "1 min 55 transcribed in 9.4 s · 340 words · model base" in page.text
    assert f"/api/v1/admin/bridge/jobs/{job['id']}/artifacts/{name}" in page.html
    assert "http://study.lan:13380/transcripts/book?library=1&amp;path=Aesop%2FThree+Fables" in page.html
    async with browser.session.get(f"/api/v1/admin/bridge/jobs/{job['id']}/artifacts/{name}") as answer:
        assert await answer.read() == raw
    assert "Do it anew" in page.text
    assert name in (await browser.get(f"/jobs/{job['id']}")).text


async def test_a_newer_attempt_that_failed_leaves_the_transcript_there_is(browser, bridge, path):
    for state in ("done", "failed"):
        await browser.send("/libraries/1/transcribe", {"path": path})
        job = await bridge.claim()
        await bridge.report(job, state, **({"result": RESULT} if state == "done" else {"error": "Broke."}))
    page = await browser.get(page_of(path))
    assert "1 min 55 transcribed" in page.text
    assert "Its files are kept by the Bridge" in page.text


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, "1 min 55 transcribed in 9.4 s · 340 words · model base"),
        ({"seconds_spent": 0}, "1 min 55 transcribed · the same as before, so nothing had to be done"),
        ({"gaps_total": 140, "gaps": [{}] * 100}, "140 gaps where nothing could be heard"),
        ({"gaps_total": None, "gaps": [{}]}, "1 gap where nothing could be heard"),
        (
            {"warnings": ["1 of 41 files could not be read; the rest is transcribed."]},
            "the rest is transcribed",
        ),
        ({"warnings": [7], "gaps": "x", "engine": 3, "words": "many"}, "1 min 55 transcribed in 9.4 s"),
    ],
)
def test_a_transcription_is_summed_up_in_one_line(changed, said):
    line = result_line("transcribe.book", {**RESULT, **changed})
    assert line is not None
    assert said in line


@pytest.mark.parametrize("broken", [None, 3, {}, {"duration_seconds": "long"}, {"duration_seconds": True}])
def test_a_result_of_another_shape_has_no_line(broken):
    assert result_line("transcribe.book", broken) is None
