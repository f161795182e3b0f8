"""The console in a real browser: ways through it, live updates, no console errors, axe’s judgement."""

import asyncio
from pathlib import Path

import pytest

from tests.page.browsing import open_page, shows
from tests.page.console_rig import PASSWORD, Browser, OtherHalf

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]


@pytest.fixture
async def bridge(home):
    browser = Browser(home)
    await browser.sign_in()
    other = await OtherHalf.paired(browser, home)
    yield other
    await other.close()
    await browser.close()


async def open_console(chromium, home, *, size="wide", scheme="light", said=None):
    """Open the console signed in; what the browser complains of goes into `said`."""
    page = await open_page(chromium, home.url, "/sign-in", size=size, scheme=scheme, said=said)
    await page.get_by_label("Name").fill("admin")
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in", exact=True).click()
    await page.wait_for_url("**/libraries")
    return page


async def test_from_signing_in_to_a_verified_book_without_a_reload(chromium, home, tmp_path):
    said = []
    page = await open_console(chromium, home, said=said)
    await page.get_by_role("link", name="Settings").first.click()
    await shows(page, "No Bridge is paired.")
    await page.get_by_role("button", name="Make a code").click()
    code = (await page.locator("#code").inner_text()).strip()
    assert "once" not in page.url
    await page.get_by_role("button", name="Copy both lines").click()
    await shows(page, "Copied")

    # The page says by itself that a Bridge has used the code.
    bridge = await _pair(home, code)
    await shows(page, "The Bridge is online.")

    (tmp_path / "more").mkdir()
    await page.goto("/libraries")
    await page.get_by_label("Name").fill("More")
    await page.get_by_label("Folder on this server").fill(str(tmp_path / "more"))
    await page.get_by_role("button", name="Add the library").click()
    await shows(page, "The library is added.")

    await page.goto("/libraries/1")
    await page.get_by_role("button", name="Verify a sample book").click()
    await shows(page, "The job was queued")
    job = await bridge.claim()
    progress = {"step": "stat", "message": "Comparing the files", "done": 1, "total": 2}
    await bridge.report(job, "running", progress=progress)
    await shows(page, "Comparing the files")
    await shows(page, "1 of 2")
    result = {"mount_path": "/mnt", "path": "A", "files": [], "writable": True, "elapsed_ms": 900}
    await bridge.report(job, "done", result=result)
    await shows(page, "the folder can be written · took 0.9 s")
    await bridge.close()
    assert said == []


async def test_a_cancelled_job_is_followed_to_its_end(chromium, home, bridge):
    page = await open_console(chromium, home)
    await page.goto("/libraries/1")
    await page.get_by_role("button", name="Verify a sample book").click()
    await shows(page, "The job was queued")
    job = await bridge.claim()
    await shows(page, "about to begin")
    await page.get_by_role("button", name="Cancel").click()
    await shows(page, "Still stopping")
    await bridge.report(job, "cancelled")
    await shows(page, "Cancelled before it began.")


async def test_a_new_job_appears_in_the_open_list_and_an_open_fold_stays_open(chromium, home, bridge):
    job, _ = await home.jobs.queue("bridge.verify", 1)
    result = {"mount_path": "/mnt", "files": [], "writable": True, "elapsed_ms": 1}
    await bridge.report(await bridge.claim(), "done", result=result)
    page = await open_console(chromium, home)
    await page.goto("/jobs")
    await page.locator("details summary").click()
    books = await home.library.books(1)
    for book in books.books:
        await home.jobs.queue("bridge.verify", 1, book.path)
    await shows(page, "2 jobs are waiting.")
    assert await page.locator("#jobs li").count() == 3
    assert await page.locator(f"#job-{job.id} details").get_attribute("open") is not None


async def test_the_page_says_when_live_updates_stop_and_when_they_are_back(chromium, home):
    page = await open_console(chromium, home)
    await page.goto("/jobs")
    await page.route("**/console/events", lambda route: route.abort())
    home.events.close()
    await shows(page, "Live updates have stopped; trying again")
    home.events._closed = False
    await page.unroute("**/console/events")
    await page.locator("#lost").wait_for(state="hidden", timeout=15_000)


