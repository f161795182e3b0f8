"""The pages and their forms without a script: what is shown, what a form does, what it says when it can't."""

import re
from datetime import timedelta
from html import unescape

import pytest

from bridge_agent.base import logs
from bridge_agent.base.errors import BridgeError
from bridge_agent.link import words
from bridge_agent.link.errors import PairFailed
from bridge_agent.mapping.mappings import PathRefused
from tests.fakes.rooms import SERVER_ID
from tests.unit.page.conftest import MakePage, Page

NASTY = "<script>alert('x')</script><img src=x onerror=alert(1)>\"'"


async def show(page: Page, path: str = "/") -> str:
    answer = await page.client.get(path)
    assert answer.status == 200, await answer.text()
    return await answer.text()


def words_of(text: str) -> str:
    """Return what a person reads of a page."""
    bare = re.sub(r"<(script|style).*?</\1>", " ", text, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", bare)).split())


async def send(page: Page, to: str, **fields: str) -> tuple[int, str, str]:
    """Send a form from the page that has it; return the status, where it led, and what is read there."""
    csrf = (await show(page, "/jobs")).partition('name="csrf" value="')[2].partition('"')[0]
    if not csrf:
        csrf = (await show(page, "/settings")).partition('name="csrf" value="')[2].partition('"')[0]
    answer = await page.client.post(to, data={"csrf": csrf, **fields})
    return answer.status, answer.url.path_qs, words_of(await answer.text())


# ---- Now


async def test_an_unpaired_bridge_asks_for_address_and_code(make_page: MakePage):
    page = await make_page(server_url="http://maple.local:13390")
    text = await show(page)
    assert "Not paired with a server yet." in text
    assert 'value="http://maple.local:13390"' in text
    assert 'name="code"' in text
    assert "Where is the code?" in text


async def test_it_says_why_it_is_not_paired_where_that_is_news(served: Page):
    served.house.link.reason = words.UNPAIRED
    assert (
        "note"
        not in (await show(served)).partition("<form")[0].partition("<main")[2].partition('id="page"')[2]
    )
    served.house.link.reason = "The code in BRIDGE_PAIR_CODE was refused; make a new one."
    assert "The code in BRIDGE_PAIR_CODE was refused. Make a new one." in words_of(await show(served))


async def test_pairing_by_the_form_leads_to_now(served: Page):
    fields = {"server_url": "http://maple.local", "code": "ABCD-1234"}
    status, path, text = await send(served, "/pair", **fields)
    assert (status, path) == (200, "/?said=paired")
    assert "Paired. The first heartbeat is on its way." in text
    assert "Connecting to Maple House." in text
    assert served.house.link.pairings == [("http://maple.local", "ABCD-1234")]


@pytest.mark.requirement("R-017", "R-018", "R-019", "R-020", "R-022", "R-023")
@pytest.mark.parametrize("status", [400, 409, 422, 502])
async def test_a_failed_pairing_is_worded_and_the_fields_are_kept(served: Page, status: int):
    served.house.link.failure = PairFailed(status, "any", "The code is wrong; make a new one.")
    answer = await send(served, "/pair", server_url="http://maple.local", code="abcd 1234")
    assert answer[0] == status
    assert "The code is wrong. Make a new one." in answer[2]
    csrf = (await show(served)).partition('name="csrf" value="')[2].partition('"')[0]
    again = await served.client.post("/pair", data={"csrf": csrf, "server_url": "http://a", "code": "abcd"})
    text = await again.text()
    assert 'value="http://a"' in text
    assert 'value="abcd"' in text


async def test_a_token_that_can_not_be_kept_is_worded_too(served: Page):
    served.house.link.failure = BridgeError("The disk is full; free some space.")  # type: ignore[assignment]
    status, _, text = await send(served, "/pair", server_url="http://maple.local", code="ABCD1234")
    assert status == 500
    assert "The disk is full. Free some space." in text
    answer = await served.client.post("/api/pair", json={"server_url": "http://x", "code": "1"})
    assert answer.status == 500


async def test_the_address_of_an_answered_form_leads_back_to_its_page(served: Page):
    for path, home in (("/pair", "/"), ("/libraries/3", "/libraries"), ("/settings/password", "/settings")):
        answer = await served.client.get(path)
        assert (answer.status, answer.url.path) == (200, home)


async def test_now_shows_jobs_libraries_lanes_and_loops(served: Page):
    house = served.house
    house.pair()
    house.library()
    house.job(1, "done", path="Tolkien/The Hobbit")
    progress = {"step": "stat", "message": "Comparing the files", "done": 7, "total": 19}
    house.job(2, "running", path="Verne/Leagues", progress=progress)
    house.parts.loops.say("heartbeat", "The next one goes in 18 s.")
    house.parts.notes.append("The data file was damaged; a new one was begun.")
    text = await show(served)
    assert '<progress value="7.0" max="19.0" aria-label="Verify: Leagues">' in text
    read = words_of(text)
    for words_told in (
        "Connected to Maple House. Verifying one book.",
        "light 1 of 2",
        "Comparing the files 7 of 19",
        "The Hobbit ✓ Done",
        "/audiobooks is /mnt/media/Audiobooks",
        "Heartbeat The next one goes in 18 s.",
        "The data file was damaged; a new one was begun.",
    ):
        assert words_told in read


@pytest.mark.requirement("R-084", "R-090")
async def test_a_refused_bridge_names_the_causes_and_offers_to_unpair(served: Page):
    served.house.pair(
        "refused", reason=words.REFUSED, next_try_at=served.clock.now() + timedelta(seconds=250)
    )
    read = words_of(await show(served))
    for told in (
        "Maple House refuses this Bridge.",
        "another Bridge was paired",
        "Tries again in 4 minutes",
        "Yes, unpair",
    ):
        assert told in read


async def test_a_job_that_waits_for_a_person_asks_and_can_be_tried_again(served: Page):
    served.house.pair()
    served.house.job(3, "needs_attention", error="The drive is away; connect it.")
    read = words_of(await show(served))
    assert "One job needs you." in read
    assert "The drive is away. Connect it. When that is mended, let it try again" in read
    status, path, text = await send(served, f"/jobs/{SERVER_ID}/3/resume", back="/")
    assert (status, path) == (200, "/?said=resumed")
    assert "The job is tried again now." in text
    assert served.house.jobs.resumed == [(SERVER_ID, 3)]


async def test_a_page_without_a_script_loads_itself_anew(served: Page):
    served.house.pair()
    assert '<noscript><meta http-equiv="refresh" content="30"></noscript>' in await show(served)
    served.house.job(1, "running")
    assert 'content="5"' in await show(served)


# ---- Libraries


@pytest.mark.requirement("R-040")
async def test_libraries_follow_what_the_server_lists(served: Page):
    served.house.pair()
    served.house.library(1, "Audiobooks")
    served.house.library(2, "Children")
    text = await show(served, "/libraries")
    assert "Audiobooks" in text
    assert "Children" in text
    served.house.mappings.rows.pop()
    served.house.link.libraries.pop()
    assert "Children" not in await show(served, "/libraries")


async def test_a_library_that_is_not_seen_shows_the_trail_and_proposals_with_one_button(served: Page):
    served.house.pair()
    served.house.library(
        ok=False,
        readable=False,
        mapped=False,
        path="/audiobooks",
        files_matched=0,
        error="The folder /audiobooks is not here; say where it is.",
        deepest_existing="/",
        hint="In Docker, pass the folder in as a volume.",
        proposals=[{"path": "/mnt/media/Books", "matched": 5, "of": 5}],
    )
    read = words_of(await show(served, "/libraries"))
    for told in (
        "Audiobooks isn’t seen here.",
        "On the server /audiobooks",
        "Here, at the same path /audiobooks ✕ not there",
        "What exists of it /",
        "In Docker, pass the folder in as a volume.",
        "/mnt/media/Books 5 of 5 files match Use it",
    ):
        assert told in read
    status, path, text = await send(served, "/libraries/1", path="/mnt/media/Books")
    assert (status, path) == (200, "/libraries?said=mapped")
    assert "Kept." in text
    assert served.house.mappings.done == [("set", 1, "/mnt/media/Books"), ("check", 1)]
    assert "5 of 5 files match at /mnt/media/Books" in words_of(await show(served))


async def test_a_mapping_is_cleared_and_checked_by_forms(served: Page):
    served.house.pair()
    served.house.library()
    assert (await send(served, "/libraries/1/clear"))[1] == "/libraries?said=cleared"
    assert (await send(served, "/libraries/1/check"))[1] == "/libraries?said=checked"
    assert served.house.mappings.done == [("clear", 1), ("check", 1), ("check", 1)]


async def test_a_path_that_is_none_is_refused_at_its_field_and_kept(served: Page):
    served.house.pair()
    served.house.library()
    served.house.mappings.refusal = PathRefused()
    status, _, text = await send(served, "/libraries/1", path="books")
    assert status == 400
    assert PathRefused().message in text
    csrf = (await show(served, "/libraries")).partition('name="csrf" value="')[2].partition('"')[0]
    answer = await served.client.post("/libraries/1", data={"csrf": csrf, "path": "books"})
    assert 'value="books"' in await answer.text()


async def test_libraries_of_a_bridge_that_is_not_paired(served: Page):
    assert "Pair with a server first." in words_of(await show(served, "/libraries"))
    served.house.pair()
    assert "The server has no library yet." in await show(served, "/libraries")


# ---- Jobs


async def test_the_history_is_filtered_and_paged(served: Page):
    served.house.pair()
    for number in range(1, 36):
        served.house.job(number, "failed" if number == 2 else "done", path=f"A/Book {number}")
    first = await show(served, "/jobs")
    assert "Book 35<" in first
    assert "Book 5<" not in first
    older = unescape(re.findall(r'href="\./jobs\?([^"]+)">Older', first)[0])
    second = await show(served, f"/jobs?{older}")
    assert "Book 5<" in second
    assert "Newest" in second
    failed = words_of(await show(served, "/jobs?state=failed"))
    assert "Book 2 ✕ Failed" in failed
    assert "Book 3" not in failed
    assert "None like that." in await show(served, "/jobs?state=aside")
    assert "Book 35<" in await show(served, "/jobs?state=nonsense")


async def test_an_empty_history_says_how_to_begin(served: Page):
    assert "No job yet." in await show(served, "/jobs")


async def test_a_jobs_page_shows_all_attempts_and_the_raw_rows(served: Page):
    served.house.pair()
    served.house.library()
    served.house.job(4, "lost", attempt=1)
    wrong = {"path": "A/02.mp3", "size": 1, "expected_size": 2, "ok": False, "error": "not found here"}
    found = {"files": [wrong], "writable": False, "writable_error": "not checked", "elapsed_ms": 3}
    served.house.job(4, "failed", attempt=2, result=found, error="differs")
    text = await show(served, f"/jobs/{SERVER_ID}/4")
    read = words_of(text)
    for told in (
        "Attempt 2 ✕ Failed",
        "Attempt 1 ↺ Lost, taken again",
        "A/02.mp3 not found here",
        "mapped to the right folder",
        '"attempts"',
    ):
        assert told in read
    assert "<details" in text
    assert (await served.client.get(f"/jobs/{SERVER_ID}/5")).status == 404


async def test_cancelling_by_the_form_leads_back_to_where_it_stood(served: Page):
    served.house.pair()
    served.house.job(5, "running")
    status, path, text = await send(served, f"/jobs/{SERVER_ID}/5/cancel", back=f"/jobs/{SERVER_ID}/5")
    assert (status, path) == (200, f"/jobs/{SERVER_ID}/5?said=cancelled")
    assert "is being stopped" in text
    served.house.job(6, "done")
    assert (await send(served, f"/jobs/{SERVER_ID}/6/cancel", back="//evil.example"))[1] == "/?said=finished"


# ---- Settings, diagnostics


async def test_settings_show_values_origins_token_versions_and_log(served: Page):
    served.house.pair()
    logs.recent.lines.append(logs.Line(1_770_000_000.0, "warning", "Sending the heartbeat failed."))
    read = words_of(await show(served, "/settings"))
    for told in (
        "heartbeat_seconds default Between two heartbeats: 30 s",
        "data_dir command line",
        "The token ✓ Strong The token is in this computer’s keyring (GNOME Keyring).",
        "Server Maple House",
        "Sending the heartbeat failed.",
        "None is needed: only this machine reaches the page.",
        "Python 3.",
    ):
        assert told in read


@pytest.mark.requirement("R-025")
async def test_unpairing_asks_first_and_says_what_remains(served: Page):
    served.house.pair()
    assert "The console shows this Bridge until it is unpaired there too." in words_of(
        await show(served, "/settings")
    )
    status, path, text = await send(served, "/unpair")
    assert (status, path) == (200, "/?said=unpaired")
    assert "The server’s console still shows this Bridge until it is unpaired there too." in text


async def test_diagnostics_show_the_findings_and_a_text_for_a_report(served: Page):
    async def examine() -> list[dict[str, str]]:
        return [
            {"code": "a", "level": "ok", "sentence": "The data folder can be written.", "what_to_do": ""},
            {"code": "b", "level": "bad", "sentence": "The disk is full.", "what_to_do": "Free some space."},
        ]

    served.house.parts.examine = examine
    logs.masks.register("very-secret-thing")
    logs.recent.lines.append(logs.Line(0.0, "info", logs.masks.hide("it is very-secret-thing")))
    read = words_of(await show(served, "/diagnostics"))
    for told in (
        "Something keeps the Bridge from working.",
        "The disk is full. ✕ Bad Free some space.",
        '"status"',
    ):
        assert told in read
    assert "very-secret-thing" not in read


# ---- what comes from outside


async def test_nothing_from_outside_becomes_markup(served: Page):
    house = served.house
    house.pair("offline", reason=NASTY, server_name=NASTY)
    house.library(1, NASTY, root=NASTY, path=NASTY, ok=False, error=NASTY, hint=NASTY, deepest_existing=NASTY)
    house.mappings.rows[0]["proposals"] = [{"path": NASTY, "matched": 5, "of": 5}]
    bad = {"path": NASTY, "size": 1, "expected_size": 2, "ok": False, "error": NASTY}
    house.job(1, "failed", path=NASTY, error=NASTY, note=NASTY, result={"files": [bad], "elapsed_ms": 1})
    house.job(2, "needs_attention", path=NASTY, error=NASTY)
    house.job(3, "running", path=NASTY, progress={"step": "stat", "message": NASTY, "done": 1, "total": 2})
    house.job(4, "failed", path=NASTY, error=NASTY, kind=NASTY)
    house.parts.loops.say("heartbeat", NASTY)
    house.parts.notes.append(NASTY)
    logs.recent.lines.append(logs.Line(0.0, "info", NASTY))
    house.link.failure = PairFailed(422, "refused", NASTY)
    pages = [
        await show(served, path)
        for path in ("/", "/libraries", "/jobs", "/settings", "/diagnostics", f"/jobs/{SERVER_ID}/1")
    ]
    house.link.state = "unpaired"
    csrf = pages[0].partition('name="csrf" value="')[2].partition('"')[0]
    failed = await served.client.post("/pair", data={"csrf": csrf, "server_url": NASTY, "code": NASTY})
    pages.append(await failed.text())
    pages.append(await (await served.client.get(f"/{NASTY}")).text())
    for text in pages:
        assert "<script>alert" not in text
        assert "<img" not in text
        assert not re.search(r"\son\w+=", re.sub(r"&[#\w]+;", "", text).replace("onerror=alert", "")), text
    assert "&lt;script&gt;" in pages[0]


async def test_no_page_has_inline_scripts_or_styles_or_assets_from_elsewhere(served: Page):
    served.house.pair()
    served.house.library()
    served.house.job(1, "running")
    for path in (
        "/",
        "/libraries",
        "/jobs",
        "/settings",
        "/diagnostics",
        "/login",
        f"/jobs/{SERVER_ID}/1",
        "/x",
    ):
        text = await (await served.client.get(path)).text()
        assert not re.search(r"<script(?![^>]*\ssrc=)", text), path
        assert " style=" not in text
        assert "<style" not in text
        for link in re.findall(r'(?:src|href|action)="([^"]+)"', text):
            assert link.startswith((".", "#")), (path, link)


async def test_a_pages_address_can_not_put_words_into_its_mouth(served: Page):
    assert "evil" not in await show(served, "/?said=evil")


@pytest.mark.parametrize("path", ["/", "/jobs"])
async def test_where_no_job_is_it_says_what_can_be_queued(
    served: Page, monkeypatch: pytest.MonkeyPatch, path: str
):
    served.house.pair()
    assert "under Libraries: Verify ." in words_of(await show(served, path))
    lanes = [{"name": "speech", "limit": 1, "running": 0, "kinds": ["transcribe.book"]}]
    monkeypatch.setattr(served.house.jobs, "lanes", lambda: lanes)
    assert "under Libraries: Verify or Transcribe ." in words_of(await show(served, path))
