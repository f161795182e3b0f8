"""The fifteen checks of the wire `/worker/v1`, over a real server."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bridge_agent.transcription.pipeline.policy import Retries
from tests.fakes.clock import FakeClock
from tests.unit.worker_api.rig import WorkRig
from tests.unit.worker_api.wire_rig import NF, Caller, WireRig

BOT_URL = "https://api.telegram.org/file/bot123:ABC/voice/f.oga"


@pytest.fixture
async def rig(tmp_path: Path, clock: FakeClock) -> AsyncIterator[WorkRig]:
    rig = WorkRig(tmp_path, clock, retries=Retries(most_tries=3, first_pause_s=5.0))
    await rig.open_up()
    yield rig
    await rig.tasks.cancel()


@pytest.mark.requirement("V-01")
async def test_only_a_right_bearer_token_gets_in(server: WireRig, rig: WorkRig, a: Caller) -> None:
    await rig.offered("a")
    bare = server.caller(None)
    for header in (None, f"bearer {a.token}", f"Bearer {a.token} x", f"Bearer  {a.token}", "Bearer", a.token):
        headers = {} if header is None else {"Authorization": header}
        answer = await bare.call("POST", "jobs/claim-download", headers=headers)
        assert answer.told == (401, {"error": "missing_worker_token"})
        assert "WWW-Authenticate" not in answer.headers
    unknown = (401, {"error": "invalid_worker_token"})
    assert (await server.caller("wrk_unknown").post("jobs/claim-download")).told == unknown
    revoked = await server.worker("revoked")
    await rig.service.revoke(revoked.token_id)
    assert (await revoked.post("jobs/claim-download")).told == unknown
    assert (await a.claim())["attempts"] == 1


@pytest.mark.requirement("V-02")
async def test_of_two_who_claim_one_part_at_once_one_gets_it(
    server: WireRig, rig: WorkRig, a: Caller, b: Caller
) -> None:
    for round_ in range(20):
        await rig.offered(chr(97 + round_), name=f"book{round_}", cut=round_ + 1)
        answers = await asyncio.gather(a.post("jobs/claim-download"), b.post("jobs/claim-download"))
        won = next(answer for answer in answers if answer.status == 200)
        lost = next(answer for answer in answers if answer is not won)
        assert (lost.status, lost.raw) == (204, b"")
        job = won.job
        assert (job["status"], job["attempts"]) == ("downloading", 1)
        assert job["claimedAt"] == job["heartbeatAt"]
        winner = a if won is answers[0] else b
        await winner.post(f"jobs/{job['id']}/downloaded", {"localSourcePath": "/x"})
        await winner.post(f"jobs/{job['id']}/transcribe")
        assert (await winner.post(f"jobs/{job['id']}/result", {"text": "x"})).status == 200
        await rig.finish(rig.running)


@pytest.mark.requirement("V-03")
async def test_a_claim_takes_the_oldest_unless_the_newest_is_asked_for(rig: WorkRig, a: Caller) -> None:
    await rig.offered("abc", cut=3)
    numbers = [(await a.claim(bucket))["sourceMessageId"] for bucket in ("oldest", "newest", "zzz")]
    assert numbers == [0, 2, 1]
    answer = await a.post("jobs/claim-download")
    assert (answer.status, answer.raw) == (204, b"")


@pytest.mark.requirement("V-04")
async def test_source_and_job_are_the_owners_alone(
    server: WireRig, rig: WorkRig, a: Caller, b: Caller
) -> None:
    await rig.offered("a")
    job = await a.claim()
    source = (await a.get(f"jobs/{job['id']}/source")).body["source"]
    assert source["jobId"] == job["id"]
    assert source["fileId"] == job["fileId"]
    assert source["sourceKind"] == "audio"
    assert source["sourceUrl"] == job["sourceUrl"]
    assert source["sourceUrl"].startswith(server.url + "/worker/v1/audio/")
    assert None not in source.values()
    assert (await b.get(f"jobs/{job['id']}/source")).told == NF
    assert (await b.get(f"jobs/{job['id']}")).told == NF
    seen = (await a.get(f"jobs/{job['id']}")).job
    assert (seen["id"], seen["status"]) == (job["id"], "downloading")


@pytest.mark.requirement("V-05")
@pytest.mark.parametrize("url", [BOT_URL, "http://10.0.0.1/bot1:a-_B?x", "https://x/file/bot9:Z"])
async def test_an_address_that_carries_a_bots_token_is_left_out(rig: WorkRig, url: str) -> None:
    server = WireRig(rig, source_url=lambda request, lease: url)
    await server.start()
    worker = await server.worker("w")
    await rig.offered("a")
    job = await worker.claim()
    source = (await worker.get(f"jobs/{job['id']}/source")).body["source"]
    await server.stop()
    assert "sourceUrl" not in job
    assert "sourceUrl" not in source


@pytest.mark.requirement("V-06")
async def test_a_downloaded_part_is_ready_where_its_place_is_told(rig: WorkRig, a: Caller, b: Caller) -> None:
    await rig.offered("a")
    path = f"jobs/{(await a.claim())['id']}/downloaded"
    required = (400, {"error": "local_source_path_required"})
    assert (await a.post(path, {})).told == required
    assert (await a.post(path, {"localSourcePath": " \ufeff"})).told == required
    for wrong in (1, None, ["x"]):
        told = (await a.post(path, {"localSourcePath": wrong})).told
        assert told == (400, {"error": "invalid_local_source_path"})
    place = {"localSourcePath": " C:\\w\\J.ogg "}
    job = (await a.post(path, place)).job
    assert (job["status"], job["localSourcePath"]) == ("ready", " C:\\w\\J.ogg ")
    assert job["downloadedAt"] == job["heartbeatAt"]
    assert (await a.post(path, place)).told == NF
    assert (await b.post(path, place)).told == NF
    assert (await b.post(path, {})).told == required


@pytest.mark.requirement("V-07")
async def test_a_part_is_transcribed_once_it_is_ready(rig: WorkRig, a: Caller) -> None:
    await rig.offered("a")
    job = await a.claim()
    path = f"jobs/{job['id']}/transcribe"
    assert (await a.post(path)).told == NF
    await a.post(f"jobs/{job['id']}/downloaded", {"localSourcePath": "/x"})
    assert (await a.post(path)).job["status"] == "transcribing"
    assert (await a.post(path)).told == NF


@pytest.mark.requirement("V-08")
async def test_a_heartbeat_is_taken_from_the_owner_until_the_end(
    server: WireRig, rig: WorkRig, a: Caller, b: Caller
) -> None:
    await rig.offered("a")
    claimed = await a.claim()
    id_, last = claimed["id"], claimed["heartbeatAt"]
    for step in ("", "downloaded", "transcribe"):
        if step:
            await a.post(f"jobs/{id_}/{step}", {"localSourcePath": "/x"})
        await server.soon()
        answer = await a.call("POST", f"jobs/{id_}/heartbeat", headers={"Content-Length": "0"})
        assert answer.job["heartbeatAt"] > last
        last = answer.job["heartbeatAt"]
        assert (await b.post(f"jobs/{id_}/heartbeat")).told == NF
    await a.post(f"jobs/{id_}/result", {"text": "done"})
    assert (await a.post(f"jobs/{id_}/heartbeat")).told == NF
    assert (await b.post(f"jobs/{id_}/heartbeat")).told == NF


BAD_PROGRESS: list[tuple[dict[str, Any], str]] = [
    ({}, "progress_text_required"),
    ({"text": "  "}, "progress_text_required"),
    ({"text": " ", "parts": []}, "progress_text_required"),
    ({"text": 1}, "invalid_progress_text"),
    ({"text": None}, "invalid_progress_text"),
    ({"text": "a" * 100_001}, "progress_text_too_large"),
    ({"text": "😀" * 50_001}, "progress_text_too_large"),
    ({"parts": [{"text": "x"}] * 5001}, "invalid_result_parts"),
    ({"text": "a", "parts": None}, "invalid_result_parts"),
    ({"parts": [1]}, "invalid_result_part"),
    ({"parts": [{"timeCode": None, "text": "a"}]}, "invalid_result_part_timecode"),
    ({"parts": [{"timeCode": "00:00"}]}, "invalid_result_part_text"),
    ({"text": "a", "language": None}, "invalid_language"),
    ({"text": "a", "engine": 3}, "invalid_engine"),
    ({"text": "a", "duration": -1}, "invalid_duration"),
    ({"text": "a", "duration": "1"}, "invalid_duration"),
    ({"text": "a", "duration": None}, "invalid_duration"),
    ({"text": "a", "duration": True}, "invalid_duration"),
    ({"text": "a", "metadata": []}, "invalid_engine_metadata"),
    ({"text": "a", "metadata": None}, "invalid_engine_metadata"),
    ({"text": "a", "language": 1, "duration": -1}, "invalid_language"),
]


@pytest.mark.requirement("V-09")
async def test_progress_is_checked_fault_by_fault_then_kept(rig: WorkRig, a: Caller) -> None:
    await rig.offered("a")
    path = f"jobs/{(await a.transcribing())['id']}/progress"
    for body, code in BAD_PROGRESS:
        assert (await a.post(path, body)).told == (400, {"error": code})
    job = (await a.post(path, {"text": "P", "language": "en"})).job
    assert (job["status"], job["partialResultText"]) == ("transcribing", "P")
    assert job["lastProgressAt"] == job["heartbeatAt"]
    assert (await a.post(path, {"text": "😀" * 50_000})).status == 200


@pytest.mark.requirement("V-10")
async def test_progress_is_kept_each_time_and_shown_now_and_then(
    server: WireRig, rig: WorkRig, a: Caller
) -> None:
    recording = await rig.offered("a")
    live = rig.pipeline.offers[recording].live
    path = f"jobs/{(await a.transcribing())['id']}/progress"
    assert (await a.post(path, {"text": "one"})).job["partialResultText"] == "one"
    await rig.clock.advance(0.1)
    second = (await a.post(path, {"text": "one two"})).job
    assert second["partialResultText"] == "one two"
    assert second["lastProgressAt"] > second["lastProgressPublishedAt"]
    assert live.last_words == "one"
    await rig.clock.advance(2.4)
    await a.post(path, {"parts": [{"text": "three"}, {"text": "four"}]})
    assert live.last_words == "three four"


@pytest.mark.requirement("V-11")
async def test_a_result_completes_a_part_once(rig: WorkRig, a: Caller, b: Caller) -> None:
    recording = await rig.offered("a")
    id_ = (await a.transcribing())["id"]
    path = f"jobs/{id_}/result"
    assert (await b.post(path, {"text": "x"})).told == NF
    assert (await a.post(path, {})).told == (400, {"error": "result_text_required"})
    full = {
        "text": "F",
        "parts": [{"timeCode": "00:00", "text": "F"}],
        "language": "en",
        "engine": "e",
        "duration": 3.2,
        "metadata": {"m": 1},
    }
    job = (await a.post(path, full)).job
    assert (job["status"], job["id"]) == ("completed", id_)
    # Kept as their server has it: a result in twice is no job of the caller's any more.
    assert (await a.post(path, full)).told == NF
    assert (await a.get(f"jobs/{id_}")).told == NF
    await rig.finish(rig.running)
    result = (await rig.pipeline.results(recording)).parts[0].result
    assert (result.segments[0].text, result.language, result.engine.name) == ("F", "en", "e")
    assert result.segments[0].end == round(3.2 * 16_000)


@pytest.mark.requirement("V-12")
async def test_an_empty_transcript_completes_its_part(rig: WorkRig, a: Caller) -> None:
    recording = await rig.offered("a")
    id_ = (await a.transcribing())["id"]
    answer = await a.post(f"jobs/{id_}/result", {"text": "", "parts": []})
    assert answer.job["status"] == "completed"
    await rig.finish(rig.running)
    result = (await rig.pipeline.results(recording)).parts[0].result
    assert result.segments == ()
    assert "low_coverage" in result.flags


@pytest.mark.requirement("V-13")
async def test_a_failed_part_is_tried_again_until_its_tries_are_used_up(
    server: WireRig, rig: WorkRig, a: Caller
) -> None:
    recording = await rig.offered("a")
    job = await a.ready()
    path = f"jobs/{job['id']}/failure"
    failed = (await a.post(path)).job
    assert failed["status"] == "queued_for_download"
    assert not {"localSourcePath", "claimedAt", "heartbeatAt", "downloadedAt"} & set(failed)
    assert failed["attempts"] == 1
    assert (await a.post(path)).told == NF
    # Bettered: the next try waits for a pause that grows, and 204 is always legal.
    assert (await a.post("jobs/claim-download")).status == 204
    await rig.clock.advance(5)
    assert (await a.claim())["attempts"] == 2
    body = {"error": "e", "retryable": "false"}
    assert (await a.post(path, body)).job["status"] == "queued_for_download"
    await rig.clock.advance(9)
    assert (await a.post("jobs/claim-download")).status == 204
    await rig.clock.advance(1)
    assert (await a.claim())["attempts"] == 3
    last = (await a.post(path, {"error": "e" * 3000, "retryable": True})).job
    assert last["status"] == "failed"
    assert (await a.post("jobs/claim-download")).status == 204
    assert (await a.post(path)).told == NF
    await rig.finish(rig.running)
    ended = await rig.pipeline.get(recording)
    assert ended is not None
    assert ended.state == "failed"
    assert "the worker “a” said: e" in (ended.error or "")


@pytest.mark.requirement("V-13")
@pytest.mark.parametrize("retryable", [False, None, 0, ""])
async def test_a_failure_for_good_is_the_end_where_nobody_else_is_there(
    rig: WorkRig, a: Caller, retryable: object
) -> None:
    await rig.offered("a")
    id_ = (await a.claim())["id"]
    answer = await a.post(f"jobs/{id_}/failure", {"retryable": retryable})
    assert answer.job["status"] == "failed"
    assert (await a.post("jobs/claim-download")).status == 204
    await rig.finish(rig.running)


@pytest.mark.requirement("V-14")
async def test_a_worker_finds_its_ready_and_broken_off_parts_again(
    server: WireRig, rig: WorkRig, a: Caller, b: Caller
) -> None:
    await rig.offered("abc", cut=3)
    first = await a.ready()
    second, third = await a.transcribing(), await a.transcribing()
    await rig.clock.advance(899)
    await a.post(f"jobs/{third['id']}/heartbeat")
    await rig.clock.advance(2)
    assert (await b.post("jobs/claim-ready")).status == 204
    found = [(await a.post("jobs/claim-ready", {"bucket": each})).job for each in ("newest", "oldest")]
    assert {job["id"] for job in found} == {first["id"], second["id"]}
    for job in found:
        assert (job["status"], job["attempts"]) == ("transcribing", 1)
        assert job["localSourcePath"] == f"/w/{job['id']}"
    assert (await a.post("jobs/claim-ready")).status == 204


@pytest.mark.requirement("V-15")
async def test_an_idle_cycle_finds_nothing_and_an_older_worker_gets_a_part(rig: WorkRig, a: Caller) -> None:
    for path in ("claim-download", "claim-ready", "claim-ready", "claim"):
        answer = await a.post(f"jobs/{path}")
        assert (answer.status, answer.raw) == (204, b"")
    await rig.offered("a")
    job = (await a.post("jobs/claim")).job
    assert (job["status"], job["attempts"]) == ("processing", 1)
    assert job["sourceUrl"]
    assert (await a.post(f"jobs/{job['id']}/heartbeat")).job["status"] == "processing"
    assert (await a.post(f"jobs/{job['id']}/progress", {"text": "x"})).job["status"] == "processing"
    assert (await a.post(f"jobs/{job['id']}/result", {"text": "x"})).job["status"] == "completed"
    assert (await a.get("jobs/zz")).told == (400, {"error": "invalid_job_id"})
    assert (await a.get("jobs/claim-download")).told == (400, {"error": "invalid_job_id"})
    for unknown in ("f" * 24, "0" * 24, "twelve-bytes"):
        assert (await a.get(f"jobs/{unknown}")).told == NF
