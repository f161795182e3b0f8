"""Jobs as an admin queues, lists and cancels them."""

import asyncio
from typing import Any

import pytest

from tests.fakes.bridge import VERIFY
from tests.wire.server_rig import Rig

FIELDS = {
    "id",
    "kind",
    "library_id",
    "path",
    "params",
    "state",
    "priority",
    "attempts",
    "lease_expires_at",
    "cancel_requested",
    "progress",
    "result",
    "error",
    "created_at",
    "updated_at",
    "finished_at",
}


@pytest.mark.requirement("R-092")
async def test_a_job_is_queued_only_of_a_kind_that_both_sides_know(house: Rig):
    assert (await house.queue()).code == "kind_unavailable"
    bridge = await house.pair("foo.bar")
    for kind in (VERIFY, "foo.bar", "nonsense"):
        refused = await house.queue(kind=kind)
        assert (refused.status, refused.code) == (409, "kind_unavailable")
    await bridge.beat((VERIFY,))
    made = await house.queue()
    assert made.status == 201
    assert set(made.body) == FIELDS
    assert made["state"] == "queued"
    await house.admin.delete("/admin/bridge")
    assert (await house.queue(2)).code == "kind_unavailable"


@pytest.mark.requirement("R-093")
async def test_a_job_waits_for_a_bridge_that_is_offline(house: Rig):
    await house.pair()
    await house.time.advance(200)
    assert (await house.queue()).status == 201


@pytest.mark.requirement("R-051")
async def test_the_same_is_open_once(house: Rig):
    bridge = await house.pair()
    first = await house.queue()
    again = await house.queue(priority=7)
    assert (first.status, again.status) == (201, 200)
    assert again.body == first.body
    for state in ("running", "needs_attention"):
        job = (await bridge.next()).body
        if job:
            held = job["job"]
        await bridge.report(held, state)
        same = await house.queue()
        assert (same.status, same["id"], same["state"]) == (200, first["id"], state)
    await bridge.report(held, "done")
    assert (await house.queue()).status == 201


@pytest.mark.requirement("R-051")
async def test_ten_at_once_give_one_job(house: Rig):
    await house.pair()
    answers = await asyncio.gather(*(house.queue() for _ in range(10)))
    assert sorted(answer.status for answer in answers) == [200] * 9 + [201]
    assert len({answer["id"] for answer in answers}) == 1


async def test_a_job_queued_while_its_library_is_removed_goes_with_it(house: Rig):
    await house.pair()

    async def removed_meanwhile(library_id: int, _path: str) -> bool:
        await house.home.remove_library(library_id)
        return True

    house.home.library.has_book = removed_meanwhile
    refused = await house.admin.post(
        "/admin/bridge/jobs", {"kind": VERIFY, "library_id": 1, "path": "Book 1"}
    )
    assert (refused.status, refused.code) == (404, "not_found")
    assert (await house.admin.get("/admin/bridge/jobs"))["jobs"] == []


@pytest.mark.requirement("R-097")
async def test_without_a_path_it_is_the_librarys_sample_book(house: Rig):
    await house.pair()
    body = {"kind": VERIFY, "library_id": house.library_id}
    made = await house.admin.post("/admin/bridge/jobs", body)
    assert (made.status, made["path"]) == (201, "Book 1")
    assert (await house.admin.post("/admin/bridge/jobs", {**body, "path": None})).status == 200


@pytest.mark.requirement("R-097")
@pytest.mark.parametrize(
    "change", [{"path": "No such book"}, {"path": ""}, {"path": "../Book 1"}, {"library_id": 99}]
)
async def test_an_unknown_book_or_library_is_not_found(house: Rig, change: dict[str, Any]):
    await house.pair()
    refused = await house.queue(**change)
    assert (refused.status, refused.code) == (404, "not_found")


@pytest.mark.requirement("R-095", "R-098")
@pytest.mark.parametrize("hold", [601, -1, "x", 1.5, True, [1]])
async def test_a_bad_hold_is_refused(house: Rig, hold: object):
    await house.pair()
    refused = await house.queue(params={"hold_seconds": hold})
    assert (refused.status, refused.code) == (400, "invalid_params")


@pytest.mark.requirement("R-098")
@pytest.mark.parametrize(
    ("params", "stored"),
    [
        (None, {}),
        ({}, {}),
        ({"hold_seconds": 0}, {}),
        ({"hold_seconds": 600}, {"hold_seconds": 600}),
        ({"hold_seconds": 5, "newer": 1}, {"hold_seconds": 5}),
    ],
)
async def test_a_good_hold_is_stored(house: Rig, params: Any, stored: dict[str, int]):
    bridge = await house.pair()
    made = await house.queue(params=params)
    assert (made.status, made["params"]) == (201, stored)
    assert (await bridge.claim())["params"] == stored


