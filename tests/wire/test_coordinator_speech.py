"""Audio over the coordinator's wire: uploads, and parts of books, as tasks of `transcribe`."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bridge_agent.worker_api.uploads.uploads import MOST_IN_STORE
from tests.fakes.clock import FakeClock
from tests.wire.coordinator_rig import NOBODY, UUID, Answered, Caller, CoordinatorRig, serving, sha

ELSEWHERE = (409, "task leased to another worker")
NOT_LEASED = (409, "task is not currently leased")


@pytest.fixture
async def rig(tmp_path: Path, clock: FakeClock) -> AsyncIterator[CoordinatorRig]:
    async with serving(tmp_path, clock) as rig:
        yield rig


@pytest.fixture
async def w(rig: CoordinatorRig) -> Caller:
    return await rig.worker("w", "transcribe", "transcribe:tiny")


def heard(text: str, **more: object) -> bytes:
    segment = {"start": 0.0, "end": 149.0, "text": text, "avg_logprob": -0.1, "no_speech_prob": 0.01}
    engine = {"name": "fake", "model": "tiny", "device": "cuda", "compute_type": "float16"}
    return json.dumps({"segments": [segment], "language": "en", "engine": engine, **more}).encode()


async def pumped(rig: CoordinatorRig, work: Any) -> Any:
    """Let time pass until some work is done."""
    running = asyncio.ensure_future(work)
    for _ in range(400):
        if running.done():
            break
        await rig.pass_time(0.5)
    return await running


async def uploaded(rig: CoordinatorRig, caller: Caller, content: bytes, parameters: str = "") -> Answered:
    answer: Answered = await pumped(
        rig,
        caller.upload(
            ("workload", "transcribe"),
            ("parameters", parameters),
            ("file", "My talk.mp3", content, "audio/mpeg"),
        ),
    )
    return answer


async def claimed(rig: CoordinatorRig, caller: Caller) -> dict[str, Any]:
    """Claim a part as soon as one is cut."""
    for _ in range(200):
        answer = await caller.claim()
        if answer.status == 200:
            found: dict[str, Any] = answer.body
            return found
        await rig.pass_time(0.5)
    raise AssertionError("nothing to claim")


async def do(caller: Caller, task: dict[str, Any], partial: bytes) -> Answered:
    assert (await caller.beat(task["task_id"], task["attempt"])).status == 200
    put = await caller.put(task["task_id"], partial, task["attempt"], kind="application/json")
    assert put.status == 200, put.raw
    return await caller.complete(task["task_id"], put.body["artifact_id"], task["attempt"])


async def ended(rig: CoordinatorRig, caller: Caller, job: str) -> dict[str, Any]:
    """Wait for a job's end."""
    for _ in range(200):
        status = await caller.status(job)
        if status["status"] in ("completed", "failed", "cancelled"):
            return status
        await rig.pass_time(0.5)
    raise AssertionError(status)


async def test_uploaded_audio_becomes_a_transcript(rig: CoordinatorRig, w: Caller) -> None:
    answer = await uploaded(rig, w, b"abc", '{"language": "en", "prompt": "Ada, Bob"}')
    assert answer.status == 201, answer.raw
    assert answer.body["task_count"] == 3
    job = answer.body["job_id"]
    assert (await w.status(job))["total"] == 3
    for number in range(3):
        task = await claimed(rig, w)
        assert (task["workload"], task["job_id"], task["chunk_index"]) == ("transcribe", job, number)
        assert (task["parameters"]["language"], task["parameters"]["hints"]) == ("en", ["Ada", "Bob"])
        assert UUID.match(task["task_id"])
        audio = await w.get(task["input"]["uri"])
        assert audio.raw == b"abc"[number : number + 1]
        assert sha(audio.raw) == task["input"]["sha256"] == audio.headers["X-Checksum-SHA256"]
        assert audio.headers["Content-Type"] == "audio/flac"
        done = await do(w, task, heard(f"part {number}"))
        assert done.told == (200, {"id": task["task_id"], "job_id": job, "status": "completed"})
    status = await ended(rig, w, job)
    assert status == {
        "id": job,
        "status": "completed",
        "total": 3,
        "pending": 0,
        "leased": 0,
        "completed": 3,
        "failed": 0,
        "cancelled": 0,
        "result_uri": f"/jobs/{job}/result",
    }
    result = await w.get(f"/jobs/{job}/result")
    assert result.headers["Content-Type"] == "application/json"
    assert result.headers["Content-Disposition"] == 'attachment; filename="transcript.json"'
    transcript = json.loads(result.raw)
    assert (transcript["version"], transcript["title"]) == (1, "My talk")
    assert [segment["text"] for segment in transcript["segments"]] == ["part 0", "part 1", "part 2"]
    source = await w.get(f"/artifacts/{answer.body['input_artifact_id']}/download")
    assert source.raw == b"abc"


