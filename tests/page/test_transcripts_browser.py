"""Transcripts in a real browser: list, search, reader and find, live figures, no script, axe’s judgement."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from aiohttp import web
from playwright.async_api import Browser, expect

from bridge_agent.base.clock import SystemClock
from bridge_agent.page import app as page_app
from bridge_agent.page import views_reader
from bridge_agent.settings import BridgeSettings
from bridge_agent.store import open_database
from bridge_agent.transcription.assembly.transcript import Gap
from bridge_agent.transcription.transcripts import open_transcripts
from tests.fakes import speech
from tests.fakes.rooms import SERVER_ID, Household, household
from tests.page import browsing
from tests.page.browsing import judge, shows

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]

CHAPTER = "The old bridge stood beside the mill. Nobody crossed it after dark. " * 12


@dataclass
class Shown(browsing.Shown):
    """The same with kept transcripts, on stand-ins."""

    house: Household
    pipeline: speech.FakePipeline


@pytest.fixture
async def shown(tmp_path: Path, chromium: Browser) -> AsyncIterator[Shown]:
    settings = BridgeSettings.load({"BRIDGE_LISTEN": "127.0.0.1:0"}, data_dir=tmp_path)
    clock = SystemClock()
    store = await open_database(tmp_path / "bridge.sqlite3", "bridge_agent.store.bridge_schema", clock=clock)
    house = household(settings, store.database, clock)
    house.pair()
    transcripts = await open_transcripts(tmp_path, clock)
    pipeline = speech.FakePipeline()
    house.parts.transcripts = transcripts
    house.parts.speech = speech.speech(pipeline)
    long = speech.book([("One", CHAPTER), ("Two", CHAPTER), ("Three", CHAPTER)], title="The Old Bridge")
    await speech.keep(transcripts, long, "A/The Old Bridge")
    fables = speech.book(gaps=[Gap(start=4.0, end=6.0, reason="damaged")])
    await speech.keep(transcripts, fables, warnings=("1 of 41 files could not be read.",))
    runner = web.AppRunner(page_app.build(house.parts))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    port = runner.addresses[0][1]
    await page_app.open_to_users(house.parts, port, lambda _: None)
    yield Shown(f"http://127.0.0.1:{port}", chromium, [], house, pipeline)
    await runner.cleanup()
    await transcripts.close()
    await store.database.close()


async def test_from_the_navigation_to_a_word_in_a_book(shown: Shown):
    page = await shown.open("/")
    await page.get_by_role("link", name="Transcripts", exact=True).click()
    await shows(page, "2 transcripts to read and to search.")
    await page.get_by_label("Search in all transcripts").fill('"fell asleep"')
    await page.get_by_role("button", name="Search").click()
    await shows(page, "is said in 1 book.")
    await page.locator(".places a").first.click()
    await page.wait_for_url("**/transcripts/2?**")
    await expect(page.locator(".hit.is-here")).to_have_text("fell asleep")
    await expect(page.locator(".hit.is-here")).to_be_in_viewport()
    await expect(page.locator(".unsure")).to_have_attribute("title", "41 % sure")
    assert shown.said == []


async def test_enter_leads_from_place_to_place_and_shift_back(shown: Shown):
    page = await shown.open("/transcripts/1")
    field = page.get_by_label("Find in this book")
    await field.fill("mill")
    await field.press("Enter")
    await page.wait_for_url("**/transcripts/1?q=mill#hit-1")
    await expect(page.locator("#which")).to_have_text("1 of 36 places")
    await field.press("Enter")
    await field.press("Enter")
    await expect(page.locator("#which")).to_have_text("3 of 36 places")
    await expect(page.locator("#hit-3")).to_be_in_viewport()
    await field.press("Shift+Enter")
    await expect(page.locator("#which")).to_have_text("2 of 36 places")
    await page.locator("#hit-2").click()
    await expect(page.locator("#hit-3")).to_be_focused()
    await field.fill("dark")
    await field.press("Enter")
    await page.wait_for_url("**/transcripts/1?q=dark#hit-1")
    assert shown.said == []


async def test_the_chapter_on_screen_is_marked_at_the_side(shown: Shown):
    page = await shown.open("/transcripts/1")
    entry = page.locator('.toc a[data-chapter="2"]')
    await expect(page.locator('.toc a[data-chapter="0"]')).to_have_attribute("aria-current", "true")
    await entry.click()
    await expect(entry).to_have_attribute("aria-current", "true")
    await expect(page.locator("#title-2")).to_be_in_viewport()
    await expect(page.locator('.toc a[data-chapter="0"]')).not_to_have_attribute("aria-current", "true")


async def test_a_long_book_leads_on_over_its_pages(shown: Shown, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(views_reader, "WHOLE_WORDS", 100)
    page = await shown.open("/transcripts/1?q=mill#hit-12")
    await expect(page.locator("#which")).to_have_text("12 of 36 places")
    await page.get_by_label("Find in this book").press("Enter")
    await page.wait_for_url("**/transcripts/1?q=mill&chapter=1#hit-13")
    await expect(page.locator("#which")).to_have_text("13 of 36 places")
    await page.get_by_role("link", name="Three ›").click()
    await page.wait_for_url("**chapter=2**")
    await expect(page.locator("#title-2")).to_be_visible()
    assert shown.said == []


async def test_all_of_it_without_a_script(shown: Shown):
    page = await shown.open("/transcripts", script=False)
    await page.get_by_label("Search in all transcripts").fill("mill")
    await page.get_by_role("button", name="Search").click()
    await shows(page, "“mill” is said")
    await page.goto("/transcripts/1")
    await page.get_by_label("Find in this book").fill("mill")
    await page.get_by_role("button", name="Find").click()
    assert page.url.endswith("/transcripts/1?q=mill#hit-1")
    await shows(page, "36 places")
    await page.locator("#hit-1").click()
    assert page.url.endswith("#hit-2")
    async with page.expect_download() as download:
        await page.get_by_role("link", name="Text", exact=True).click()
    assert (await download.value).suggested_filename == "The Old Bridge.txt"


async def test_a_reader_is_left_in_peace_while_a_book_is_under_way_and_now_follows_it(shown: Shown):
    reading = await shown.open("/transcripts/1")
    await reading.evaluate("document.querySelector('.prose p').dataset.mine = 'kept'")
    now = await shown.open("/")
    shown.pipeline.book(f"{SERVER_ID}/5", words="a hare never tired")
    shown.house.job(5, "running", kind="transcribe.book")
    assert shown.pipeline.on_change is not None
    shown.pipeline.on_change(None)
    await shows(now, "a hare never tired")
    await shows(now, "about 18 minutes left")
    shown.pipeline.books[0]["words"] = "of laughing at a tortoise"
    shown.pipeline.on_change(None)
    await shows(now, "of laughing at a tortoise")
    assert await reading.evaluate("document.querySelector('.prose p').dataset.mine") == "kept"
    assert shown.said == []


@pytest.mark.parametrize(("size", "scheme"), [("wide", "light"), ("wide", "dark"), ("phone", "light")])
async def test_no_page_has_what_axe_calls_serious_or_scrolls_sideways(shown: Shown, size: str, scheme: str):
    from axe_playwright_python.async_playwright import Axe

    shown.pipeline.book(f"{SERVER_ID}/5")
    shown.house.job(5, "running", kind="transcribe.book", path="Jules Verne/Twenty Thousand Leagues")
    page = await shown.open("/", size=size, scheme=scheme)
    for path in (
        "/",
        f"/jobs/{SERVER_ID}/5",
        "/transcripts",
        "/transcripts?q=bridge",
        "/transcripts?q=submarine",
        "/transcripts/2",
        "/transcripts/2?q=bridge#hit-1",
        "/transcripts/1?q=mill",
        "/settings",
    ):
        await page.goto(path)
        for fold in await page.locator("main details > summary").all():
            await fold.click()
        await judge(Axe(), page, path)
    shown.house.parts.transcripts = None
    shown.house.parts.speech = None
    await page.goto("/transcripts")
    await judge(Axe(), page, "empty")
    assert shown.said == []