@pytest.mark.parametrize(
    "body",
    [
        {"kind": VERIFY},
        {"library_id": 1},
        {"kind": VERIFY, "library_id": "1"},
        {"kind": VERIFY, "library_id": 1, "params": []},
        {"kind": VERIFY, "library_id": 1, "path": "Book 1", "priority": 101},
        {"kind": VERIFY, "library_id": 1, "path": "Book 1", "priority": "high"},
    ],
)
async def test_a_body_of_a_wrong_form_is_refused(house: Rig, body: dict[str, object]):
    await house.pair()
    refused = await house.admin.post("/admin/bridge/jobs", body)
    assert (refused.status, refused.code) == (400, "invalid_params")


async def test_lists_are_newest_first_filtered_and_go_on_from_a_cursor(house: Rig):
    bridge = await house.pair(VERIFY, "test.other")
    ids = [await house.queued(number) for number in range(1, 5)]
    other = await house.queued(1, kind="test.other")
    await bridge.report(await bridge.claim(), "done")

    async def listed(**query: object) -> tuple[list[int], object]:
        answer = await house.admin.get("/admin/bridge/jobs", params={k: str(v) for k, v in query.items()})
        assert answer.status == 200
        return [job["id"] for job in answer["jobs"]], answer["next_before"]

    assert await listed() == ([other, *reversed(ids)], None)
    assert await listed(limit=2) == ([other, ids[3]], ids[3])
    assert await listed(limit=2, before=ids[3]) == ([ids[2], ids[1]], ids[1])
    assert await listed(limit=2, before=ids[1]) == ([ids[0]], None)
    assert await listed(state="done") == ([ids[0]], None)
    assert await listed(state="open", kind=VERIFY) == ([ids[3], ids[2], ids[1]], None)
    assert await listed(state="open", limit=2) == ([other, ids[3]], ids[3])
    assert await listed(kind="test.other") == ([other], None)
    assert await listed(library_id=99) == ([], None)
    assert await listed(limit=1000) == ([other, *reversed(ids)], None)
    assert (await house.admin.get("/admin/bridge/jobs", params={"state": "odd"})).status == 400


@pytest.mark.requirement("R-071")
async def test_cancelling_what_nobody_works_on_ends_it_at_once(house: Rig):
    bridge = await house.pair()
    queued = await house.queued(1)
    cancelled = await house.admin.post(f"/admin/bridge/jobs/{queued}/cancel")
    assert (cancelled.status, cancelled["state"]) == (200, "cancelled")
    assert cancelled["finished_at"] is not None
    waiting = await house.queued(2)
    job = await bridge.claim()
    await bridge.report(job, "needs_attention", error="no model")
    cancelled = await house.admin.post(f"/admin/bridge/jobs/{waiting}/cancel")
    assert (cancelled["state"], cancelled["error"]) == ("cancelled", "no model")
    refused = await bridge.report(job, "running")
    assert (refused.status, refused.code, refused["error"]["state"]) == (409, "not_held", "cancelled")


@pytest.mark.requirement("R-072", "R-076")
async def test_cancelling_what_is_held_asks_its_holder_to_stop(house: Rig):
    bridge = await house.pair()
    await house.queued()
    job = await bridge.claim()
    asked = await house.admin.post(f"/admin/bridge/jobs/{job['id']}/cancel")
    assert (asked.status, asked["state"], asked["cancel_requested"]) == (200, "claimed", True)
    same = await house.queue()
    assert (same.status, same["id"], same["cancel_requested"]) == (200, job["id"], True)
    assert (await bridge.report(job, "running"))["cancel_requested"] is True
    assert (await house.admin.post(f"/admin/bridge/jobs/{job['id']}/cancel")).status == 200
    assert (await bridge.report(job, "cancelled"))["state"] == "cancelled"
    assert (await house.queue()).status == 201


@pytest.mark.requirement("R-075")
@pytest.mark.parametrize("end", ["done", "failed", "cancelled"])
async def test_cancelling_an_ended_job_is_finished(house: Rig, end: str):
    bridge = await house.pair()
    job_id = await house.queued()
    await bridge.report(await bridge.claim(), end)
    refused = await house.admin.post(f"/admin/bridge/jobs/{job_id}/cancel")
    assert (refused.status, refused.code) == (409, "finished")
    assert (await house.admin.post("/admin/bridge/jobs/999/cancel")).code == "not_found"