async def test_an_upload_that_is_no_audio_leaves_nothing_behind(rig: CoordinatorRig, w: Caller) -> None:
    assert (await uploaded(rig, w, b"")).error == (400, "invalid input")
    assert rig.stored() == []
    assert rig.work.pipeline.views() == []
    for wrong in ('{"language": "english"}', '{"model": "/etc/passwd"}', '{"prompt": "%s"}' % ("é" * 600)):
        assert (await uploaded(rig, w, b"a", wrong)).error == (400, "invalid input")
    assert rig.stored() == []


async def test_an_upload_that_nobody_could_transcribe_is_told_to_come_again(
    rig: CoordinatorRig, w: Caller
) -> None:
    await rig.work.service.pause(w.token_id)
    answer = await uploaded(rig, w, b"a")
    assert answer.error == (503, "internal error")
    assert "Retry-After" in answer.headers
    assert rig.stored() == []


async def test_a_job_goes_on_after_a_restart_and_no_part_is_done_twice(
    rig: CoordinatorRig, w: Caller
) -> None:
    job = (await uploaded(rig, w, b"abc")).body["job_id"]
    assert (await do(w, await claimed(rig, w), heard("first"))).status == 200
    held = await claimed(rig, w)
    put = await w.put(held["task_id"], heard("second"), held["attempt"])
    await rig.restart([w])
    done = await w.complete(held["task_id"], put.body["artifact_id"], held["attempt"])
    assert done.status == 200, done.raw
    last = await claimed(rig, w)
    assert last["chunk_index"] == 2
    assert (await do(w, last, heard("third"))).status == 200
    assert (await ended(rig, w, job))["status"] == "completed"
    transcript = json.loads((await w.get(f"/jobs/{job}/result")).raw)
    assert [segment["text"] for segment in transcript["segments"]] == ["first", "second", "third"]


async def test_a_cancelled_job_takes_its_parts_with_it(rig: CoordinatorRig, w: Caller) -> None:
    job = (await uploaded(rig, w, b"abc")).body["job_id"]
    assert (await do(w, await claimed(rig, w), heard("first"))).status == 200
    held = await claimed(rig, w)
    answer = await w.post(f"/jobs/{job}/cancel")
    assert answer.told == (200, {"job_id": job, "status": "cancelled", "cancelled_tasks": 2})
    assert (await w.post(f"/jobs/{job}/cancel")).body["cancelled_tasks"] == 0
    id_, attempt = held["task_id"], held["attempt"]
    for _ in range(2):
        assert (await w.beat(id_, attempt)).error == NOT_LEASED
        assert (await w.put(id_, heard("late"), attempt)).error == ELSEWHERE
        assert (await w.fail(id_, attempt)).error == NOT_LEASED
        for _ in range(10):
            await rig.pass_time(0.5)
    assert (await w.claim()).status == 204
    status = await w.status(job)
    assert (status["status"], status["completed"], status["cancelled"]) == ("cancelled", 1, 2)


