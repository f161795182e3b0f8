"""What no well-made client sends: odd numbers, depths, encodings, and callers who hang up in the middle."""

import asyncio
import hashlib
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from yarl import URL

from tests.fakes.bridge import VERIFY
from tests.fakes.clock import FakeClock
from tests.wire.server_rig import PASSWORD, Rig, lay_out_books, serving

DEEP = b'{"a":' * 20_000 + b"1" + b"}" * 20_000


@pytest.mark.requirement("R-064")
@pytest.mark.parametrize("attempt", [0, -1, 2, 1 << 60, 1 << 70])
async def test_an_attempt_that_no_claim_had_is_not_held(house: Rig, attempt: int):
    bridge = await house.pair()
    await house.queued()
    job = await bridge.claim()
    refused = await bridge.report(job, "running", attempt=attempt)
    assert (refused.status, refused.code) == (409, "not_held")
    assert refused["error"]["state"] == "claimed"
    assert (await bridge.report(job, "running")).status == 200


@pytest.mark.requirement("R-064")
@pytest.mark.parametrize("job_id", ["0", "-5", "abc", "9" * 30])
async def test_a_report_on_a_job_that_cannot_be_is_not_held(house: Rig, job_id: str):
    bridge = await house.pair()
    refused = await bridge.patch(f"/bridge/jobs/{job_id}", {"attempt": 1, "state": "running"})
    assert (refused.status, refused.code) == (409, "not_held")
    refused = await bridge.put_artifact({"id": job_id, "attempt": 1}, "a.json", b"{}")
    assert (refused.status, refused.code) == (409, "not_held")


@pytest.mark.parametrize("attempt", [0, 2, 1 << 70])
async def test_an_artifact_of_an_attempt_that_no_claim_had_is_not_held(house: Rig, attempt: int):
    bridge = await house.pair()
    await house.queued()
    job = await bridge.claim()
    refused = await bridge.put_artifact({**job, "attempt": attempt}, "a.json", b"{}")
    assert (refused.status, refused.code) == (409, "not_held")


async def test_bodies_nested_too_deep_are_refused_and_not_an_inner_error(house: Rig):
    bridge = await house.pair()
    await house.queued()
    job = await bridge.claim()
    typed = {"Content-Type": "application/json"}
    queued = b'{"kind":"bridge.verify","library_id":1,"params":' + DEEP + b"}"
    refused = await house.admin.call("POST", "/admin/bridge/jobs", data=queued, headers=typed)
    assert (refused.status, refused.code) == (400, "invalid_params")
    refused = await bridge.call("PUT", "/bridge/status", data=b'{"libraries":' + DEEP + b"}", headers=typed)
    assert (refused.status, refused.code) == (400, "invalid_status")
    for result in (DEEP, b'{"a":' * 200 + b"1" + b"}" * 200, b'{"a":"\xff","b":' + DEEP + b"}"):
        report = b'{"attempt":1,"state":"done","result":' + result + b"}"
        refused = await bridge.call("PATCH", f"/bridge/jobs/{job['id']}", data=report, headers=typed)
        assert (refused.status, refused.code) == (400, "invalid_report")
    nested: object = 1
    for _ in range(99):
        nested = [nested]
    assert (await bridge.report(job, "done", result={"a": nested})).status == 200
    assert (await house.job(job["id"]))["result"] == {"a": nested}


@pytest.mark.parametrize("wait", ["1_0", "٣", " 1", "0x1", "nan", "inf", "", "-1"])
async def test_a_wait_that_is_no_number_is_refused(house: Rig, wait: str):
    bridge = await house.pair()
    refused = await bridge.get("/bridge/jobs/next", params={"wait": wait})
    assert refused.status == 400


@pytest.mark.parametrize("wait", ["0", "0.0", "1e-9", ".000001"])
async def test_a_wait_may_have_a_fraction(house: Rig, wait: str):
    bridge = await house.pair()
    asked = asyncio.create_task(bridge.get("/bridge/jobs/next", params={"wait": wait}))
    if float(wait):
        await house.until_parked()
        await house.time.advance(0.001)
    assert (await asked).status == 204


@pytest.mark.parametrize("query", ["library_id=0", "library_id=-3", "before=0", "before=-1"])
async def test_an_id_that_no_row_has_leaves_nothing_of_the_list(house: Rig, query: str):
    await house.pair()
    await house.queued()
    assert (await house.admin.get(f"/admin/bridge/jobs?{query}")).body == {"jobs": [], "next_before": None}


