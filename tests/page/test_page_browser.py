"""The Bridge’s own page in a real browser: ways through it, live and without a script, axe’s judgement."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from bridge_agent.app.bridge import Bridge
from bridge_agent.settings import BridgeSettings
from tests.fakes import server as fake
from tests.fakes.server import FakeServer, until
from tests.page.browsing import judge, open_page, shows

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[FakeServer]:
    """Return a server whose one library lies elsewhere on this machine."""
    books = tmp_path / "media" / "Audiobooks" / "Aesop" / "Three Fables"
    books.mkdir(parents=True)
    (books / "01.mp3").write_bytes(b"12345")
    (tmp_path / "srv").mkdir()
    async with FakeServer(name="Maple House") as server:
        server.libraries = [{"id": 1, "name": "Audiobooks", "root": str(tmp_path / "srv" / "gone")}]
        server.add_book(1, "Aesop/Three Fables", [("Aesop/Three Fables/01.mp3", 5)], sample=True)
        yield server


def build(folder: Path, **environ: str) -> Bridge:
    short = {
        "BRIDGE_LISTEN": "127.0.0.1:0",
        "BRIDGE_TOKEN_STORE": "file",
        "BRIDGE_HEARTBEAT_SECONDS": "0.5",
        "BRIDGE_REPORT_SECONDS": "0.1",
        "BRIDGE_KEEPALIVE_SECONDS": "0.3",
    }
    return Bridge(BridgeSettings.load({**short, **environ}, data_dir=folder))


@pytest.fixture
async def bridge(tmp_path: Path) -> AsyncIterator[Bridge]:
    bridge = build(tmp_path / "bridge")
    await bridge.start()
    yield bridge
    await bridge.stop()


async def pair(page: Page, server: FakeServer, code: str = fake.CODE) -> None:
    await page.get_by_label("The server’s address").fill(server.url)
    await page.get_by_label("The code").fill(code)
    await page.get_by_role("button", name="Pair", exact=True).click()


async def paired(bridge: Bridge, server: FakeServer) -> None:
    assert bridge.parts.link is not None
    await bridge.parts.link.pair(server.url, fake.CODE)
    async with asyncio.timeout(10):
        await bridge.parts.link.ready.wait()


async def test_pair_map_by_a_proposal_watch_a_job_and_cancel_it_on_one_page(
    chromium: Browser, bridge: Bridge, server: FakeServer, tmp_path: Path
):
    said: list[str] = []
    page = await open_page(chromium, bridge.url, said=said)
    await pair(page, server, "ZZZZ-ZZZZ")
    await shows(page, "The code is wrong, used or expired.")
    await expect(page.get_by_label("The code")).to_have_value("ZZZZ-ZZZZ")
    said.clear()  # the browser names every refused request
    await pair(page, server)
    await shows(page, "Connected to Maple House.")
    assert page.url.rstrip("/") == bridge.url

    await page.get_by_role("link", name="Libraries").first.click()
    await shows(page, "Audiobooks isn’t seen here.")
    assert bridge.parts.mappings is not None
    await bridge.parts.mappings.set(1, str(tmp_path / "media"))
    await bridge.parts.mappings.check(1)
    books = str(tmp_path / "media" / "Audiobooks")
    await shows(page, "1 of 1 file matches")
    await page.get_by_role("button", name=f"Use it: {books}").click()
    await shows(page, "The library is seen from here.")
    await until(lambda: any(lib["ok"] for lib in (server.heartbeat or {"libraries": []})["libraries"]))

    await page.get_by_role("link", name="Now").click()
    job = server.offer(path="Aesop/Three Fables", params={"hold_seconds": 600})
    await shows(page, "Verifying one book.")
    await shows(page, "of 600 s")
    first = await page.locator("progress").get_attribute("value")
    await expect(page.locator("progress")).not_to_have_attribute("value", str(first), timeout=10_000)
    await page.get_by_role("button", name="Cancel: Three Fables").click()
    await shows(page, "Nothing to do right now.")
    await expect(page.locator("#lately").get_by_text("Cancelled")).to_be_visible()
    await until(lambda: job.final)
    assert job.final is not None
    assert job.final["state"] == "cancelled"
    assert said == []


@pytest.mark.requirement("R-014", "R-025")
async def test_all_of_it_without_a_script(
    chromium: Browser, bridge: Bridge, server: FakeServer, tmp_path: Path
):
    page = await open_page(chromium, bridge.url, script=False)
    await pair(page, server, "ZZZZ-ZZZZ")
    await shows(page, "The code is wrong, used or expired.")
    await expect(page.get_by_label("The server’s address")).to_have_value(server.url)
    await pair(page, server)
    await shows(page, "Paired. The first heartbeat is on its way.")
    assert bridge.parts.link is not None
    await bridge.parts.link.ready.wait()
    await page.goto("/libraries")
    # The first check looks around on the whole machine, and without a script the page does not follow it.
    if await page.locator("details.where:not([open])").count():
        await page.get_by_text("Say where it is", exact=True).click()
    await page.get_by_label("The folder on this machine").fill(str(tmp_path / "media" / "Audiobooks"))
    await page.get_by_role("button", name="Use this folder").click()
    await shows(page, "The library is seen from here.")
    job = server.offer(path="Aesop/Three Fables", params={"hold_seconds": 600})
    await until(lambda: job.state == "running")
    await page.goto("/")
    await page.get_by_role("button", name="Cancel: Three Fables").click()
    await shows(page, "The job is being stopped")
    await until(lambda: job.final)
    await page.goto(f"/jobs/{fake.SERVER_ID}/{job.id}")
    await shows(page, "Cancelled")
    await page.get_by_text("Raw JSON").click()
    await shows(page, '"hold_seconds": 600')
    await page.goto("/settings")
    await page.get_by_text("Unpair…").click()
    await page.get_by_role("button", name="Yes, unpair").click()
    await shows(page, "Not paired with a server yet.")


async def test_the_page_says_when_it_has_lost_the_bridge_and_comes_back_by_itself(
    chromium: Browser, tmp_path: Path
):
    bridge = build(tmp_path / "bridge")
    await bridge.start()
    page = await open_page(chromium, bridge.url)
    await shows(page, "Not paired with a server yet.")
    await expect(page.locator("#stale")).to_be_hidden()
    port = bridge.port
    await bridge.stop()
    await shows(page, "This page has lost the Bridge. What stands here is from")
    again = build(tmp_path / "bridge", BRIDGE_LISTEN=f"127.0.0.1:{port}")
    await again.start()
    try:
        await expect(page.locator("#stale")).to_be_hidden(timeout=20_000)
        # The forms' tokens are of the new start too.
        await page.get_by_label("The server’s address").fill("nonsense")
        await page.get_by_label("The code").fill("ABCD1234")
        await asyncio.sleep(1)
        await page.get_by_role("button", name="Pair", exact=True).click()
        await shows(page, "The address must be a whole one")
    finally:
        await again.stop()


async def test_what_is_being_typed_survives_live_updates(
    chromium: Browser, bridge: Bridge, server: FakeServer
):
    await paired(bridge, server)
    page = await open_page(chromium, bridge.url, path="/libraries")
    await shows(page, "Audiobooks isn’t seen here.")
    field = page.get_by_label("The folder on this machine")
    await field.fill("/half/a/pa")
    assert bridge.parts.mappings is not None
    await bridge.parts.mappings.check(1)
    await bridge.parts.mappings.set(1, "/somewhere/else")
    await shows(page, "/somewhere/else")
    await expect(field).to_have_value("/half/a/pa")
    await expect(field).to_be_focused()


async def test_a_password_is_asked_for_and_leads_back(chromium: Browser, tmp_path: Path):
    bridge = build(tmp_path / "bridge", BRIDGE_PAGE_PASSWORD="correct horse")
    await bridge.start()
    try:
        said: list[str] = []
        page = await open_page(chromium, bridge.url, path="/settings")
        await page.get_by_label("Password").fill("wrong")
        await page.get_by_role("button", name="Sign in").click()
        await shows(page, "That is not the page’s password; try again.")
        page.on("console", lambda m: said.append(m.text) if m.type == "error" else None)
        await page.get_by_label("Password").fill("correct horse")
        await page.get_by_role("button", name="Sign in").click()
        await page.wait_for_url("**/settings")
        await page.get_by_role("button", name="Sign out").click()
        await shows(page, "Sign in to the Bridge.")
        assert said == []
    finally:
        await bridge.stop()


@pytest.mark.parametrize(("size", "scheme"), [("wide", "light"), ("wide", "dark"), ("phone", "light")])
async def test_no_page_has_what_axe_calls_serious_scrolls_sideways_or_complains(
    chromium: Browser, bridge: Bridge, server: FakeServer, tmp_path: Path, size: str, scheme: str
):
    from axe_playwright_python.async_playwright import Axe

    said: list[str] = []
    page = await open_page(chromium, bridge.url, said=said, size=size, scheme=scheme)
    await judge(Axe(), page, "unpaired")
    await paired(bridge, server)
    assert bridge.parts.mappings is not None
    await bridge.parts.mappings.check(1)
    missing = server.offer(path="Aesop/Three Fables")
    await until(lambda: missing.state in ("needs_attention", "failed"))
    for path in (
        "/",
        "/libraries",
        "/jobs",
        f"/jobs/{fake.SERVER_ID}/{missing.id}",
        "/settings",
        "/diagnostics",
    ):
        await page.goto(path)
        for fold in await page.locator("details > summary").all():
            await fold.click()
        await judge(Axe(), page, path)
    assert said == []


async def test_the_keyboard_alone_pairs(chromium: Browser, bridge: Bridge, server: FakeServer):
    page = await open_page(chromium, bridge.url)
    await page.keyboard.press("Tab")
    await expect(page.get_by_text("Skip to the content")).to_be_focused()
    await page.keyboard.press("Enter")
    await page.keyboard.press("Tab")
    await page.keyboard.type(server.url)
    await page.keyboard.press("Tab")
    await page.keyboard.type("abcd1234")
    await page.keyboard.press("Enter")
    await shows(page, "Connected to Maple House.")


async def test_a_proposal_is_used_from_the_first_page_and_below_a_sub_path_a_refusal_keeps_its_links(
    chromium: Browser, bridge: Bridge, server: FakeServer, tmp_path: Path
):
    await paired(bridge, server)
    assert bridge.parts.mappings is not None
    await bridge.parts.mappings.set(1, str(tmp_path / "media"))
    await bridge.parts.mappings.check(1)
    page = await open_page(chromium, bridge.url)
    await page.get_by_role("button", name="Use it").click()
    await shows(page, "Kept. The check of this folder is below.")
    await expect(page.locator("#libraries").get_by_text("Seen")).to_be_visible()
    assert page.url.rstrip("/") == bridge.url
    await page.goto("/libraries")
    await page.get_by_text("Change where it is").click()
    await page.get_by_label("The folder on this machine").fill("books")
    await page.get_by_role("button", name="Use this folder").click()
    await shows(page, "not a folder’s full path")
    await expect(page.get_by_label("The folder on this machine")).to_have_value("books")
    links = await page.locator("footer a").evaluate_all("all => all.map(a => a.href)")
    assert links == [f"{bridge.url}/settings#log", f"{bridge.url}/diagnostics"]