async def test_a_part_that_can_not_be_had_fails_the_job(rig: CoordinatorRig, w: Caller) -> None:
    job = (await uploaded(rig, w, b"ab")).body["job_id"]
    task = await claimed(rig, w)
    answer = await w.fail(task["task_id"], task["attempt"], error_message="no")
    assert answer.told == (200, {"id": task["task_id"], "job_id": job, "status": "failed"})
    if (other := await w.claim()).status == 200:
        await do(w, other.body, heard("other"))
    status = await ended(rig, w, job)
    assert (status["status"], status["error_code"], status["failed"]) == ("failed", "transcription_failed", 1)
    assert (await w.get(f"/jobs/{job}/result")).error == (404, "artifact not found")


@pytest.mark.requirement("S-08")
async def test_the_result_that_ends_a_job_may_be_repeated_and_the_transcript_is_there_with_it(
    rig: CoordinatorRig, w: Caller
) -> None:
    job = (await uploaded(rig, w, b"a")).body["job_id"]
    task = await claimed(rig, w)
    put = await w.put(task["task_id"], heard("all"))
    told = {"id": task["task_id"], "job_id": job, "status": "completed"}
    assert (await w.complete(task["task_id"], put.body["artifact_id"])).told == (200, told)
    status = await w.status(job)
    assert (status["status"], status["result_uri"]) == ("completed", f"/jobs/{job}/result")
    assert (await w.post(f"/jobs/{job}/cancel")).error == (409, "job cannot be cancelled")
    for _ in range(2):
        assert (await w.complete(task["task_id"], put.body["artifact_id"])).told == (200, told)
        assert (await w.beat(task["task_id"])).error == NOT_LEASED
        await rig.pass_time(30)
    assert b"all" in (await w.get(f"/jobs/{job}/result")).raw


@pytest.mark.requirement("S-09")
async def test_a_failure_for_good_is_one_though_another_worker_is_there(
    rig: CoordinatorRig, w: Caller
) -> None:
    v = await rig.worker("v", "transcribe")
    job = (await uploaded(rig, w, b"a")).body["job_id"]
    task = await claimed(rig, w)
    assert (await w.fail(task["task_id"])).body["status"] == "failed"
    assert (await v.claim()).status == 204
    status = await w.status(job)
    assert (status["status"], status["failed"], status["pending"]) == ("failed", 1, 0)


async def test_a_job_that_is_cancelled_while_it_waits_for_something_is_not_begun_again(
    rig: CoordinatorRig, w: Caller
) -> None:
    job = (await uploaded(rig, w, b"ab")).body["job_id"]
    assert (await do(w, await claimed(rig, w), heard("first"))).status == 200
    await rig.work.service.pause(w.token_id)
    await rig.pass_time(150)
    assert rig.work.pipeline.views() == []
    assert (await w.post(f"/jobs/{job}/cancel")).status == 200
    await rig.work.service.resume(w.token_id)
    for _ in range(20):
        assert (await w.claim()).status == 204
        await rig.pass_time(1)
    assert rig.work.pipeline.views() == []


async def test_the_job_that_was_made_first_goes_first_whatever_it_is(rig: CoordinatorRig) -> None:
    w = await rig.worker("both", "transcribe", "similarity-search")
    await uploaded(rig, w, b"a")
    await rig.pass_time(1)
    await w.search(rows=5)
    await rig.pass_time(1)
    await uploaded(rig, w, b"b")
    seen = []
    for _ in range(3):
        task = await claimed(rig, w)
        seen.append(task["workload"])
    assert seen == ["transcribe", "similarity-search", "transcribe"]


async def test_a_retryable_failure_waits_and_a_part_given_back_does_not(
    rig: CoordinatorRig, w: Caller
) -> None:
    await uploaded(rig, w, b"a")
    task = await claimed(rig, w)
    answer = await w.fail(task["task_id"], retryable=True, error_code="given_back", error_message="drained")
    assert answer.body["status"] == "pending"
    again = (await w.claim()).body
    assert (again["task_id"], again["attempt"]) == (task["task_id"], 2)
    assert (await w.fail(task["task_id"], 2, retryable=True)).body["status"] == "pending"
    assert (await w.claim()).status == 204
    await rig.pass_time(6)
    assert (await claimed(rig, w))["attempt"] == 3