async def test_the_keyboard_reaches_the_content_first_and_every_button_shows_its_focus(chromium, home):
    page = await open_console(chromium, home)
    await page.keyboard.press("Tab")
    assert await page.evaluate("document.activeElement.className") == "skip"
    await page.keyboard.press("Enter")
    assert page.url.endswith("#main")
    button = page.get_by_role("button", name="Verify Fables")
    await button.focus()
    await page.keyboard.press("Shift+Tab")
    await page.keyboard.press("Tab")
    assert await button.evaluate("one => getComputedStyle(one).outlineStyle") == "solid"


async def test_without_javascript_the_whole_way_works(chromium, home, bridge):
    context = await chromium.new_context(base_url=home.url, java_script_enabled=False)
    page = await context.new_page()
    await page.goto("/libraries/1")
    await page.get_by_label("Name").fill("admin")
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in", exact=True).click()
    assert page.url.endswith("/libraries/1")
    await page.get_by_role("button", name="Verify a sample book").click()
    await page.get_by_role("button", name="Cancel").click()
    assert "The job is cancelled." in await page.inner_text("main")
    await page.goto("/settings/bridge")
    await page.get_by_role("button", name="Make a code").click()
    assert await page.locator("#code").is_visible()
    assert await page.get_by_role("button", name="Copy both lines").count() == 0


@pytest.mark.parametrize(
    ("size", "scheme"), [("wide", "light"), ("wide", "dark"), ("phone", "light"), ("phone", "dark")]
)
async def test_axe_finds_nothing_serious_and_nothing_stands_over_the_edge(
    chromium, home, bridge, size, scheme
):
    await _fill(home, bridge)
    page = await open_console(chromium, home, size=size, scheme=scheme)
    found = []
    for path in await _all_pages(home):
        await page.goto(path)
        found += await _judged(page, path)
    await page.goto("/settings/bridge")
    await page.locator("#pair button").last.click()
    await page.locator("#code").wait_for()
    found += await _judged(page, "a shown code")
    await page.context.clear_cookies()
    await page.goto("/sign-in")
    found += await _judged(page, "/sign-in")
    assert found == []


async def _pair(home, code):
    import aiohttp

    async with aiohttp.ClientSession(home.url) as session:
        answer = await session.post("/api/v1/bridge/pair", json={"code": code})
        bridge = OtherHalf(home, (await answer.json())["token"])
    await bridge.beat(libraries=[])
    return bridge


async def _fill(home, bridge):
    """Give every page something to show: jobs in several states, a library and a person more."""
    books = (await home.library.books(1)).books
    for state, more in (
        ("failed", {"error": "1 of 2 files differs", "result": {"files": [{"path": "a", "ok": False}]}}),
        ("done", {"result": {"files": [], "writable": True, "elapsed_ms": 5, "mount_path": "/mnt"}}),
        ("needs_attention", {"error": "The disk is full; free some space."}),
    ):
        await home.jobs.queue("bridge.verify", 1, books[0].path)
        await bridge.report(await bridge.claim(), state, **more)
    await home.jobs.queue("bridge.verify", 1, books[1].path)
    job = await bridge.claim()
    await bridge.report(
        job, "running", progress={"step": "stat", "message": "Comparing", "done": 1, "total": 3}
    )
    await home.users.create("maria", "her-password", "user")
    await home.library.add("A" * 80, "/nowhere/" + "x" * 120)


async def _all_pages(home):
    path = (await home.library.books(1)).books[0].path
    return [
        "/libraries",
        "/libraries/1",
        "/libraries/1?q=nothing",
        "/libraries/2",
        f"/libraries/1/book?path={path}",
        "/libraries/1/remove",
        "/jobs",
        "/jobs?state=cancelled",
        "/jobs/1",
        "/jobs/4",
        "/settings/bridge",
        "/settings/people",
        "/settings/people/2",
        "/settings/keys",
        "/settings/account",
        "/nowhere",
    ]


async def _judged(page, where):
    from axe_playwright_python.base import AXE_FILE_PATH

    # The page's own CSP keeps scripts out; evaluated ones come from the browser's own side.
    script = await asyncio.to_thread(Path(AXE_FILE_PATH).read_text, "utf-8")
    await page.evaluate(script + "; null")
    answer = await page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert answer["passes"]
    found = [
        f"{where}: {broken['id']}: {[node['target'] for node in broken['nodes']][:3]}"
        for broken in answer["violations"]
        if broken["impact"] in ("serious", "critical")
    ]
    over = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    if over > 0:
        found.append(f"{where} stands {over} px over the edge")
    return found
