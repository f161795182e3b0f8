"""The forms of the coordinator's wire: tokens, the router's own answers, JSON and ids as the original."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes.clock import FakeClock
from tests.wire.coordinator_rig import HEADER, NOBODY, Caller, CoordinatorRig, serving

ONE = HEADER + b"\nA\tC\n"
INVALID = (400, "invalid input")


@pytest.fixture
async def rig(tmp_path: Path, clock: FakeClock) -> AsyncIterator[CoordinatorRig]:
    async with serving(tmp_path, clock) as rig:
        yield rig


@pytest.fixture
async def w(rig: CoordinatorRig) -> Caller:
    return await rig.worker("w")


# ---- tokens and the router


@pytest.mark.parametrize(
    ("form", "status"), [("Bearer {}", 204), ("{}", 204), ("bearer {}", 401), ("Bearer  {}", 401), ("", 401)]
)
async def test_a_bare_token_is_taken_and_no_other_form(
    rig: CoordinatorRig, w: Caller, form: str, status: int
) -> None:
    answer = await rig.caller(None).call(
        "POST",
        "/tasks/claim",
        {"worker_id": w.worker_id},
        headers={"Authorization": form.format(w.token)},
    )
    assert answer.status == status


async def test_the_token_is_judged_before_the_address(rig: CoordinatorRig, w: Caller) -> None:
    bare = rig.caller(None)
    for method, path in (("GET", "/nothing"), ("DELETE", "/tasks/claim"), ("POST", "/health")):
        assert (await bare.call(method, path)).error == (401, "unauthorized")
    missing = await w.get("/nothing")
    assert (missing.status, missing.raw) == (404, b"404 page not found\n")
    assert missing.headers["Content-Type"].startswith("text/plain")
    wrong = await w.get("/tasks/claim")
    assert (wrong.status, wrong.raw) == (405, b"Method Not Allowed\n")
    assert wrong.headers["Content-Type"].startswith("text/plain")
    assert wrong.headers["Allow"] == "POST"


async def test_health_answers_head_and_has_no_request_id(rig: CoordinatorRig, w: Caller) -> None:
    bare = rig.caller(None)
    answer = await bare.call("HEAD", "/health")
    assert (answer.status, answer.raw) == (200, b"")
    assert "X-Request-ID" not in (await bare.get("/health")).headers
    first, second = await w.claim(), await w.claim()
    assert len(first.headers["X-Request-ID"]) == 16
    assert first.headers["X-Request-ID"] != second.headers["X-Request-ID"]


async def test_health_tells_the_truth_about_the_store(rig: CoordinatorRig, w: Caller) -> None:
    await rig.rooms.db.close()
    answer = await rig.caller(None).get("/health")
    assert answer.told == (503, {"status": "unavailable"})


# ---- JSON


@pytest.mark.parametrize(
    "raw",
    [
        b'{"NAME":"a","Capabilities":["w"]}',
        b'{"name":"","name":"a","capabilities":["w"]}',
        b'{"name":"a","capabilities":["w"],"cpu_count":null}',
        b' \r\n\t{"name":"a","capabilities":["w"]}\n ',
        b'{"name":"\xff","capabilities":["w"]}',
        b'{"name":"\\ud800","capabilities":["w"]}',
        b'{"name":"a","capabilities":["anything <at> all"]}',
    ],
)
async def test_a_body_is_read_as_the_original_reads_it(w: Caller, raw: bytes) -> None:
    answer = await w.call("POST", "/workers/register", raw=raw, headers={"Content-Type": "text/weird"})
    assert answer.status == 201


@pytest.mark.parametrize(
    "raw",
    [
        b"null",
        b"[]",
        b'"a"',
        b"{",
        b'{"name":"a","capabilities":["w"]} x',
        b'\xef\xbb\xbf{"name":"a","capabilities":["w"]}',
        b'{"name":" ","capabilities":["w"]}',
        b'{"name":1,"capabilities":["w"]}',
        b'{"name":"a","capabilities":"w"}',
        b'{"name":"a","capabilities":[1]}',
        b'{"name":"a","capabilities":["w"],"cpu_count":2.5}',
        b'{"name":"a","capabilities":["w"],"cpu_count":2.0}',
        b'{"name":"a","capabilities":["w"],"cpu_count":NaN}',
        b'{"name":"a","capabilities":["w"],"cpu_count":' + b"9" * 5000 + b"}",
        b'{"name":"a","capabilities":["w"],"memory_mb":"1"}',
        b"[" * 100_000,
        b'{"name":"' + b"a" * (1 << 20) + b'","capabilities":["w"]}',
    ],
)
async def test_any_other_body_is_invalid(w: Caller, raw: bytes) -> None:
    assert (await w.call("POST", "/workers/register", raw=raw)).error == INVALID


async def test_names_match_in_any_case_inside_too_and_unknown_ones_are_refused_there(w: Caller) -> None:
    await w.search(ONE)
    task = await w.claimed()
    artifact = (await w.put(task["task_id"])).body["artifact_id"]
    path = f"/tasks/{task['task_id']}/result"
    body = {"worker_id": w.worker_id, "attempt": 1, "result": {"artifact_id": artifact, "other": 1}}
    assert (await w.post(path, body)).error == INVALID
    body = {"Worker_ID": w.worker_id, "ATTEMPT": 1, "RESULT": {"Artifact_Id": artifact}, "metrics": {"X": 1}}
    assert (await w.post(path, body)).status == 200


async def test_integers_stay_integers_and_html_signs_are_escaped(w: Caller) -> None:
    await w.search(ONE, parameters='{"query_smiles": "<C&C>", "top_k": 3.0, "threshold": 0.5}')
    answer = await w.claim()
    assert b'"parameters":{"query_smiles":"\\u003cC\\u0026C\\u003e","top_k":3,"threshold":0.5}' in answer.raw
    await w.described("w", parameters={"n": 2.0, "deep": [{"m": 1.0}], "s": "3.0"})
    assert b'"parameters":{"n":2,"deep":[{"m":1}],"s":"3.0"}' in (await w.claim()).raw


async def test_a_task_without_parameters_has_an_empty_object(w: Caller) -> None:
    await w.described("w")
    assert (await w.claimed())["parameters"] == {}


# ---- ids


async def test_an_id_in_the_path_may_have_any_of_four_forms(w: Caller) -> None:
    job = await w.search()
    for form in (job.upper(), job.replace("-", ""), f"{{{job}}}", f"urn:uuid:{job}", f"URN:UUID:{job}"):
        assert (await w.get(f"/jobs/{form}")).body["id"] == job
    for form in ("x", job[:-1], job + "0", job.replace("-", "", 1), f"({job})", f"{{{job}", "g" * 32):
        assert (await w.get(f"/jobs/{form}")).error == INVALID
    assert (await w.get(f"/jobs/{NOBODY}")).error == (404, "job not found")
    assert (await w.get(f"/artifacts/{NOBODY}/download")).error == (404, "artifact not found")
    assert (await w.get("/artifacts/x/download")).error == INVALID


async def test_the_owner_of_a_lease_is_the_id_as_it_was_written(w: Caller) -> None:
    await w.search(ONE)
    upper = {"worker_id": w.worker_id.upper()}
    claimed = await w.post("/tasks/claim", upper)
    assert claimed.status == 200
    id_ = claimed.body["task_id"]
    assert (await w.beat(id_)).error == (409, "task leased to another worker")
    assert (await w.post(f"/tasks/{id_}/heartbeat", {**upper, "attempt": 1})).status == 200


async def test_a_worker_belongs_to_the_token_that_registered_it(rig: CoordinatorRig, w: Caller) -> None:
    other = await rig.invited("other")
    other.worker_id = w.worker_id
    await w.search(ONE)
    assert (await other.claim()).error == (404, "worker not found")
    task = await w.claimed()
    assert (await other.beat(task["task_id"])).error == (409, "task leased to another worker")
    assert (await other.put(task["task_id"])).error == (409, "task leased to another worker")


async def test_what_is_not_said_counts_as_nothing_and_not_as_a_mistake(w: Caller) -> None:
    await w.search(ONE)
    id_ = (await w.claimed())["task_id"]
    assert (await w.post(f"/tasks/{id_}/heartbeat", {})).error == (409, "task leased to another worker")
    body = {"worker_id": w.worker_id}
    assert (await w.post(f"/tasks/{id_}/heartbeat", body)).error == (409, "attempt does not match lease")
    assert (await w.post(f"/tasks/{id_}/result", {**body, "attempt": 1})).error == (404, "artifact not found")
    answer = await w.complete(id_, "no-uuid")
    assert answer.error == INVALID
    headers = {"X-Task-Attempt": "1"}
    bare = await w.call("PUT", f"/tasks/{id_}/artifacts/r.csv", raw=b"", headers=headers)
    assert bare.error == (409, "task leased to another worker")
    answer = await w.call("POST", f"/tasks/{id_}/failure", raw=json.dumps({**body, "attempt": 1}).encode())
    assert answer.body["status"] == "failed"