async def test_what_a_worker_says_of_a_part_given_back_is_told_unless_it_only_stops(
    rig: CoordinatorRig, w: Caller
) -> None:
    await uploaded(rig, w, b"a")
    task = await claimed(rig, w)
    given = {"retryable": True, "error_code": "given_back"}
    await w.fail(task["task_id"], 1, error_message="The worker is stopping.", **given)
    assert rig.work.service.workers()[0].reason == ""
    await w.claim()
    await w.fail(task["task_id"], 2, error_message="No model is here.", **given)
    assert "“No model is here.”" in rig.work.service.workers()[0].reason


async def test_the_checks_of_a_part_come_in_the_contracts_order(tmp_path: Path, clock: FakeClock) -> None:
    async with serving(tmp_path, clock, lease_s=30.0) as rig:
        w, v = await rig.worker("w", "transcribe"), await rig.worker("v", "transcribe")
        await in_the_contracts_order(rig, w, v)


async def in_the_contracts_order(rig: CoordinatorRig, w: Caller, v: Caller) -> None:
    await uploaded(rig, w, b"ab")
    task = await claimed(rig, w)
    id_ = task["task_id"]
    assert (await v.beat(id_)).error == ELSEWHERE
    assert (await w.beat(id_, 0)).error == (409, "attempt does not match lease")
    assert (await v.put(id_)).error == ELSEWHERE
    assert (await w.put(id_, attempt=2)).error == ELSEWHERE
    assert (await w.complete(id_, NOBODY)).error == (404, "artifact not found")
    put = await w.put(id_, heard("first"))
    assert (await w.put(id_, heard("other"))).told == put.told
    assert (await v.complete(id_, put.body["artifact_id"])).error == ELSEWHERE
    other = await claimed(rig, v)
    assert (await v.complete(other["task_id"], put.body["artifact_id"])).error == (
        409,
        "different result already recorded",
    )
    await rig.pass_time(31)
    assert (await w.beat(id_)).error in (ELSEWHERE, NOT_LEASED)
    again = await claimed(rig, v)
    assert (again["task_id"], again["attempt"]) == (id_, 2)
    assert (await w.complete(id_, put.body["artifact_id"])).error == ELSEWHERE
    assert (await v.complete(id_, put.body["artifact_id"], 2)).error == (
        409,
        "different result already recorded",
    )
    assert (await do(v, {"task_id": id_, "attempt": 2}, heard("second"))).status == 200
    assert (await w.complete(id_, put.body["artifact_id"])).error == (
        409,
        "different result already recorded",
    )
    assert (await w.beat(id_)).error == NOT_LEASED


