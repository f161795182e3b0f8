"""Where the wire's own document is silent or its server odd: each is kept, or bettered, on purpose."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bridge_agent.base.clock import to_text
from bridge_agent.store.database import StoreFull
from bridge_agent.worker_api.transcription_v1.ids import to_wire
from tests.fakes.clock import FakeClock, settle
from tests.unit.worker_api.rig import WorkRig
from tests.unit.worker_api.wire_rig import NF, Caller, WireRig


@pytest.fixture
async def rig(tmp_path: Path, clock: FakeClock) -> AsyncIterator[WorkRig]:
    rig = WorkRig(tmp_path, clock)
    await rig.open_up()
    yield rig
    await rig.tasks.cancel()


# ---- transport: kept


@pytest.mark.requirement("V-07", "V-15")
async def test_paths_are_taken_in_any_case_and_with_a_slash_at_the_end(rig: WorkRig, a: Caller) -> None:
    await rig.offered("a")
    job = (await a.call("POST", f"{a.url}/Worker/V1/JOBS/Claim-Download/")).job
    assert (await a.get(f"JOBS/{job['id'].upper()}/")).job["id"] == job["id"]
    assert (await a.get(f"jobs/{job['id']}/SOURCE")).status == 200


@pytest.mark.requirement("V-04")
async def test_head_is_answered_where_get_is(rig: WorkRig, a: Caller) -> None:
    await rig.offered("a")
    job = await a.claim()
    head = await a.call("HEAD", f"jobs/{job['id']}/source")
    assert (head.status, head.raw) == (200, b"")
    assert head.headers["Content-Type"] == "application/json; charset=utf-8"
    assert (await a.call("HEAD", "jobs/zz")).status == 400


@pytest.mark.requirement("V-01")
async def test_the_token_is_judged_before_the_path_and_the_body(server: WireRig, a: Caller) -> None:
    missing = (401, {"error": "missing_worker_token"})
    bare = server.caller(None)
    for path in ("jobs/claim", "nothing", "", "jobs/zz", "jobs/zz/result"):
        assert (await bare.call("POST", path, raw=b"{")).told == missing
    for method, path in (("GET", "nothing"), ("POST", "jobs/x/y"), ("PUT", "jobs/claim"), ("GET", "jobs")):
        answer = await a.call(method, path)
        assert answer.told == (404, {"error": "not_found"})
        assert b"<" not in answer.raw


@pytest.mark.requirement("V-06")
async def test_id_then_body_then_owner_are_judged_in_that_order(rig: WorkRig, a: Caller, b: Caller) -> None:
    await rig.offered("a")
    id_ = (await a.claim())["id"]
    assert (await b.post("jobs/zz/result", {})).told == (400, {"error": "invalid_job_id"})
    assert (await b.post(f"jobs/{id_}/result", {})).told == (400, {"error": "result_text_required"})
    assert (await b.post(f"jobs/{id_}/result", {"text": ""})).told == NF


@pytest.mark.requirement("V-15")
@pytest.mark.parametrize(
    "raw", [b"", b"  ", b"[]", b'[{"bucket": "newest"}]', b'{"bucket": {"x": null}, "y": 1}']
)
async def test_bodies_that_say_nothing_of_use_are_taken(rig: WorkRig, a: Caller, raw: bytes) -> None:
    await rig.offered("ab", cut=2)
    job = (await a.call("POST", "jobs/claim-download", raw=raw)).job
    assert job["sourceMessageId"] == 0


async def test_a_body_that_is_called_something_else_counts_as_none(rig: WorkRig, a: Caller) -> None:
    await rig.offered("ab", cut=2)
    headers = {"Content-Type": "text/plain"}
    job = (await a.call("POST", "jobs/claim-download", raw=b'{"bucket":"newest"}', headers=headers)).job
    assert job["sourceMessageId"] == 0


# ---- transport: bettered


@pytest.mark.parametrize("raw", [b"{", b"null", b'"x"', b"1", b"\xff\xfe", b'{"x": NaN}', b"[" * 100_000])
async def test_a_body_that_is_no_json_object_is_refused_in_json(a: Caller, raw: bytes) -> None:
    answer = await a.call("POST", "jobs/claim-download", raw=raw)
    assert answer.told == (400, {"error": "invalid_json"})


async def test_a_body_beyond_a_mebibyte_is_refused_in_json(a: Caller) -> None:
    answer = await a.call("POST", "jobs/claim", raw=b'{"x": "' + b"a" * (1 << 20) + b'"}')
    assert answer.told == (413, {"error": "payload_too_large"})


async def test_a_body_that_is_not_packed_as_it_says_is_refused_in_json(a: Caller) -> None:
    headers = {"Content-Encoding": "gzip"}
    answer = await a.call("POST", "jobs/claim-download", raw=b'{"bucket": "newest"}', headers=headers)
    assert answer.told == (400, {"error": "invalid_json"})


async def test_a_text_that_was_cut_within_a_character_is_taken(rig: WorkRig, a: Caller) -> None:
    recording = await rig.offered("a")
    id_ = (await a.transcribing())["id"]
    raw = b'\xef\xbb\xbf{"text": "caf\\u00e9 \\ud83d", "metadata": {"a": ["\\ud83d"]}}'
    assert (await a.call("POST", f"jobs/{id_}/result", raw=raw)).status == 200
    await rig.finish(rig.running)
    assert (await rig.pipeline.results(recording)).parts[0].result.segments[0].text == "café �"


@pytest.mark.requirement("S-15")
async def test_a_storm_of_wrong_tokens_is_damped_while_the_right_one_works(
    server: WireRig, rig: WorkRig, a: Caller
) -> None:
    wrong = server.caller("wrk_wrong")
    answers = [await wrong.post("jobs/claim") for _ in range(50)]
    assert [answer.status for answer in answers] == [401] * 20 + [429] * 30
    assert answers[-1].body == {"error": "too_many_requests"}
    assert 1 <= int(answers[-1].headers["Retry-After"]) <= 60
    assert (await a.post("jobs/claim")).status == 204


# ---- objects: kept


@pytest.mark.requirement("V-02", "V-04")
async def test_a_job_has_all_that_is_always_there_and_nothing_that_is_null(rig: WorkRig, a: Caller) -> None:
    await rig.offered("ab", cut=2)
    await a.claim()
    job = await a.claim()
    assert len(job["id"]) == 24
    assert job["id"] == job["id"].lower() == job["fileId"]
    int(job["id"], 16)
    assert (job["chatId"], job["telegramChatId"], job["sourceMessageId"]) == ("bridge", "bridge", 1)
    assert (job["sourceKind"], job["mimeType"], job["recognitionLanguageHint"]) == (
        "audio",
        "audio/flac",
        "en",
    )
    for moment in ("createdAt", "updatedAt", "claimedAt", "heartbeatAt"):
        assert job[moment].endswith("Z")
        assert len(job[moment]) == len("2026-11-30T12:51:42.271Z")
    assert None not in job.values()
    assert not {"localSourcePath", "downloadedAt", "partialResultText", "resultText", "workerId"} & set(job)


async def test_downloaded_tells_a_whole_job_to_go_on_with(rig: WorkRig, a: Caller) -> None:
    await rig.offered("a")
    job = await a.ready()
    assert {"sourceKind", "recognitionLanguageHint", "sourceUrl", "downloadedAt", "fileSize"} <= set(job)


# ---- the audio's address


@pytest.mark.requirement("V-04")
async def test_a_parts_audio_is_to_be_had_by_its_address_alone_while_the_claim_lives(
    server: WireRig, rig: WorkRig, a: Caller
) -> None:
    await rig.offered("xyz", cut=3)
    job = await a.claim()
    url, stranger = job["sourceUrl"], server.caller(None)
    answer = await stranger.get(url)
    assert (answer.status, answer.raw) == (200, b"x")
    assert answer.headers["Content-Type"] == "audio/flac"
    head = await stranger.call("HEAD", url)
    assert (head.status, head.headers["Content-Length"]) == (200, "1")
    assert (await stranger.call("GET", url, headers={"Range": "bytes=0-0"})).status == 206
    assert a.token not in url
    for wrong in (
        f"{url[:-6]}{'B' if url[-6] == 'A' else 'A'}.flac",
        url.replace("/audio/", "/audio/f"),
        url + "/x",
        f"{server.url}/worker/v1/audio/",
    ):
        refused = await stranger.get(wrong)
        assert refused.status in (401, 404)
        assert refused.raw != b"x"
    other = (await a.claim())["sourceUrl"]
    assert other != url
    await a.post(f"jobs/{job['id']}/failure", {"error": "x"})
    gone = await stranger.get(url)
    assert gone.told == (404, {"error": "not_found"})
    assert gone.headers["Connection"] == "close"
    await rig.clock.advance(10)
    again = await a.claim()
    assert again["id"] == job["id"]
    assert again["sourceUrl"] != url
    assert (await stranger.get(url)).status == 404
    assert (await stranger.get(again["sourceUrl"])).status == 200
    await rig.clock.advance(901)
    assert (await stranger.get(again["sourceUrl"])).status == 404


async def test_audio_that_is_gone_is_cut_again_and_its_job_is_not_the_callers_any_more(
    server: WireRig, rig: WorkRig, a: Caller
) -> None:
    recording = await rig.offered("a")
    job = await a.claim()
    rig.pipeline.audio(recording, 0).unlink()
    assert (await a.get(job["sourceUrl"])).status == 404
    assert (await a.post(f"jobs/{job['id']}/failure", {"error": "x"})).told == NF
    await rig.until(lambda: rig.decoder.cuts == [0, 0])
    again = await a.claim()
    assert again["attempts"] == 2
    assert (await a.get(again["sourceUrl"])).raw == b"a"


async def test_no_log_holds_a_token_or_an_audio_address(
    server: WireRig, rig: WorkRig, a: Caller, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    await rig.offered("a")
    job = await a.claim()
    await a.get(job["sourceUrl"])
    await a.post(f"jobs/{job['id']}/failure", {"error": "broken"})
    await server.caller(a.token + "x").get("jobs/zz")
    assert a.token is not None
    assert "broken" in caplog.text
    assert a.token not in caplog.text
    assert job["sourceUrl"].rpartition("/")[2] not in caplog.text


# ---- states: kept


@pytest.mark.requirement("V-07")
async def test_what_the_same_worker_found_again_is_not_to_be_begun_twice(rig: WorkRig, a: Caller) -> None:
    await rig.offered("a")
    job = await a.ready()
    assert (await a.post("jobs/claim-ready")).job["id"] == job["id"]
    assert (await a.post(f"jobs/{job['id']}/transcribe")).told == NF


@pytest.mark.requirement("V-15")
async def test_an_older_workers_claim_finds_what_it_has_ready_first_and_always_the_oldest(
    server: WireRig, rig: WorkRig, a: Caller
) -> None:
    await rig.offered("abc", cut=3)
    first = await a.ready()
    await server.soon()
    await a.ready()
    job = (await a.post("jobs/claim", {"bucket": "newest"})).job
    assert (job["id"], job["status"]) == (first["id"], "transcribing")


@pytest.mark.requirement("V-14")
async def test_an_older_workers_part_has_no_place_on_its_disk_and_comes_back_by_its_time_alone(
    rig: WorkRig, a: Caller
) -> None:
    await rig.offered("a")
    job = (await a.post("jobs/claim")).job
    await rig.clock.advance(901)
    assert (await a.post("jobs/claim-ready")).status == 204
    assert (await a.claim_soon(rig))["attempts"] == job["attempts"] + 1


@pytest.mark.requirement("V-09", "V-11")
async def test_what_progress_said_is_kept_where_the_result_is_silent(rig: WorkRig, a: Caller) -> None:
    recording = await rig.offered("a")
    id_ = (await a.transcribing())["id"]
    said: dict[str, Any] = {
        "language": "de",
        "engine": "w",
        "duration": 100,
        "metadata": {"model": "large-v3"},
    }
    await a.post(f"jobs/{id_}/progress", {"text": "x", **said})
    await a.post(f"jobs/{id_}/progress", {"text": "xy", "metadata": {"device": "cuda"}})
    await a.post(f"jobs/{id_}/result", {"text": "xyz", "language": "fr"})
    await rig.finish(rig.running)
    result = (await rig.pipeline.results(recording)).parts[0].result
    assert (result.language, result.engine.name, result.engine.device) == ("fr", "w", "cuda")
    # The last metadata stands for itself: the model is the one that its token names.
    assert result.engine.model == "tiny"
    assert result.segments[0].end == 100 * 16_000


@pytest.mark.requirement("V-11", "V-13")
@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("failure", {"retryable": True}, "queued_for_download"),
        ("failure", {"retryable": False}, "failed"),
        ("result", {"text": "x"}, "completed"),
    ],
)
async def test_a_job_that_leaves_its_worker_has_the_time_of_that(
    rig: WorkRig, a: Caller, path: str, body: dict[str, Any], status: str
) -> None:
    await rig.offered("a")
    begun = await a.transcribing()
    await rig.clock.advance(10)
    job = (await a.post(f"jobs/{begun['id']}/{path}", body)).job
    now = to_text(rig.clock.now())
    assert (job["status"], job["updatedAt"]) == (status, now)
    beat = {"queued_for_download": None, "failed": now, "completed": begun["heartbeatAt"]}
    assert job.get("heartbeatAt") == beat[status]
    assert "failedAt" not in job


async def test_nothing_is_kept_of_when_the_words_of_claims_that_are_over_were_shown(
    server: WireRig, rig: WorkRig, a: Caller
) -> None:
    await rig.offered("abc", cut=3)
    for path in ("failure", "result", "heartbeat"):
        id_ = (await a.transcribing())["id"]
        await a.post(f"jobs/{id_}/progress", {"text": "x"})
        await a.post(f"jobs/{id_}/{path}", {"text": "x"})
        await rig.clock.advance(2.5)
    assert len(server.wire._published) == 1


async def test_progress_and_result_are_for_a_part_that_is_being_transcribed(rig: WorkRig, a: Caller) -> None:
    await rig.offered("a")
    id_ = (await a.ready())["id"]
    assert (await a.post(f"jobs/{id_}/progress", {"text": "x"})).told == NF
    assert (await a.post(f"jobs/{id_}/result", {"text": "x"})).told == NF


# ---- states: bettered


async def test_a_silent_download_and_a_ready_part_of_a_vanished_worker_come_back(
    rig: WorkRig, a: Caller, b: Caller
) -> None:
    await rig.offered("ab", cut=2)
    downloading, ready = await a.claim(), await a.ready()
    assert (await b.post("jobs/claim-download")).status == 204
    await rig.clock.advance(901)
    back = [await b.claim_soon(rig), await b.claim_soon(rig)]
    assert [job["id"] for job in back] == [downloading["id"], ready["id"]]
    assert [job["attempts"] for job in back] == [2, 2]
    assert (await a.post(f"jobs/{ready['id']}/heartbeat")).told == NF
    assert (await a.post(f"jobs/{downloading['id']}/downloaded", {"localSourcePath": "/x"})).told == NF


async def test_a_part_that_kills_its_worker_again_and_again_is_dead_after_its_tries(
    rig: WorkRig, a: Caller
) -> None:
    recording = await rig.offered("a")
    await a.transcribing()
    for _ in range(2):
        await rig.clock.advance(901)
        assert (await a.post("jobs/claim-ready")).job["attempts"] == 1
    await rig.clock.advance(901)
    assert (await a.post("jobs/claim-ready")).status == 204
    await rig.finish(rig.running)
    ended = await rig.pipeline.get(recording)
    assert ended is not None
    assert ended.state == "failed"


async def test_a_verdict_for_good_is_one_workers_own_where_others_are_there(
    rig: WorkRig, a: Caller, b: Caller
) -> None:
    await rig.offered("a")
    job = await a.claim()
    told = {"error": "Worker source URL is not allowed", "retryable": False}
    assert (await a.post(f"jobs/{job['id']}/failure", told)).job["status"] == "failed"
    assert (await a.post("jobs/claim-download")).status == 204
    assert (await b.claim())["id"] == job["id"]


async def test_a_cancelled_book_leaves_nothing_to_its_worker(rig: WorkRig, a: Caller) -> None:
    recording = await rig.offered("a")
    id_ = (await a.transcribing())["id"]
    await rig.pipeline.cancel(recording)
    for path in ("heartbeat", "result", "failure"):
        assert (await a.post(f"jobs/{id_}/{path}", {"text": "x"})).told == NF
    await rig.finish(rig.running)


async def test_a_result_waits_for_room_on_the_disk_since_its_worker_would_throw_it_away(
    rig: WorkRig, a: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    await rig.offered("a")
    id_ = (await a.transcribing())["id"]
    whole, full = rig.service.complete, [StoreFull(), StoreFull()]

    async def complete(*given: Any) -> object:
        if full:
            raise full.pop()
        return await whole(*given)

    monkeypatch.setattr(rig.service, "complete", complete)
    sent = asyncio.ensure_future(a.post(f"jobs/{id_}/result", {"text": "x"}))
    while full:
        await asyncio.sleep(0.01)
        await rig.clock.advance(1)
    while not sent.done():
        await asyncio.sleep(0.01)
        await rig.clock.advance(1)
    assert (await sent).job["status"] == "completed"


async def test_what_goes_wrong_here_is_told_in_json(
    rig: WorkRig, a: Caller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*given: object, **named: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(rig.service, "claim", broken)
    assert (await a.post("jobs/claim-download")).told == (500, {"error": "worker_api_error"})
    assert "ZeroDivisionError" in caplog.text


# ---- across a restart


async def test_claims_addresses_and_tokens_outlive_a_restart(
    server: WireRig, rig: WorkRig, a: Caller
) -> None:
    await rig.offered("ab", cut=2)
    job, ready = await a.transcribing(), await a.ready()
    await rig.clock.advance(600)
    await server.stop()
    rig.running.cancel()
    await asyncio.gather(rig.running, return_exceptions=True)
    await rig.restart()
    await server.start()
    back = server.caller(a.token)
    assert (await back.get(f"jobs/{ready['id']}")).job["localSourcePath"] == ready["localSourcePath"]
    path = job["sourceUrl"].partition("/worker/v1/")[2]
    assert (await back.get(path)).status == 200
    assert (await back.post(f"jobs/{job['id']}/result", {"text": "over the restart"})).status == 200
    recording, running = await rig.start(rig.order(rig.book("ab"), job="s/book"))
    await settle()
    await back.post(f"jobs/{ready['id']}/transcribe")
    assert (await back.post(f"jobs/{ready['id']}/result", {"text": "too"})).status == 200
    await rig.finish(running)
    texts = [part.result.segments[0].text for part in (await rig.pipeline.results(recording)).parts]
    assert texts == ["over the restart", "too"]
    assert rig.decoder.cuts == [0, 1]


async def test_a_claim_that_ran_out_while_the_bridge_was_down_is_free(
    server: WireRig, rig: WorkRig, a: Caller
) -> None:
    await rig.offered("a")
    job = await a.claim()
    rig.running.cancel()
    await asyncio.gather(rig.running, return_exceptions=True)
    await server.stop()
    await rig.clock.advance(901)
    await rig.restart()
    await server.start()
    other = await server.worker("other")
    _, rig.running = await rig.start(rig.order(rig.book("a"), job="s/book"))
    await rig.pass_time(2)
    assert (await other.claim())["id"] == job["id"]
    assert to_wire(1) == "000000000000000000000001"
