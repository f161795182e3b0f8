"""Reports on held jobs."""

import io
import json
from typing import Any

import pytest

from tests.wire.server_rig import Rig


@pytest.mark.requirement("R-052")
@pytest.mark.parametrize("state", ["running", "done", "failed", "needs_attention", "cancelled"])
async def test_a_held_job_may_be_reported_in_each_allowed_state(house: Rig, state: str):
    bridge = await house.pair()
    job_id = await house.queued()
    job = await bridge.claim()
    answer = await bridge.report(job, state)
    open_states = ("running", "needs_attention")
    assert answer.body == {
        "id": job_id,
        "state": state,
        "attempt": 1,
        "cancel_requested": False,
        "lease_expires_at": "2026-01-01T00:02:00.000Z" if state in open_states else None,
        "lease_seconds": 120.0,
    }
    row = await house.job(job_id)
    assert row["state"] == state
    assert (row["finished_at"] is None) == (state in open_states)


@pytest.mark.requirement("R-052")
async def test_a_job_that_needs_attention_goes_on_or_ends(house: Rig):
    bridge = await house.pair()
    await house.queued()
    job = await bridge.claim()
    for state in ("needs_attention", "needs_attention", "running", "needs_attention", "done"):
        assert (
            await bridge.report(job, state, error="no model" if state == "needs_attention" else None)
        ).status == 200
    row = await house.job(job["id"])
    assert (row["state"], row["error"]) == ("done", None)


@pytest.mark.requirement("R-052")
@pytest.mark.parametrize(
    "body",
    [
        {"attempt": 1, "state": "queued"},
        {"attempt": 1, "state": "claimed"},
        {"attempt": 1, "state": "junk"},
        {"attempt": 1},
        {"state": "running"},
        {"attempt": "1", "state": "running"},
        {"attempt": True, "state": "running"},
        {"attempt": 1, "state": "running", "progress": "half"},
        {"attempt": 1, "state": "running", "progress": {"message": "no step"}},
        {"attempt": 1, "state": "done", "result": []},
        {"attempt": 1, "state": "failed", "error": 7},
        [],
    ],
)
async def test_a_report_of_a_wrong_form_is_refused_and_changes_nothing(house: Rig, body: Any):
    bridge = await house.pair()
    await house.queued()
    job = await bridge.claim()
    refused = await bridge.patch(f"/bridge/jobs/{job['id']}", body)
    assert (refused.status, refused.code) == (400, "invalid_report")
    assert (await house.job(job["id"]))["state"] == "claimed"


@pytest.mark.requirement("R-061")
async def test_every_report_renews_the_lease(house: Rig):
    bridge = await house.pair()
    await house.queued()
    job = await bridge.claim()
    for _ in range(3):
        await house.time.advance(110)
        assert (await bridge.report(job, "running")).status == 200
    await house.time.advance(119)
    assert (await house.job(job["id"]))["state"] == "running"
    await house.time.advance(2)
    assert (await house.job(job["id"]))["state"] == "queued"


@pytest.mark.requirement("R-064")
async def test_a_report_from_any_other_claim_is_not_held(house: Rig):
    bridge = await house.pair()
    await house.queued()
    first = await bridge.claim()
    await house.time.advance(121)
    second = await bridge.claim()
    assert second["attempt"] == 2
    old = await bridge.report(first, "running")
    assert (old.status, old.code, old["error"]["state"]) == (409, "not_held", "claimed")
    ahead = await bridge.report({**second, "attempt": 3}, "done")
    assert (ahead.status, ahead.code) == (409, "not_held")
    assert (await bridge.report(second, "done", result={"n": 1})).status == 200
    for state in ("done", "running", "failed"):
        ended = await bridge.report(second, state)
        assert (ended.status, ended.code, ended["error"]["state"]) == (409, "not_held", "done")
    unknown = await bridge.report({"id": 4711, "attempt": 1}, "running")
    assert (unknown.status, unknown.code) == (409, "not_held")
    assert "state" not in unknown["error"]
    assert (await house.job(first["id"]))["result"] == {"n": 1}


@pytest.mark.requirement("R-064")
async def test_a_queued_job_is_held_by_nobody(house: Rig):
    bridge = await house.pair()
    job_id = await house.queued()
    refused = await bridge.report({"id": job_id, "attempt": 1}, "done")
    assert (refused.code, refused["error"]["state"]) == ("not_held", "queued")


@pytest.mark.requirement("R-064", "R-010")
async def test_a_bridge_paired_anew_reports_on_under_its_old_claim(house: Rig):
    old = await house.pair()
    await house.queued()
    job = await old.claim()
    new = await house.pair()
    assert (await old.report(job, "running")).status == 401
    assert (await new.report(job, "running")).status == 200


@pytest.mark.requirement("R-065")
async def test_an_error_is_cleaned_and_cut_never_refused(house: Rig):
    bridge = await house.pair()
    await house.queued()
    job = await bridge.claim()
    sent = "bell\u0007 line\nnext\r " + "ü" * 3000
    assert (await bridge.report(job, "failed", error=sent)).status == 200
    kept = (await house.job(job["id"]))["error"]
    assert kept.startswith("bell  line\nnext  ü")
    assert 2047 <= len(kept.encode()) <= 2048


@pytest.mark.requirement("R-065")
async def test_a_final_report_with_a_name_that_json_forbids_is_taken(house: Rig):
    bridge = await house.pair()
    await house.queued()
    job = await bridge.claim()
    body = b'{"attempt": 1, "state": "failed", "error": "no \\udcff \xfe \x01", "result": {"p": "\\ud800"}}'
    headers = {"Content-Type": "application/json"}
    answer = await bridge.call("PATCH", f"/bridge/jobs/{job['id']}", data=body, headers=headers)
    assert answer.status == 200, answer
    row = await house.job(job["id"])
    assert row["error"].startswith("no ")
    assert row["result"] == {"p": " "}


async def test_progress_is_cleaned_and_kept_until_it_changes(house: Rig):
    bridge = await house.pair()
    await house.queued()
    job = await bridge.claim()
    progress = {"step": "stat\u0000" + "s" * 200, "message": "ö" * 2000, "done": 1, "total": 2.5}
    await bridge.report(job, "running", progress=progress)
    await bridge.report(job, "running")
    kept = (await house.job(job["id"]))["progress"]
    assert kept == {"step": "stat " + "s" * 123, "message": "ö" * 512, "done": 1, "total": 2.5}
    await bridge.report(job, "running", progress={"step": "hold", "message": "Holding, as asked"})
    assert (await house.job(job["id"]))["progress"] == {"step": "hold", "message": "Holding, as asked"}


async def test_a_result_over_256_kib_is_too_large_and_one_below_is_taken(house: Rig):
    bridge = await house.pair()
    await house.queued()
    job = await bridge.claim()
    fits = {"x": "y" * (256 * 1024 - 8)}
    refused = await bridge.report(job, "done", result={"x": fits["x"] + "y"})
    assert (refused.status, refused.code) == (413, "result_too_large")
    body = io.BytesIO(json.dumps({"attempt": 1, "state": "done", "result": {"x": "y" * (5 << 20)}}).encode())
    huge = await bridge.call("PATCH", f"/bridge/jobs/{job['id']}", data=body)
    assert (huge.status, huge.code) == (413, "result_too_large")
    assert (await house.job(job["id"]))["state"] == "claimed"
    assert (await bridge.report(job, "done", result=fits)).status == 200
    assert (await house.job(job["id"]))["result"] == fits