async def test_what_is_handed_in_for_a_part_is_kept_in_the_store_or_in_a_file_and_to_be_had_as_it_came(
    rig: CoordinatorRig, w: Caller
) -> None:
    await uploaded(rig, w, b"ab")
    files = set(rig.stored())
    for text, kept in (("short", 0), ("long " * (MOST_IN_STORE // 5), 1)):
        task, partial = await claimed(rig, w), heard(text)
        put = await w.put(task["task_id"], partial)
        assert (put.body["sha256"], put.body["size_bytes"]) == (sha(partial), len(partial))
        assert len(set(rig.stored()) - files) == kept
        got = await w.get(put.body["uri"])
        assert (got.raw, got.headers["X-Checksum-SHA256"]) == (partial, sha(partial))
        piece = await w.call("GET", put.body["uri"], headers={"Range": "bytes=5-9"})
        assert (piece.status, piece.raw) == (206, partial[5:10])
        assert (await w.put(task["task_id"], heard("other"))).told == put.told
        assert (await w.complete(task["task_id"], put.body["artifact_id"])).status == 200


async def test_a_result_that_is_no_transcript_is_refused(rig: CoordinatorRig, w: Caller) -> None:
    await uploaded(rig, w, b"a")
    task = await claimed(rig, w)
    answer = await do(w, task, b'{"segments": "none"}')
    assert answer.error == (400, "invalid input")
    assert (await w.beat(task["task_id"])).status == 200


async def test_a_part_is_to_be_had_through_one_wire_alone(rig: CoordinatorRig, w: Caller) -> None:
    other = await rig.invited("other")
    await uploaded(rig, w, b"ab")
    first = await claimed(rig, w)
    job = (await other.post("/worker/v1/jobs/claim-download")).body["job"]
    assert (await other.post("/worker/v1/jobs/claim-download")).status == 204
    assert (await w.claim()).status == 204
    assert (first["chunk_index"], job["sourceMessageId"]) == (0, 1)


async def test_the_audio_of_a_part_is_to_be_had_by_whoever_has_a_token_while_it_is_there(
    rig: CoordinatorRig, w: Caller
) -> None:
    v = await rig.worker("v", "transcribe")
    await uploaded(rig, w, b"a")
    task = await claimed(rig, w)
    for caller in (v, w):
        audio = await caller.get(task["input"]["uri"])
        assert (audio.status, audio.raw) == (200, b"a")
    await w.fail(task["task_id"], retryable=True)
    assert (await v.get(task["input"]["uri"])).raw == b"a"
    assert (await rig.caller("wrk_wrong").get(task["input"]["uri"])).error == (401, "unauthorized")
    await rig.pass_time(6)
    await do(w, await claimed(rig, w), heard("x"))
    for caller in (v, w):
        assert (await caller.get(task["input"]["uri"])).error == (404, "artifact not found")


async def test_lost_audio_is_cut_again_for_its_holder_and_nobody_else_ends_its_claim(
    rig: CoordinatorRig, w: Caller
) -> None:
    v = await rig.worker("v", "transcribe")
    recording = await rig.work.offered("a")
    task = await claimed(rig, w)
    rig.work.pipeline.audio(recording, 0).unlink()
    assert (await v.get(task["input"]["uri"])).error == (404, "artifact not found")
    assert (await w.beat(task["task_id"])).status == 200
    assert (await w.get(task["input"]["uri"])).error == (404, "artifact not found")
    assert (await w.beat(task["task_id"])).error == NOT_LEASED
    again = await claimed(rig, w)
    assert (again["task_id"], again["attempt"]) == (task["task_id"], 2)
    assert (await v.get(task["input"]["uri"])).raw == b"a"


async def test_parts_of_books_are_tasks_too_and_their_jobs_are_the_servers(
    rig: CoordinatorRig, w: Caller
) -> None:
    await rig.work.offered("a")
    task = await claimed(rig, w)
    assert UUID.match(task["job_id"])
    assert (await w.get(f"/jobs/{task['job_id']}")).error == (404, "job not found")
    assert (await w.post(f"/jobs/{task['job_id']}/cancel")).error == (404, "job not found")
    assert (await do(w, task, heard("x"))).status == 200
    await rig.work.finish(rig.work.running)


async def test_what_our_own_worker_says_of_speech_is_kept(rig: CoordinatorRig, w: Caller) -> None:
    id_ = await rig.work.offered("a")
    await do(w, await claimed(rig, w), heard("x", speech_seconds=2.5))
    await rig.work.finish(rig.work.running)
    results = await rig.work.pipeline.results(id_)
    assert [part.result.speech_samples for part in results.parts] == [40_000]
    assert [part.made_by for part in results.parts] == ["w"]


async def test_a_paused_worker_gets_neither_parts_nor_shards(rig: CoordinatorRig) -> None:
    w = await rig.worker("p", "transcribe", "similarity-search")
    await w.search(rows=5)
    await rig.pass_time(1)
    await rig.work.offered("a")
    await rig.work.service.pause(w.token_id)
    assert (await w.claim()).status == 204
    await rig.work.service.resume(w.token_id)
    assert (await w.claimed())["workload"] == "similarity-search"
    await rig.work.service.pause(w.token_id)
    assert (await w.claim()).status == 204


async def test_a_worker_is_known_by_the_model_that_it_registers(rig: CoordinatorRig, w: Caller) -> None:
    assert [view.model for view in rig.work.service.workers()] == ["tiny"]
