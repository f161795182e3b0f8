"""Tasks over the coordinator's wire: who gets which, what counts as a result, what a full disk does."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from bridge_agent.base.clock import later, to_text
from bridge_agent.base.threads import TooManyStuck
from bridge_agent.store.database import StoreFull
from bridge_agent.transcription.pipeline import leases
from bridge_agent.web.delivery import LocalFile
from bridge_agent.worker_api.uploads import artifacts, tasks
from bridge_agent.worker_api.uploads.uploads import Limits
from tests.fakes.clock import FakeClock
from tests.wire.coordinator_rig import HEADER, NOBODY, PARTIAL, Caller, CoordinatorRig, serving, sha

ONE = HEADER + b"\nA\tC\n"
TWO = HEADER + b"\nA\tC\nB\tC\n"
ELSEWHERE = (409, "task leased to another worker")


@pytest.fixture
async def rig(tmp_path: Path, clock: FakeClock) -> AsyncIterator[CoordinatorRig]:
    async with serving(tmp_path, clock) as rig:
        yield rig


@pytest.fixture
async def w(rig: CoordinatorRig) -> Caller:
    return await rig.worker("w")


@pytest.fixture
async def v(rig: CoordinatorRig) -> Caller:
    return await rig.worker("v")


# ---- claims


async def test_older_jobs_go_first_and_a_task_tried_again_keeps_its_place(
    rig: CoordinatorRig, w: Caller
) -> None:
    first, second = await w.search(TWO, rows=1), await w.search(ONE)
    one = await w.claimed()
    assert (one["job_id"], one["chunk_index"]) == (first, 0)
    assert (await w.fail(one["task_id"], retryable=True)).body["status"] == "pending"
    assert (await w.claimed())["chunk_index"] == 1
    await rig.pass_time(2)
    again = await w.claimed()
    assert (again["task_id"], again["attempt"]) == (one["task_id"], 2)
    assert (await w.claimed())["job_id"] == second


async def test_a_failed_task_rests_for_a_while_before_it_is_handed_out_again(
    rig: CoordinatorRig, w: Caller
) -> None:
    await w.search(ONE)
    await w.fail((await w.claimed())["task_id"], retryable=True)
    assert (await w.claim()).status == 204
    await rig.pass_time(1.1)
    task = await w.claimed()
    await w.fail(task["task_id"], 2, retryable=True)
    await rig.pass_time(1.1)
    assert (await w.claim()).status == 204
    await rig.pass_time(1.1)
    assert (await w.claimed())["attempt"] == 3


async def test_one_worker_may_hold_several_tasks(w: Caller) -> None:
    await w.search(rows=1)
    ids = {(await w.claimed())["task_id"] for _ in range(3)}
    assert len(ids) == 3
    for id_ in ids:
        assert (await w.beat(id_)).status == 200


async def test_a_wall_clock_that_jumps_ends_no_lease(rig: CoordinatorRig, w: Caller, v: Caller) -> None:
    await w.search(ONE)
    id_ = (await w.claimed())["task_id"]
    for shift in (86_400.0, -86_400.0):
        rig.clock.set_wall(shift)
        assert (await v.claim()).status == 204
        beat = await w.beat(id_)
        assert beat.status == 200
        assert beat.body["lease_expires_at"] > rig.clock.now().isoformat()[:19]


async def test_the_tasks_of_a_revoked_token_are_free_at_once(
    rig: CoordinatorRig, w: Caller, v: Caller
) -> None:
    await w.search(ONE)
    id_ = (await w.claimed())["task_id"]
    await rig.work.service.revoke(w.token_id)
    task = await v.claimed()
    assert (task["task_id"], task["attempt"]) == (id_, 2)
    assert (await w.beat(id_)).error == (401, "unauthorized")


async def test_a_claim_that_nobody_waits_for_any_more_is_given_back(
    rig: CoordinatorRig, w: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    await w.search(ONE)
    uploads, member = rig.rooms.uploads, rig.work.tokens.get(w.token_id)
    assert member is not None
    claim, leased, go_on = uploads.claim, asyncio.Event(), asyncio.Event()

    async def slow(workloads: object, owner: str, token_id: int) -> object:
        task = await claim(["similarity-search"], owner, token_id)
        leased.set()
        await go_on.wait()
        return task

    with monkeypatch.context() as patched:
        patched.setattr(uploads, "claim", slow)
        claiming = asyncio.ensure_future(rig.rooms.coordinator.claim(member, w.worker_id))
        await leased.wait()
        claiming.cancel()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await claiming
    assert (await w.claimed())["attempt"] == 2


@pytest.mark.parametrize("gone", [True, False])
async def test_a_part_that_its_worker_can_not_be_told_of_is_given_back(
    rig: CoordinatorRig, monkeypatch: pytest.MonkeyPatch, gone: bool
) -> None:
    w = await rig.worker("t", "transcribe")
    await rig.work.offered("a")
    member, asked = rig.work.tokens.get(w.token_id), asyncio.Event()
    assert member is not None

    async def get(recording_id: int) -> None:
        asked.set()
        if gone:
            await asyncio.Event().wait()
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as patched:
        patched.setattr(rig.work.pipeline, "get", get)
        claiming = asyncio.ensure_future(rig.rooms.coordinator.claim(member, w.worker_id))
        await asked.wait()
        if gone:
            claiming.cancel()
        with pytest.raises(asyncio.CancelledError if gone else sqlite3.OperationalError):
            await claiming
    task = await w.claimed()
    assert task["attempt"] == 2
    (part,) = await rig.work.pipeline.desk.in_state("converted")
    assert part.tries == 1


async def test_registrations_leases_and_results_outlive_a_restart(rig: CoordinatorRig, w: Caller) -> None:
    job = await w.search(TWO, rows=1)
    one, two = await w.claimed(), await w.claimed()
    assert (await w.do(one)).status == 200
    put = await w.put(two["task_id"])
    await rig.restart([w])
    assert (await w.beat(two["task_id"])).status == 200
    assert (await w.complete(two["task_id"], put.body["artifact_id"])).status == 200
    assert (await w.status(job))["status"] == "completed"
    await rig.restart([w])
    assert (await w.get(f"/jobs/{job}/result")).raw == PARTIAL.replace(b"\r\n", b"\n")
    assert (await w.claim()).status == 204


# ---- results


async def test_a_shard_is_to_be_read_by_whoever_has_a_token(w: Caller, v: Caller) -> None:
    await w.search(ONE)
    task = await w.claimed()
    assert (await v.get(task["input"]["uri"])).raw == ONE


async def test_what_the_original_has_beside_the_contract_is_not_here(w: Caller) -> None:
    for method, path in (("GET", "/metrics"), ("POST", "/worker-tokens/exchange")):
        assert (await w.call(method, path)).raw == b"404 page not found\n"


async def test_a_result_said_again_is_taken_from_anybody(w: Caller, v: Caller) -> None:
    job = await w.search(ONE)
    task = await w.claimed()
    artifact = (await w.put(task["task_id"])).body["artifact_id"]
    done = await w.complete(task["task_id"], artifact)
    assert done.body["status"] == "completed"
    assert (await v.complete(task["task_id"], artifact)).told == done.told
    assert (await v.complete(task["task_id"], artifact, 2)).error == (
        409,
        "different result already recorded",
    )
    assert (await w.status(job))["completed"] == 1


async def test_the_sum_in_a_manifest_is_not_looked_at(w: Caller) -> None:
    await w.search(ONE)
    task = await w.claimed()
    artifact = (await w.put(task["task_id"])).body["artifact_id"]
    manifest = {"artifact_id": artifact, "sha256": "wrong", "content_type": "text/plain"}
    assert (await w.complete(task["task_id"], artifact, result=manifest)).status == 200


async def test_a_partials_name_is_only_told_on(w: Caller) -> None:
    await w.search(rows=1)
    id_ = (await w.claimed())["task_id"]
    for name in ("", "a/b"):
        answer = await w.put(id_, name=name)
        assert (answer.status, answer.raw) == (404, b"404 page not found\n")
    put = await w.put(id_, b"", name="..%2Fa%20%22b%22.csv")
    assert (put.status, put.body["size_bytes"], put.body["sha256"]) == (200, 0, sha(b""))
    found = await w.get(put.body["uri"])
    assert found.headers["Content-Type"] == "text/csv"
    assert found.headers["Content-Disposition"].startswith('attachment; filename="')
    assert '\\"b\\".csv"' in found.headers["Content-Disposition"]
    assert found.headers["X-Checksum-SHA256"] == sha(b"")


@pytest.mark.parametrize("name", ["%FF%FE", "a%00b", "%0D%0AX-Evil: 1", "Gr%C3%BC%C3%9Fe"])
async def test_odd_names_and_types_of_partials_do_no_harm(w: Caller, name: str) -> None:
    await w.search(rows=1)
    id_ = (await w.claimed())["task_id"]
    headers = {"X-Worker-ID": w.worker_id, "X-Task-Attempt": "1", "Content-Type": "text/ü"}
    put = await w.call("PUT", f"/tasks/{id_}/artifacts/{name}", raw=b"x", headers=headers)
    assert put.status == 200
    found = await w.get(put.body["uri"])
    assert (found.raw, found.headers["Content-Type"]) == (b"x", "application/octet-stream")
    assert "X-Evil" not in found.headers


async def test_stretches_of_an_input_and_of_a_result_may_be_asked_for(w: Caller) -> None:
    await w.search()
    await w.claimed()
    task = await w.claimed()
    whole = (await w.get(task["input"]["uri"])).raw
    part = await w.call("GET", task["input"]["uri"], headers={"Range": "bytes=3-9"})
    assert (part.status, part.raw) == (206, whole[3:10])
    assert part.headers["Content-Range"] == f"bytes 3-9/{len(whole)}"
    last = await w.call("GET", task["input"]["uri"], headers={"Range": "bytes=-4"})
    assert last.raw == whole[-4:]
    beyond = await w.call("GET", task["input"]["uri"], headers={"Range": "bytes=9999-"})
    assert beyond.error == (416, "range not satisfiable")
    head = await w.call("HEAD", task["input"]["uri"])
    assert (head.status, head.raw, head.headers["Content-Length"]) == (200, b"", str(len(whole)))


async def test_results_are_put_together_after_a_restart_that_came_between(
    rig: CoordinatorRig, w: Caller
) -> None:
    job = await w.search(ONE)
    task = await w.claimed()
    put = await w.put(task["task_id"])
    uploads = rig.rooms.uploads

    async def gone(_job: object) -> None:
        raise asyncio.CancelledError

    uploads.reducing.reduce = gone  # type: ignore[method-assign, assignment]
    with pytest.raises(Exception):  # noqa: B017, PT011 - the connection is cut, however the client calls it
        await w.complete(task["task_id"], put.body["artifact_id"])
    assert (await w.status(job))["status"] == "reducing"
    assert (await w.post(f"/jobs/{job}/cancel")).error == (409, "job cannot be cancelled")
    await rig.restart([w])
    async with asyncio.timeout(20):
        while (await w.status(job))["status"] != "completed":
            await rig.pass_time(1)
    assert (await w.complete(task["task_id"], put.body["artifact_id"])).body["status"] == "completed"


# ---- jobs that are described


async def test_a_described_job_completes_without_a_result(rig: CoordinatorRig, w: Caller) -> None:
    job = await w.described("w", chunks=2)
    task = await w.claimed()
    assert task["input"] == {"uri": "s3://0", "sha256": "0" * 64}
    assert (await w.get(f"/tasks/{task['task_id']}/input")).error == (404, "artifact not found")
    assert (await w.do(task, b"anything")).status == 200
    assert (await w.do(await w.claimed(), b"else")).status == 200
    status = await w.status(job)
    assert status["status"] == "completed"
    assert "result_uri" not in status
    assert (await w.get(f"/jobs/{job}/result")).error == (404, "artifact not found")


async def test_a_described_job_says_how_often_it_is_tried(rig: CoordinatorRig, w: Caller) -> None:
    chunks = [
        {"chunk_index": 1, "input_uri": "b", "input_sha256": "x", "max_attempts": 1},
        {"chunk_index": 0, "input_uri": "a", "input_sha256": "x", "max_attempts": -1, "workload": "v"},
    ]
    answer = await w.post("/jobs", {"workload": "w", "input_uri": "u", "chunks": chunks})
    assert answer.told == (201, {"id": answer.body["id"], "status": "pending"})
    task = await w.claimed()
    assert task["chunk_index"] == 1
    assert (await w.fail(task["task_id"], retryable=True)).body["status"] == "failed"
    other = await rig.worker("other", "v")
    assert (await other.claimed())["workload"] == "v"


CHUNK = {"chunk_index": 0, "input_uri": "s3://0", "input_sha256": "x"}


@pytest.mark.parametrize(
    "changed",
    [
        {"workload": ""},
        {"workload": "similarity-graph"},
        {"workload": "transcribe"},
        {"input_uri": ""},
        {"chunks": []},
        {"chunks": [CHUNK, CHUNK]},
        {"chunks": [{**CHUNK, "chunk_index": -1}]},
        {"chunks": [{**CHUNK, "input_sha256": ""}]},
        {"chunks": [{**CHUNK, "input_uri": ""}]},
        {"chunks": [{**CHUNK, "other": 1}]},
        {
            "workload": "similarity-search",
            "parameters": {"query_id": "A"},
            "chunks": [CHUNK, {**CHUNK, "chunk_index": 1}],
        },
    ],
)
async def test_a_described_job_that_is_not_whole_is_refused(w: Caller, changed: dict[str, object]) -> None:
    body = {"workload": "w", "input_uri": "s3://in", "chunks": [CHUNK], **changed}
    assert (await w.post("/jobs", body)).error == (400, "invalid input")


@pytest.mark.parametrize(
    "uri", ["https://elsewhere/x", "HTTP://elsewhere", "//elsewhere/x", " \\\\elsewhere"]
)
async def test_no_worker_is_sent_to_another_server_with_its_token(w: Caller, uri: str) -> None:
    await w.post("/jobs", {"workload": "w", "input_uri": "x", "chunks": [{**CHUNK, "input_uri": uri}]})
    task = await w.claimed()
    assert task["input"]["uri"] == f"/tasks/{task['task_id']}/input"
    assert (await w.get(task["input"]["uri"])).error == (404, "artifact not found")


# ---- a disk that is full, and other trouble


async def test_a_heartbeat_on_a_full_disk_leaves_the_lease_as_it_was(
    rig: CoordinatorRig, w: Caller, v: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    await w.search(ONE)
    task = await w.claimed()
    await rig.pass_time(10)

    def full(*_: object) -> None:
        raise StoreFull

    monkeypatch.setattr(tasks, "renew", full)
    answer = await w.beat(task["task_id"])
    assert answer.status == 200
    assert answer.body["lease_expires_at"] == task["lease_expires_at"]
    assert (await v.beat(task["task_id"])).error == ELSEWHERE


async def test_a_part_is_its_workers_for_as_long_as_the_disk_is_full_and_it_beats(
    rig: CoordinatorRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    w, v = await rig.worker("t", "transcribe"), await rig.worker("u", "transcribe")
    await rig.work.offered("a")
    task = await w.claimed()

    def full(*_: object, **__: object) -> None:
        raise StoreFull

    with monkeypatch.context() as patched:
        patched.setattr(leases, "step", full)
        for _ in range(5):
            await rig.pass_time(100)
            beat = await w.beat(task["task_id"])
            assert beat.status == 200
            assert beat.body["lease_expires_at"] == to_text(later(rig.clock.now(), 120))
            assert (await v.claim()).status == 204
    await rig.pass_time(100)
    assert (await w.beat(task["task_id"])).status == 200


@pytest.mark.parametrize("trouble", [OSError(5, "x"), TooManyStuck()])
async def test_a_file_that_can_not_be_read_to_its_end_breaks_off_with_nothing_else_in_it(
    rig: CoordinatorRig, w: Caller, monkeypatch: pytest.MonkeyPatch, trouble: Exception
) -> None:
    await w.search(ONE)
    content = b"x" * 600_000
    put = await w.put((await w.claimed())["task_id"], content)
    read = LocalFile.read

    async def broken(file: LocalFile, place: int, size: int) -> bytes:
        if place > 0:
            raise trouble
        return await read(file, place, size)

    monkeypatch.setattr(LocalFile, "read", broken)
    got = bytearray()

    async def receive() -> None:
        headers = {"Authorization": w.token or ""}
        get = w.session.get(w.url + put.body["uri"], headers=headers)
        async with asyncio.timeout(10), get as answer:
            async for piece in answer.content.iter_any():
                got.extend(piece)

    with pytest.raises(aiohttp.ClientPayloadError):
        await receive()
    assert got == content[: len(got)]
    assert 0 < len(got) < len(content)


@pytest.mark.parametrize(
    "trouble", [StoreFull(), sqlite3.OperationalError("disk I/O error"), OSError(5, "x")]
)
async def test_what_goes_wrong_with_a_partial_loses_the_lease_and_not_the_task(
    rig: CoordinatorRig, w: Caller, v: Caller, monkeypatch: pytest.MonkeyPatch, trouble: Exception
) -> None:
    await w.search(ONE)
    task = await w.claimed()

    def broken(*_: object) -> bool:
        raise trouble

    with monkeypatch.context() as patched:
        patched.setattr(artifacts, "add", broken)
        assert (await w.put(task["task_id"])).error == ELSEWHERE
    assert not [name for name in rig.stored() if "incoming" in name]
    await rig.pass_time(121)
    assert (await v.claimed())["attempt"] == 2


async def test_a_heartbeat_never_meets_a_server_error(
    rig: CoordinatorRig, w: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    await w.search(ONE)
    task = await w.claimed()

    def broken(*_: object) -> None:
        raise RuntimeError("a mistake")

    monkeypatch.setattr(tasks, "renew", broken)
    assert (await w.beat(task["task_id"])).error == ELSEWHERE


async def test_a_result_on_a_full_disk_may_be_said_again(
    rig: CoordinatorRig, w: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    await w.search(ONE)
    task = await w.claimed()
    artifact = (await w.put(task["task_id"])).body["artifact_id"]

    def full(*_: object) -> None:
        raise StoreFull

    with monkeypatch.context() as patched:
        patched.setattr(tasks, "complete", full)
        assert (await w.complete(task["task_id"], artifact)).error == (503, "internal error")
    assert (await w.complete(task["task_id"], artifact)).status == 200


async def test_a_partial_that_is_too_large_is_refused_whole(tmp_path: Path, clock: FakeClock) -> None:
    async with serving(tmp_path, clock, limits=Limits(partial_bytes=1000)) as rig:
        w = await rig.worker("w")
        await w.search(ONE)
        task = await w.claimed()

        async def endless() -> AsyncIterator[bytes]:
            for _ in range(100):
                yield b"x" * 100

        assert (await w.put(task["task_id"], b"x" * 1001)).error == (413, "request body too large")
        headers = {"X-Worker-ID": w.worker_id, "X-Task-Attempt": "1"}
        path = f"/tasks/{task['task_id']}/artifacts/r"
        answer = await w.call("PUT", path, raw=endless(), headers=headers)  # type: ignore[arg-type]
        assert answer.error == (413, "request body too large")
        assert not [name for name in rig.stored() if "incoming" in name]
        assert (await w.put(task["task_id"], b"x" * 1000)).status == 200


async def test_unknown_tasks_are_told_from_lost_ones(w: Caller) -> None:
    for answer in (
        await w.put(NOBODY),
        await w.complete(NOBODY, NOBODY),
        await w.fail(NOBODY),
    ):
        assert answer.error == (404, "task not found")
