"""Settings, Bridge: the code, the status, the unpairing."""

import re

import pytest

from tests.page.console_rig import Browser, OtherHalf, start_home


async def test_without_a_bridge_the_page_says_what_one_is_and_how_to_pair(browser):
    page = await browser.get("/settings/bridge")
    assert "No Bridge is paired." in page.text
    assert "Make a code" in page.text
    assert "It works once, for 15 minutes." in page.text


@pytest.mark.requirement("R-002", "R-014")
async def test_a_code_is_shown_once_with_both_lines_and_a_compose_file(browser, home):
    page = await browser.send("/settings/bridge/code")
    code = re.search(r'id="code">\s*([0-9A-Z-]{9})', page.html)[1]
    assert f"BRIDGE_SERVER_URL=http://127.0.0.1:{home.port}" in page.html
    assert f"BRIDGE_PAIR_CODE={code}" in page.html
    assert "services:" in page.html
    assert "This address works on this computer alone." in page.text
    again = await browser.get(page.url)
    assert code not in again.html
    assert code not in (await browser.get("/settings/bridge")).html
    assert "can’t be shown again" in again.text


@pytest.mark.requirement("R-046")
async def test_a_paired_bridge_is_told_with_what_it_sees(browser, home):
    bridge = await OtherHalf.paired(browser, home)
    check = {
        "library_id": 1,
        "path": "/mnt/fables",
        "ok": True,
        "readable": True,
        "writable": False,
        "checked_at": "2026-01-01T00:00:00.000Z",
        "files_checked": 3,
        "files_matched": 3,
    }
    worker = {"name": "games-room", "state": "working", "engine": "large-v3"}
    await bridge.beat(libraries=[check], workers=[worker], ui_url="http://study-pc:13380")
    page = await browser.get("/settings/bridge")
    await bridge.close()
    assert "The Bridge is online." in page.text
    assert "3 of 3 sample files match · can be read, not written" in page.text
    assert "games-room" in page.text
    assert "9.9" in page.text
    assert 'href="http://study-pc:13380"' in page.html


async def test_a_library_that_the_bridge_does_not_see_stands_in_the_sentence(browser, home):
    bridge = await OtherHalf.paired(browser, home)
    check = {
        "library_id": 1,
        "path": "/mnt/fables",
        "ok": False,
        "readable": False,
        "writable": False,
        "checked_at": "2026-01-01T00:00:00.000Z",
        "files_checked": 0,
        "files_matched": 0,
        "error": "<img src=x onerror=alert(1)> is not here",
    }
    await bridge.beat(libraries=[check], version="<script>alert(2)</script>")
    page = await browser.get("/settings/bridge")
    await bridge.close()
    assert "The Bridge is online, but does not see the library." in page.text
    assert "<img src=x" not in page.html
    assert "<script>alert(2)" not in page.html
    assert "&lt;img src=x onerror=alert(1)&gt; is not here" in page.html


@pytest.mark.requirement("R-024")
async def test_unpairing_asks_first_and_keeps_the_jobs(browser, home):
    bridge = await OtherHalf.paired(browser, home)
    await browser.send("/libraries/1/verify")
    question = await browser.get("/settings/bridge/unpair")
    assert "Unpair this Bridge?" in question.text
    assert await bridge.beat() == 200
    page = await browser.send("/settings/bridge/unpair", page=question)
    assert "The Bridge is unpaired. Its jobs stay" in page.text
    assert "No Bridge is paired." in page.text
    assert await bridge.beat() == 401
    await bridge.close()
    assert "Waiting, for a Bridge to be paired." in (await browser.get("/jobs")).text


async def test_an_address_at_home_is_given_without_a_warning(tmp_path):
    home = await start_home(tmp_path, address="http://maple.local:13390")
    browser = Browser(home)
    await browser.sign_in()
    page = await browser.send("/settings/bridge/code")
    await browser.close()
    await home.stop()
    assert "BRIDGE_SERVER_URL=http://maple.local:13390" in page.html
    assert "on this computer alone" not in page.text
