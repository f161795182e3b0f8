"""The jobs' pages: asked for, followed, cancelled, gone on with; what a Bridge reports is shown as text."""

import hashlib
import shutil
import sys

import pytest

from tests.page.console_rig import API, DEMO, Browser, OtherHalf

EVIL = '<script>alert("x")</script><img src=x onerror=alert(1)>'


@pytest.fixture
async def bridge(browser, home):
    other = await OtherHalf.paired(browser, home)
    yield other
    await other.close()


async def test_verify_without_a_bridge_says_to_pair_one(browser):
    page = await browser.send("/libraries/1/verify")
    assert page.url.startswith("/libraries/1")
    assert "No Bridge is paired yet" in page.text


@pytest.mark.requirement("R-097")
async def test_verify_on_a_library_queues_its_sample_book_and_leads_to_the_job(browser, bridge):
    page = await browser.send("/libraries/1/verify")
    assert page.url.startswith("/jobs/1")
    assert "The job was queued" in page.text
    job = await bridge.claim()
    assert job["path"] in page.text


@pytest.mark.requirement("R-098")
async def test_a_hold_is_passed_on_and_judged(browser, home, bridge):
    books = await home.library.books(1)
    path = books.books[0].path
    wrong = await browser.send("/libraries/1/verify", {"path": path, "hold_seconds": "601"})
    assert wrong.status == 400
    assert "from 0 to 600" in wrong.text
    await browser.send("/libraries/1/verify", {"path": path, "hold_seconds": "7"})
    assert (await bridge.claim())["params"] == {"hold_seconds": 7}


@pytest.mark.skipif(sys.platform == "win32", reason="no name there holds a line break")
async def test_a_book_with_a_line_break_in_its_name_can_be_verified(browser, home, bridge, tmp_path):
    shutil.copytree(DEMO / "Folk Tales" / "Stone Soup", tmp_path / "odd" / "Nl" / "line\nbreak")
    odd = await home.library.add("Odd", tmp_path / "odd")
    home.library.request_scan(odd.id)
    await home.library.settled()
    # As browsers send what the hidden field holds.
    await browser.send(f"/libraries/{odd.id}/verify", {"path": "Nl/line\r\nbreak"})
    assert (await bridge.claim())["path"] == "Nl/line\nbreak"


@pytest.mark.requirement("R-109")
async def test_a_result_is_one_line_with_the_raw_json_under_details(browser, bridge):
    await browser.send("/libraries/1/verify")
    job = await bridge.claim()
    result = {
        "library_id": 1,
        "mount_path": "/mnt/books",
        "path": job["path"],
        "files": [{"path": f"{job['path']}/a.mp3", "size": 5, "expected_size": 5, "ok": True}],
        "writable": True,
        "elapsed_ms": 412,
    }
    await bridge.report(job, "done", result=result)
    page = await browser.get("/jobs")
    line = (
        f"1 of 1 file matches · the folder can be written · took 0.4 s · looked in /mnt/books/{job['path']}"
    )
    assert line in page.text
    assert "<details" in page.html
    assert "&#34;elapsed_ms&#34;: 412" in page.html
    assert "Nothing is running." in page.text


async def test_what_a_bridge_reports_is_never_markup(browser, bridge):
    await browser.send("/libraries/1/verify")
    job = await bridge.claim()
    await bridge.report(job, "running", progress={"step": "stat", "message": EVIL, "done": 1, "total": 2})
    during = await browser.get(f"/jobs/{job['id']}")
    files = [{"path": EVIL, "size": 1, "expected_size": 2, "ok": False, "error": EVIL}]
    result = {
        "mount_path": EVIL,
        "path": EVIL,
        "files": files,
        "writable": False,
        "elapsed_ms": 1,
        EVIL: EVIL,
    }
    await bridge.report(job, "failed", error=EVIL, result=result)
    for page in (during, await browser.get("/jobs"), await browser.get(f"/jobs/{job['id']}")):
        assert "<script>alert" not in page.html
        assert "<img src=x" not in page.html
        assert "&lt;script&gt;alert" in page.html


@pytest.mark.requirement("R-071")
async def test_a_waiting_job_is_cancelled_at_once(browser, bridge):
    await browser.send("/libraries/1/verify")
    page = await browser.send("/jobs/1/cancel")
    assert "The job is cancelled." in page.text
    assert "Cancelled before it began." in page.text
    again = await browser.send("/jobs/1/cancel")
    assert "already ended" in again.text