async def test_fields_that_may_be_left_out_may_be_null(house: Rig):
    await house.pair()
    body = {"kind": VERIFY, "library_id": house.library_id, "path": None, "params": None, "priority": None}
    answer = await house.admin.post("/admin/bridge/jobs", body)
    assert (answer.status, answer["priority"], answer["params"]) == (201, 0, {})


@pytest.mark.requirement("R-027", "R-033")
async def test_a_credential_is_refused_before_its_body_is_looked_at(house: Rig):
    bridge = await house.pair()
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    refused = await bridge.call("POST", "/admin/bridge/jobs", data=b"a=b", headers=form)
    assert (refused.status, refused.code) == (401, "unauthorized")
    refused = await house.admin.call("PUT", "/bridge/status", data=b"a=b", headers=form)
    assert (refused.status, refused.code) == (401, "unauthorized")
    refused = await house.admin.call("POST", "/admin/bridge/jobs", data=b"a=b", headers=form)
    assert refused.status == 415


async def test_a_method_not_taken_is_told_with_those_that_are(house: Rig):
    refused = await house.nobody.call("OPTIONS", "/server")
    assert (refused.status, refused.code) == (405, "method_not_allowed")
    assert "GET" in refused.headers["Allow"]


async def test_a_body_that_does_not_unpack_is_refused_and_fills_no_log(
    house: Rig, caplog: pytest.LogCaptureFixture
):
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    with caplog.at_level(logging.INFO):
        refused = await house.nobody.call("POST", "/bridge/pair", data=b"no gzip", headers=headers)
        reader, writer = await asyncio.open_connection("127.0.0.1", house.home.port)
        writer.write(b"\x00\x01 junk\r\n\r\n")
        assert b"400" in await reader.readline()
        writer.close()
    assert (refused.status, refused.code) == (400, "bad_request")
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


@pytest.mark.requirement("R-031", "R-044")
async def test_a_change_goes_to_its_end_though_its_caller_hangs_up(house: Rig):
    bridge = await house.pair()
    parked = asyncio.create_task(bridge.next(20))
    await house.until_parked()
    seen = asyncio.Event()
    unpair = house.home.pairing.unpair

    async def watched() -> None:
        seen.set()
        await asyncio.sleep(0.1)
        await unpair()

    house.home.pairing.unpair = watched  # type: ignore[method-assign]
    called = asyncio.create_task(house.admin.delete("/admin/bridge"))
    await seen.wait()
    called.cancel()
    with pytest.raises(asyncio.CancelledError):
        await called
    assert (await parked).status == 401
    server = await house.nobody.get("/server")
    assert server["capabilities"] == {"bridge": False}


async def test_an_upload_that_breaks_off_leaves_nothing_behind(house: Rig):
    bridge = await house.pair()
    await house.queued()
    job = await bridge.claim()
    incoming = house.home.settings.data_dir / "artifacts" / "incoming"

    async def half() -> AsyncIterator[bytes]:
        yield b"a" * 5000
        while not (incoming.is_dir() and list(incoming.iterdir())):
            await asyncio.sleep(0.01)
        raise aiohttp.ClientError("gone")

    headers = {
        "X-Job-Attempt": "1",
        "Content-Type": "text/plain",
        "X-Content-SHA256": hashlib.sha256(b"a" * 9000).hexdigest(),
    }
    with pytest.raises((aiohttp.ClientError, OSError)):
        await bridge.call("PUT", f"/bridge/jobs/{job['id']}/artifacts/a.txt", data=half(), headers=headers)
    for _ in range(200):
        if not list(incoming.iterdir()):
            break
        await asyncio.sleep(0.01)
    assert list(incoming.iterdir()) == []
    assert (await bridge.report(job, "running")).status == 200


async def test_an_artifact_whose_file_was_cleared_away_is_not_found(house: Rig):
    bridge = await house.pair()
    await house.queued()
    job = await bridge.claim()
    assert (await bridge.put_artifact(job, "a.json", b"{}")).status == 200
    (house.home.settings.data_dir / "artifacts" / str(job["id"]) / "1" / "a.json").unlink()
    answer = await house.admin.get(f"/admin/bridge/jobs/{job['id']}/artifacts/a.json")
    assert (answer.status, answer.code) == (404, "not_found")


