"""Workers in a real browser: inviting, the list while it changes, without a script, axe’s judgement."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from aiohttp import web
from playwright.async_api import Browser, expect

from bridge_agent.base.clock import SystemClock
from bridge_agent.page import app as page_app
from bridge_agent.settings import BridgeSettings
from bridge_agent.store import open_database
from bridge_agent.worker_api.opening import Workers
from tests.fakes import speech
from tests.fakes.rooms import household
from tests.fakes.workers import looks, workers_room
from tests.page import browsing
from tests.page.browsing import judge, shows

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]


@dataclass
class Shown(browsing.Shown):
    """The page of a Bridge that can share its work."""

    workers: Workers


@pytest.fixture
async def shown(tmp_path: Path, chromium: Browser) -> AsyncIterator[Shown]:
    settings = BridgeSettings.load({"BRIDGE_LISTEN": "127.0.0.1:0"}, data_dir=tmp_path)
    clock = SystemClock()
    store = await open_database(tmp_path / "bridge.sqlite3", "bridge_agent.store.bridge_schema", clock=clock)
    house = household(settings, store.database, clock)
    house.pair()
    house.parts.speech = speech.speech(speech.FakePipeline())
    async with workers_room(tmp_path, clock, worker_tls="on") as workers:
        house.parts.workers = workers
        runner = web.AppRunner(page_app.build(house.parts))
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        port = runner.addresses[0][1]
        await page_app.open_to_users(house.parts, port, lambda _: None)
        yield Shown(f"http://127.0.0.1:{port}", chromium, [], workers)
        await runner.cleanup()
    await store.database.close()


async def some_workers(workers: Workers) -> None:
    """Invite workers, one in each state."""
    seen = "2026-01-01T00:00:00.000Z"
    games = await workers.invite("games-room", "large-v3")
    looks(
        workers,
        games.id,
        "working",
        on=[("The Adventures of Sherlock Holmes", 11), ("The Adventures of Sherlock Holmes", 12)],
        speed=42.4,
        engine="faster-whisper",
        device="cuda",
        last_seen_at=seen,
    )
    await workers.invite("attic")
    paused = await workers.invite("laptop")
    await workers.service.pause(paused.id)
    parked = await workers.invite("an-old-machine-with-a-name-that-goes-on-and-on-for-ever", "small")
    why = "it failed at 3 parts in a row, the last time with “CUDA out of memory”; mend that, then resume it."
    await workers.tokens.park(parked.id, why)


async def test_invite_from_the_navigation_copy_the_token_and_see_it_never_again(shown: Shown):
    page = await shown.open("/")
    await page.get_by_role("link", name="Workers").click()
    await shows(page, "No other machine takes part yet.")
    await page.get_by_label("Its name").fill("games-room")
    await page.get_by_label("Its model").fill("large-v3")
    await page.get_by_role("button", name="Make its token").click()
    await shows(page, "games-room may join.")
    token = await page.locator("#token").inner_text()
    assert token.startswith("wrk_")
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await page.get_by_role("button", name="Copy: the token").click()
    assert await page.evaluate("navigator.clipboard.readText()") == token
    line = page.locator("#way-pip")
    await expect(line).to_contain_text(f"--fingerprint {shown.workers.listener.fingerprint}")
    # Events come in meanwhile, and the page that shows the token stays as it is.
    await shown.workers.invite("second")
    await page.wait_for_timeout(1500)
    await expect(page.locator("#token")).to_have_text(token)
    await page.get_by_role("link", name="Done; to the workers").click()
    await expect(page.locator("#list")).to_contain_text("games-room")
    assert token not in await page.content()
    assert shown.said == []


async def test_the_list_follows_what_workers_do_and_keeps_an_open_question(shown: Shown):
    made = await shown.workers.invite("games-room")
    page = await shown.open("/workers")
    row = page.locator(f"#worker-{made.id}")
    await expect(row).to_contain_text("Offline")
    await row.get_by_text("Revoke…").click()
    await shown.workers.service.pause(made.id)
    await expect(row).to_contain_text("Paused")
    await expect(row.get_by_role("button", name="Yes, revoke: games-room")).to_be_visible()
    await row.get_by_role("button", name="Resume: games-room").click()
    await shows(page, "It gets work again with its next question.")
    await row.get_by_text("Revoke…").click()
    await row.get_by_role("button", name="Yes, revoke: games-room").click()
    await expect(row).to_have_count(0)
    assert shown.workers.service.workers() == []
    assert shown.said == []


async def test_all_of_it_without_a_script(shown: Shown):
    page = await shown.open("/workers", script=False)
    await page.get_by_label("Its name").fill("attic")
    await page.get_by_role("button", name="Make its token").click()
    await shows(page, "attic may join.")
    await expect(page.locator("#token")).to_contain_text("wrk_")
    await expect(page.get_by_role("button", name="Copy")).to_have_count(0)
    await page.locator("summary", has_text="A Voicy worker").click()
    await expect(page.locator("#way-voicy")).to_be_visible()
    await page.get_by_role("link", name="Done; to the workers").click()
    await page.get_by_role("button", name="Pause: attic").click()
    await shows(page, "Paused: it ends what it has and gets nothing more.")
    await page.get_by_label("Its name").fill("attic")
    await page.get_by_role("button", name="Make its token").click()
    await shows(page, "A worker named “attic” is there already.")
    await expect(page.get_by_label("Its name")).to_have_value("attic")
    await page.get_by_text("Revoke…").click()
    await page.get_by_role("button", name="Yes, revoke").click()
    await shows(page, "Revoked: it is refused at its next call")


async def test_on_a_phone_dots_stand_between_facts_alone_and_what_went_wrong_is_in_sight(shown: Shown):
    await some_workers(shown.workers)
    page = await shown.open("/workers", size="phone")
    row = page.locator("#list .dotted", has_text="faster-whisper")
    lines = await row.evaluate(
        """row => {
            const left = row.getBoundingClientRect().left, em = parseFloat(getComputedStyle(row).fontSize);
            const boxes = [...row.querySelectorAll(".between")].map(dot => dot.getBoundingClientRect());
            return boxes.map(box => [Math.abs(box.left - left) < 1, box.right <= left + em + 1]);
        }"""
    )
    # Where a fact begins a line, its dot is in the strip that is cut off.
    assert any(begins for begins, _ in lines)
    assert all(begins == hidden for begins, hidden in lines)
    await page.get_by_label("Its name").fill("n" * 200)
    await page.get_by_role("button", name="Make its token").click()
    await expect(page.get_by_role("alert")).to_be_in_viewport()
    await shows(page, "A worker needs a name of 1 to 128 bytes.")


@pytest.mark.parametrize(
    ("size", "scheme"), [("wide", "light"), ("wide", "dark"), ("phone", "light"), ("phone", "dark")]
)
async def test_no_page_has_what_axe_calls_serious_or_scrolls_sideways(shown: Shown, size: str, scheme: str):
    from axe_playwright_python.async_playwright import Axe

    page = await shown.open("/workers", size=size, scheme=scheme)
    await judge(Axe(), page, "nobody invited")
    await some_workers(shown.workers)
    await page.goto("/workers")
    for fold in await page.locator("details > summary").all():
        await fold.click()
    await judge(Axe(), page, "the list")
    await page.get_by_label("Its name").fill("study")
    await page.get_by_label("Its model").fill("large-v3")
    await page.get_by_role("button", name="Make its token").click()
    await shows(page, "study may join.")
    for fold in await page.locator("details > summary").all():
        await fold.click()
    await judge(Axe(), page, "the invitation")
    assert shown.said == []