@pytest.mark.requirement("R-072", "R-076")
async def test_a_running_job_is_still_stopping_until_the_bridge_says_so(browser, bridge):
    await browser.send("/libraries/1/verify")
    job = await bridge.claim()
    page = await browser.send(f"/jobs/{job['id']}/cancel")
    assert "Still stopping: the Bridge is told at its next report." in page.text
    assert "Stopping" in page.text
    once_more = await browser.send("/libraries/1/verify")
    assert "still stopping, so no new one was queued" in once_more.text
    assert once_more.url.startswith(f"/jobs/{job['id']}")
    answer = await bridge.report(job, "cancelled")
    assert answer["state"] == "cancelled"
    assert "Cancelled" in (await browser.get("/jobs")).text


async def test_asking_twice_leads_to_the_open_job(browser, bridge):
    await browser.send("/libraries/1/verify")
    page = await browser.send("/libraries/1/verify")
    assert "already asked for" in page.text
    assert page.url.startswith("/jobs/1")


async def test_a_job_that_needs_attention_says_what_to_do(browser, bridge):
    await browser.send("/libraries/1/verify")
    job = await bridge.claim()
    await bridge.report(job, "needs_attention", error="The disk is full; free some space.")
    page = await browser.get("/jobs")
    assert "1 job needs you." in page.text
    assert "The disk is full; free some space." in page.text
    assert "It goes on by itself once that is mended" in page.text


async def test_go_on_queues_a_failed_job_anew(browser, bridge):
    await browser.send("/libraries/1/verify")
    first = await bridge.claim()
    await bridge.report(first, "failed", error="the mount was gone")
    page = await browser.send(f"/jobs/{first['id']}/again")
    assert "queued anew" in page.text
    second = await bridge.claim()
    assert (second["path"], second["params"]) == (first["path"], first["params"])
    assert second["id"] > first["id"]


async def test_the_list_is_filtered_by_state_and_library(browser, bridge):
    await browser.send("/libraries/1/verify")
    job = await bridge.claim()
    await bridge.report(job, "failed", error="the mount was gone")
    assert "The mount was gone." in (await browser.get("/jobs?state=failed&library=1")).text
    assert "No job fits" in (await browser.get("/jobs?state=done")).text
    assert "No job fits" in (await browser.get("/jobs?state=open")).text
    assert "The mount was gone." in (await browser.get("/jobs?state=nonsense")).text


async def test_the_list_goes_on_to_older_jobs(browser, home, bridge):
    for _ in range(27):
        job, _ = await home.jobs.queue("bridge.verify", 1)
        await home.jobs.cancel(job.id)
    page = await browser.get("/jobs")
    assert page.html.count('id="job-') == 25
    assert "before=3" in page.html
    older = await browser.get("/jobs?before=3")
    assert older.html.count('id="job-') == 2
    assert "Newest" in older.text


async def test_an_artifact_that_is_a_web_page_is_kept_as_a_file_and_never_rendered(browser, bridge):
    await browser.send("/libraries/1/verify")
    job = await bridge.claim()
    raw = b"<!doctype html><script>alert(document.cookie)</script>"
    digest = hashlib.sha256(raw).hexdigest()
    assert await bridge.hand_in(job, "page.html", "text/plain", raw, digest) == 200
    page = await browser.get(f"/jobs/{job['id']}")
    link = f"{API}/admin/bridge/jobs/{job['id']}/artifacts/page.html"
    assert f'href="..{link}"' in page.html
    fetched = await browser.get(link)
    assert fetched.headers["Content-Disposition"].startswith("attachment")
    assert fetched.headers["X-Content-Type-Options"] == "nosniff"
    assert "html" not in fetched.headers["Content-Type"]
    assert fetched.headers["Content-Security-Policy"].startswith("default-src 'none'")


async def test_the_stream_tells_an_admin_of_changes_and_nobody_else(browser, home, bridge):
    async with browser.session.get("/console/events") as stream:
        assert stream.headers["Content-Type"].startswith("text/event-stream")
        job, _ = await home.jobs.queue("bridge.verify", 1)
        seen = b""
        while b"event: job" not in seen:
            seen += await stream.content.readany()
        assert f'"id":{job.id}'.encode() in seen
    await home.users.create("maria", "her-password", "user")
    maria = Browser(home)
    await maria.sign_in("maria", "her-password")
    assert (await maria.get("/console/events")).status == 403
    await maria.close()