async def test_a_name_is_answered_as_it_is_kept(house: Rig):
    made = await house.admin.post("/admin/api-keys", {"name": " a\x07b" + "x" * 500})
    kept = (await house.admin.get("/admin/api-keys"))["api_keys"][0]["name"]
    assert made["name"] == kept == "a b" + "x" * 124
    made = await house.admin.post("/admin/libraries", {"name": "My\nbooks\x00", "root": str(house.books)})
    assert (made.status, made["name"]) == (201, "My books")


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("multipart/form-data", b"--x\r\njunk"),
        ("multipart/form-data; boundary=x", b"--x\r\njunk"),
        ("application/x-www-form-urlencoded", b"\xff\xfe=1"),
        ("application/x-www-form-urlencoded; charset=nonsense", b"csrf=1"),
        ("application/x-www-form-urlencoded", b"csrf=%C3%A4"),
    ],
)
async def test_a_form_that_no_page_sends_is_refused_with_a_page(house: Rig, kind: str, body: bytes):
    url = house.home.url + "/sign-in"
    async with house.http.post(url, data=body, headers={"Content-Type": kind}) as answer:
        assert answer.status in (400, 403)
        assert answer.content_type == "text/html"


async def test_behind_a_trusted_proxy_that_ends_tls_the_browsers_origin_is_ours(
    tmp_path: Path, clock: FakeClock
):
    sign_in = {"username": "admin", "password": PASSWORD}
    outside = {
        "X-Forwarded-Proto": "https",
        "X-Forwarded-Host": "home.example",
        "Origin": "https://home.example",
    }
    async with serving(tmp_path / "a", clock, trusted_proxies=("127.0.0.1",)) as house:
        answer = await house.nobody.post("/auth/login", sign_in, headers=outside)
        assert answer.status == 200
        assert "; Secure" in answer.headers["Set-Cookie"]
        other = {**outside, "Origin": "https://evil.example"}
        assert (await house.nobody.post("/auth/login", sign_in, headers=other)).status == 403
    async with serving(tmp_path / "b", clock) as house:
        assert (await house.nobody.post("/auth/login", sign_in, headers=outside)).status == 403


async def test_a_file_with_a_line_break_in_its_name_is_served(house: Rig):
    folder = house.books / "Odd\nname {x}"
    folder.mkdir()
    (folder / "a\tb.wav").write_bytes((house.books / "Book 1" / "all.wav").read_bytes())
    assert (await house.admin.post(f"/admin/libraries/{house.library_id}/scan")).status == 202
    await house.home.library.settled()
    url = URL(
        f"{house.home.url}/api/v1/media/{house.library_id}/Odd%0Aname%20%7Bx%7D/a%09b.wav", encoded=True
    )
    headers = {"Authorization": f"Bearer {house.admin.token}"}
    async with house.http.get(url, headers=headers) as answer:
        assert answer.status == 200
        assert await answer.read() == (folder / "a\tb.wav").read_bytes()


async def test_an_artifacts_name_in_braces_is_a_wrong_name_and_no_missing_route(house: Rig):
    bridge = await house.pair()
    await house.queued()
    refused = await bridge.put_artifact(await bridge.claim(), "a{b}.json", b"{}")
    assert (refused.status, refused.code) == (400, "invalid_artifact")


async def test_a_library_removed_in_the_middle_of_its_scan_is_no_failure(
    house: Rig, caplog: pytest.LogCaptureFixture
):
    with caplog.at_level(logging.INFO):
        for number in range(10):
            root = house.books.parent / f"more {number}"
            lay_out_books(root)
            added = await house.admin.post("/admin/libraries", {"name": "More", "root": str(root)})
            assert (await house.admin.delete(f"/admin/libraries/{added['id']}")).status == 204
        await house.home.library.settled()
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []


async def test_a_stream_of_events_carries_the_security_headers_too(house: Rig):
    headers = {"Cookie": f"home_session={house.admin.token}"}
    async with house.http.get(house.home.url + "/console/events", headers=headers) as answer:
        assert answer.status == 200
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"


async def test_a_book_of_the_list_has_the_documented_fields_and_no_more(house: Rig):
    answer = await house.admin.get(f"/libraries/{house.library_id}/books")
    fields = {"path", "title", "author", "series", "duration", "size", "files", "state"}
    assert {name for book in answer["books"] for name in book} == fields


@pytest.mark.parametrize("query", ["before=abc", "library=zz&state=junk", "before=-1", "library=%C2%B2"])
async def test_a_choice_of_jobs_that_is_none_counts_as_not_chosen(house: Rig, query: str):
    await house.pair()
    await house.queued()
    headers = {"Cookie": f"home_session={house.admin.token}"}
    async with house.http.get(f"{house.home.url}/jobs?{query}", headers=headers) as answer:
        assert answer.status == 200
        assert "Book 1" in await answer.text()
