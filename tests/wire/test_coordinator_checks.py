"""The fifteen checks of the coordinator's wire, over a real server."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bridge_agent.base.clock import from_text
from tests.fakes.clock import FakeClock
from tests.wire.coordinator_rig import (
    HEADER,
    NOBODY,
    SEARCH,
    TABLE,
    UUID,
    Caller,
    CoordinatorRig,
    Field,
    serving,
    sha,
)

FILE: Field = ("file", "mols.tsv", TABLE, "text/tab-separated-values")
SEARCHED: Field = ("workload", "similarity-search")
ASKED: Field = ("parameters", SEARCH)
ELSEWHERE = (409, "task leased to another worker")
OTHER_RESULT = (409, "different result already recorded")
NOT_LEASED = (409, "task is not currently leased")


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


@pytest.mark.requirement("S-01")
async def test_health_is_open_and_everything_else_asks_for_a_token(rig: CoordinatorRig) -> None:
    bare, wrong = rig.caller(None), rig.caller("wrong")
    assert (await bare.get("/health")).told == (200, {"status": "ok"})
    for caller in (bare, wrong):
        answer = await caller.post("/tasks/claim", {"worker_id": NOBODY})
        assert answer.error == (401, "unauthorized")
        assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert (await bare.get("/jobs/x")).error == (401, "unauthorized")


@pytest.mark.requirement("S-02")
async def test_registering_takes_a_name_and_capabilities(rig: CoordinatorRig) -> None:
    caller = await rig.invited("x")
    for more in ({}, {"cpu_count": 8, "memory_mb": -1}):
        answer = await caller.post("/workers/register", {"name": "a", "capabilities": ["w"], **more})
        assert answer.status == 201
        assert set(answer.body) == {"worker_id", "heartbeat_interval_seconds"}
        assert UUID.match(answer.body["worker_id"])
        assert answer.body["heartbeat_interval_seconds"] == 15
    for raw in (
        b'{"name":"a"}',
        b'{"name":"a","capabilities":[]}',
        b'{"capabilities":["w"]}',
        b'{"name":"a","capabilities":["w"],"x":1}',
        b'{"name":"a","capabilities":["w"]}{}',
        b"",
    ):
        answer = await caller.call("POST", "/workers/register", raw=raw)
        assert answer.error == (400, "invalid input"), raw


@pytest.mark.requirement("S-03")
async def test_a_claim_goes_by_the_registered_capabilities_alone(rig: CoordinatorRig, v: Caller) -> None:
    worker = await rig.worker("x", "w")
    await v.described("v")
    answer = await worker.post("/tasks/claim", {"worker_id": worker.worker_id, "capabilities": ["v"]})
    assert (answer.status, answer.raw) == (204, b"")
    assert (await worker.post("/tasks/claim", {"worker_id": "w1"})).error == (400, "invalid input")
    assert (await worker.post("/tasks/claim", {"worker_id": NOBODY})).error == (404, "worker not found")
    assert (await worker.claim()).status == 204


@pytest.mark.requirement("S-04")
async def test_of_two_who_claim_one_task_at_once_one_gets_it(
    rig: CoordinatorRig, w: Caller, v: Caller
) -> None:
    for _ in range(5):
        job = await w.search(HEADER + b"\nA\tC\n")
        answers = await asyncio.gather(w.claim(), v.claim())
        assert sorted(answer.status for answer in answers) == [200, 204]
        task = next(answer.body for answer in answers if answer.status == 200)
        assert list(task) == [
            "task_id",
            "job_id",
            "chunk_index",
            "workload",
            "input",
            "parameters",
            "attempt",
            "lease_expires_at",
        ]
        assert (task["job_id"], task["chunk_index"], task["attempt"]) == (job, 0, 1)
        assert task["workload"] == "similarity-search"
        assert task["parameters"] == {"query_smiles": "CCO", "top_k": 3}
        assert task["input"] == {
            "uri": f"/tasks/{task['task_id']}/input",
            "sha256": sha(HEADER + b"\nA\tC\n"),
        }
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", task["lease_expires_at"])
        left = from_text(task["lease_expires_at"]) - rig.clock.now()
        assert left.total_seconds() == pytest.approx(120, abs=0.01)


@pytest.mark.requirement("S-05")
async def test_a_heartbeat_renews_and_every_other_one_says_why_not(
    rig: CoordinatorRig, w: Caller, v: Caller
) -> None:
    job = await w.search(HEADER + b"\nA\tC\n")
    task = await w.claimed()
    id_ = task["task_id"]
    await rig.pass_time(10)
    answer = await w.beat(id_)
    assert answer.status == 200
    assert answer.body["lease_expires_at"] > task["lease_expires_at"]
    assert {**answer.body, "lease_expires_at": ""} == {**task, "lease_expires_at": ""}
    status = await w.status(job)
    assert (status["leased"], status["status"]) == (1, "running")
    assert (await v.beat(id_)).error == ELSEWHERE
    assert (await w.beat(id_, 0)).error == (409, "attempt does not match lease")
    assert (await w.beat(id_, "1")).error == (400, "invalid input")
    assert (await w.beat(NOBODY)).error == (404, "task not found")
    assert (await w.beat("x")).error == (400, "invalid input")
    body = {"worker_id": w.worker_id, "attempt": 1, "x": 1}
    assert (await w.post(f"/tasks/{id_}/heartbeat", body)).error == (400, "invalid input")


@pytest.mark.requirement("S-06")
async def test_the_input_is_the_shard_to_the_byte(rig: CoordinatorRig, w: Caller) -> None:
    await w.search()
    task = await w.claimed()
    answer = await w.get(task["input"]["uri"])
    assert answer.status == 200
    assert answer.raw == HEADER + b"\nA\tC\nB\tCC\n"
    assert sha(answer.raw) == task["input"]["sha256"] == answer.headers["X-Checksum-SHA256"]
    assert answer.headers["Content-Length"] == str(len(answer.raw))
    assert answer.headers["Content-Type"] == "text/tab-separated-values"
    assert (await rig.caller(None).get(task["input"]["uri"])).error == (401, "unauthorized")
    assert (await w.get(f"/tasks/{NOBODY}/input")).error == (404, "task not found")


@pytest.mark.requirement("S-07")
async def test_of_two_partials_of_a_claim_the_first_stays(w: Caller, v: Caller) -> None:
    await w.search()
    id_ = (await w.claimed())["task_id"]
    first = await w.put(id_, b"first")
    artifact = first.body["artifact_id"]
    assert first.told == (
        200,
        {
            "artifact_id": artifact,
            "uri": f"/artifacts/{artifact}/download",
            "sha256": sha(b"first"),
            "size_bytes": 5,
        },
    )
    assert (await w.put(id_, b"other bytes")).told == first.told
    assert (await v.put(id_)).error == ELSEWHERE
    assert (await w.put(id_, attempt=2)).error == ELSEWHERE
    bare = await w.call(
        "PUT", f"/tasks/{id_}/artifacts/r.csv", raw=b"x", headers={"X-Worker-ID": w.worker_id}
    )
    assert bare.error == (400, "invalid input")
    assert (await w.get(first.body["uri"])).raw == b"first"


@pytest.mark.requirement("S-08")
async def test_a_result_counts_once_and_may_be_said_again(w: Caller, v: Caller) -> None:
    job = await w.search()
    task, other = await w.claimed(), await v.claimed()
    id_ = task["task_id"]
    a = (await w.put(id_)).body["artifact_id"]
    b = (await v.put(other["task_id"])).body["artifact_id"]
    assert (await w.complete(id_, b)).error == OTHER_RESULT
    assert (await w.complete(id_, NOBODY)).error == (404, "artifact not found")
    assert (await v.complete(id_, a)).error == ELSEWHERE
    done = (200, {"id": id_, "job_id": job, "status": "completed"})
    assert (await w.complete(id_, a, metrics={"elapsed_seconds": 1.5})).told == done
    assert (await w.complete(id_, a)).told == done
    assert (await w.complete(id_, a, metrics={"elapsed_seconds": 2})).told == done
    assert (await w.beat(id_)).error == NOT_LEASED


@pytest.mark.requirement("S-09")
async def test_a_task_is_tried_three_times_and_what_is_not_retryable_once(
    rig: CoordinatorRig, w: Caller
) -> None:
    job = await w.search(HEADER + b"\nA\tC\n")
    for attempt, status in ((1, "pending"), (2, "pending"), (3, "failed")):
        task = await w.claimed()
        assert task["attempt"] == attempt
        answer = await w.fail(task["task_id"], attempt, retryable=True, error_code="E", error_message="m")
        assert answer.told == (200, {"id": task["task_id"], "job_id": job, "status": status})
        await rig.pass_time(5)
    assert (await w.status(job))["status"] == "failed"
    second = await w.search()
    task = await w.claimed()
    assert (await w.fail(task["task_id"])).body["status"] == "failed"
    status = await w.status(second)
    assert (status["status"], status["failed"], status["pending"]) == ("running", 1, 2)
    await w.do(await w.claimed())
    await w.do(await w.claimed())
    assert (await w.status(second))["status"] == "failed"
    assert "error_code" not in await w.status(second)


@pytest.mark.requirement("S-10")
async def test_a_lease_that_is_over_belongs_to_nobody(tmp_path: Path, clock: FakeClock) -> None:
    async with serving(tmp_path, clock, lease_s=2.0) as rig:
        w, v = await rig.worker("w"), await rig.worker("v")
        job = await w.search(HEADER + b"\nA\tC\n")
        id_ = (await w.claimed())["task_id"]
        a = (await w.put(id_)).body["artifact_id"]
        await rig.pass_time(3)
        assert (await w.beat(id_)).error == ELSEWHERE
        assert (await w.put(id_)).error == ELSEWHERE
        assert (await w.status(job))["leased"] == 1
        assert (await v.claimed())["attempt"] == 2
        assert (await w.complete(id_, a)).error == ELSEWHERE
        assert (await v.complete(id_, a, 2)).error == OTHER_RESULT
        await rig.pass_time(3)
        assert (await w.claimed())["attempt"] == 3
        await rig.pass_time(3)
        assert (await v.claim()).status == 204
        assert (await w.beat(id_, 3)).error == NOT_LEASED
        assert (await w.status(job))["status"] == "failed"


@pytest.mark.requirement("S-11")
async def test_a_cancel_ends_what_is_open_and_nothing_else(w: Caller, v: Caller) -> None:
    job = await w.search(rows=1, table=HEADER + b"\nA\tC\nB\tC\nC\tC\nD\tC\n")
    assert (await w.do(await w.claimed())).status == 200
    running = (await w.claimed())["task_id"]
    assert (await w.beat(running)).status == 200
    leased = (await v.claimed())["task_id"]
    cancelled = (200, {"job_id": job, "status": "cancelled", "cancelled_tasks": 3})
    assert (await w.post(f"/jobs/{job}/cancel", "anything")).told == cancelled
    assert (await w.post(f"/jobs/{job}/cancel")).body["cancelled_tasks"] == 0
    assert await w.status(job) == {
        "id": job,
        "status": "cancelled",
        "total": 4,
        "pending": 0,
        "leased": 0,
        "completed": 1,
        "failed": 0,
        "cancelled": 3,
    }
    assert (await w.beat(running)).error == NOT_LEASED
    assert (await v.put(leased)).error == ELSEWHERE
    assert (await w.fail(running)).error == NOT_LEASED
    assert (await w.claim()).status == 204
    assert (await w.get(f"/jobs/{job}/result")).error == (404, "artifact not found")
    done = await w.search(HEADER + b"\nA\tC\n")
    assert (await w.do(await w.claimed())).status == 200
    assert (await w.post(f"/jobs/{done}/cancel")).error == (409, "job cannot be cancelled")
    assert (await w.post(f"/jobs/{NOBODY}/cancel")).error == (404, "job not found")


@pytest.mark.requirement("S-12")
async def test_an_upload_becomes_shards_to_the_byte(w: Caller) -> None:
    answer = await w.upload(SEARCHED, ASKED, ("chunk_rows", "2"), FILE)
    assert answer.status == 201
    assert set(answer.body) == {"job_id", "task_count", "input_artifact_id"}
    assert answer.body["task_count"] == 3
    shards = [(await w.get((await w.claimed())["input"]["uri"])).raw for _ in range(3)]
    assert shards == [
        HEADER + b"\nA\tC\nB\tCC\n",
        HEADER + b"\nC\tCCC\nD\tN\n",
        HEADER + b"\nE\tO\n",
    ]
    source = await w.get(f"/artifacts/{answer.body['input_artifact_id']}/download")
    assert source.raw == TABLE
    fewer = await w.upload(SEARCHED, ASKED, ("chunk_rows", "2"), ("max_rows", "3"), FILE)
    assert fewer.body["task_count"] == 2
    shards = [(await w.get((await w.claimed())["input"]["uri"])).raw for _ in range(2)]
    assert shards == [HEADER + b"\nA\tC\nB\tCC\n", HEADER + b"\nC\tCCC\n"]
    assert (await w.get(f"/artifacts/{fewer.body['input_artifact_id']}/download")).raw == TABLE


def table(content: bytes) -> Field:
    return ("file", "mols.tsv", content, "text/plain")


@pytest.mark.requirement("S-12")
@pytest.mark.parametrize(
    "fields",
    [
        (SEARCHED, ASKED, FILE, ("chunk_rows", "2")),
        (FILE, SEARCHED, ASKED),
        (SEARCHED, ASKED, ("other", "x"), FILE),
        (SEARCHED, ASKED, ("chunk_rows", "0"), FILE),
        (SEARCHED, ASKED, ("chunk_rows", "2.0"), FILE),
        (SEARCHED, ASKED, ("chunk_rows", ""), FILE),
        (SEARCHED, ASKED, ("max_rows", "abc"), FILE),
        (SEARCHED, ("parameters", '{"query_id":"A","query_smiles":"C"}'), FILE),
        (SEARCHED, ("parameters", "[]"), FILE),
        (SEARCHED, ("parameters", "{"), FILE),
        (SEARCHED, FILE),
        (SEARCHED, SEARCHED, ASKED, FILE),
        (SEARCHED, ASKED),
        (SEARCHED, ASKED, FILE, FILE),
        (SEARCHED, ASKED, FILE, ("dataset", "d.tsv", TABLE, "text/plain")),
        (SEARCHED, ASKED, table(HEADER + b"\n")),
        (SEARCHED, ASKED, table(b"")),
        (SEARCHED, ASKED, table(b"chembl_id\tsmiles\nA\tC\n")),
        (("workload", "similarity-graph"), ASKED, FILE),
        (("workload", "similarity_search"), ASKED, FILE),
        (("workload", "x" * 2000), ASKED, FILE),
        (SEARCHED, ("parameters", " " * 70_000), FILE),
    ],
)
async def test_a_refused_upload_leaves_nothing_behind(
    rig: CoordinatorRig, w: Caller, fields: tuple[Field, ...]
) -> None:
    assert (await w.upload(*fields)).error == (400, "invalid input")
    assert rig.stored() == []
    assert (await w.claim()).status == 204


@pytest.mark.requirement("S-13")
async def test_the_final_table_is_the_best_of_all_shards(w: Caller) -> None:
    job = await w.search(rows=3)
    first, second = await w.claimed(), await w.claimed()
    head = b"rank,chembl_id,canonical_smiles,similarity\r\n"
    assert (await w.do(second, head + b'1,A,"C,C",0.9\r\n2,C,CCC,0.5\r\n3,D,CCCC,0.1\r\n')).status == 200
    before = await w.status(job)
    assert before["status"] == "running"
    assert "result_uri" not in before
    assert (await w.get(f"/jobs/{job}/result")).error == (404, "artifact not found")
    assert (await w.do(first, head + b"1,B,CC,0.9\r\n2,A,C,0.5\r\n")).status == 200
    after = await w.status(job)
    assert (after["status"], after["result_uri"]) == ("completed", f"/jobs/{job}/result")
    answer = await w.get(after["result_uri"])
    assert answer.status == 200
    assert answer.raw == (
        b'rank,chembl_id,canonical_smiles,similarity\n1,A,"C,C",0.900000\n2,B,CC,0.900000\n3,A,C,0.500000\n'
    )
    assert answer.headers["Content-Type"] == "text/csv"
    assert answer.headers["Content-Length"] == str(len(answer.raw))
    assert answer.headers["Content-Disposition"] == 'attachment; filename="similarity-search.csv"'


@pytest.mark.requirement("S-14")
@pytest.mark.parametrize(
    "partial",
    [
        b"rank,id,canonical_smiles,similarity\n1,A,C,0.5\n",
        b"rank,chembl_id,canonical_smiles,similarity\n2,A,C,0.5\n",
        b"rank,chembl_id,canonical_smiles,similarity\n1,A,C,1.5\n",
        b"rank,chembl_id,canonical_smiles,similarity\n1,A,C,0.1\n2,B,C,0.5\n",
    ],
)
async def test_a_result_that_is_not_as_it_has_to_be_fails_the_job_alone(w: Caller, partial: bytes) -> None:
    job = await w.search(HEADER + b"\nA\tC\n")
    task = await w.claimed()
    answer = await w.do(task, partial)
    assert answer.told == (200, {"id": task["task_id"], "job_id": job, "status": "completed"})
    status = await w.status(job)
    assert (status["status"], status["error_code"]) == ("failed", "reducer_failed")
    assert (await w.get(f"/jobs/{job}/result")).error == (404, "artifact not found")


@pytest.mark.requirement("S-15")
async def test_a_storm_of_wrong_tokens_is_damped_and_the_right_one_gets_in(
    rig: CoordinatorRig, w: Caller
) -> None:
    wrong = rig.caller("revoked")
    answers = [await wrong.post("/tasks/claim", {"worker_id": NOBODY}) for _ in range(50)]
    statuses = [answer.status for answer in answers]
    assert statuses == [401] * 20 + [429] * 30
    damped = answers[-1]
    assert damped.error == (429, "too many requests")
    assert 1 <= int(damped.headers["Retry-After"]) <= 60
    assert (await w.claim()).status == 204
