"""Leases that run out, clocks that jump, servers that start again."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from bridge_agent.protocol.leases import STOPPED_REPORTING
from tests.fakes.bridge import Answer, FakeBridge
from tests.fakes.clock import FakeClock
from tests.wire.server_rig import Rig, serving

PROGRESS = {"step": "stat", "message": "Comparing the files", "done": 1, "total": 2}


@pytest.mark.requirement("R-067")
async def test_a_lapse_queues_the_job_again_and_resets_what_the_dead_attempt_said(house: Rig):
    bridge = await house.pair()
    job_id = await house.queued()
    job = await bridge.claim()
    await bridge.report(job, "needs_attention", progress=PROGRESS, result={"n": 1}, error="odd")
    await house.time.advance(121)
    row = await house.job(job_id)
    assert row["state"] == "queued"
    assert (row["progress"], row["result"], row["error"]) == (None, None, None)
    assert (row["lease_expires_at"], row["finished_at"], row["attempts"]) == (None, None, 1)


@pytest.mark.requirement("R-068")
async def test_the_third_lapse_fails_the_job_and_keeps_what_was_reported(house: Rig):
    bridge = await house.pair()
    job_id = await house.queued()
    for attempt in (1, 2, 3):
        job = await bridge.claim()
        assert job["attempt"] == attempt
        await bridge.report(job, "running", progress=PROGRESS, result={"n": attempt})
        await house.time.advance(121)
    row = await house.job(job_id)
    assert (row["state"], row["error"]) == ("failed", STOPPED_REPORTING)
    assert (row["progress"], row["result"]) == (PROGRESS, {"n": 3})
    assert row["finished_at"] is not None
    assert (await bridge.next()).status == 204


@pytest.mark.requirement("R-069", "R-074")
async def test_a_lapse_of_a_job_that_was_to_be_cancelled_cancels_it(house: Rig):
    bridge = await house.pair()
    job_id = await house.queued()
    job = await bridge.claim()
    await bridge.report(job, "running", progress=PROGRESS)
    await house.admin.post(f"/admin/bridge/jobs/{job_id}/cancel")
    await house.time.advance(121)
    row = await house.job(job_id)
    assert (row["state"], row["progress"], row["error"]) == ("cancelled", PROGRESS, None)


async def _claim(house: Rig, bridge: FakeBridge, _: int) -> Answer:
    return await bridge.next()


async def _report(house: Rig, bridge: FakeBridge, job_id: int) -> Answer:
    return await bridge.report({"id": job_id, "attempt": 1}, "running")


async def _cancel(house: Rig, bridge: FakeBridge, job_id: int) -> Answer:
    return await house.admin.post(f"/admin/bridge/jobs/{job_id}/cancel")


async def _read(house: Rig, bridge: FakeBridge, job_id: int) -> Answer:
    return await house.admin.get(f"/admin/bridge/jobs/{job_id}")


async def _list(house: Rig, bridge: FakeBridge, job_id: int) -> Answer:
    listed = await house.admin.get("/admin/bridge/jobs")
    return Answer(listed.status, listed["jobs"][0], listed.raw, listed.headers)


async def _queue(house: Rig, bridge: FakeBridge, job_id: int) -> Answer:
    return await house.queue()


@pytest.mark.requirement("R-070")
@pytest.mark.parametrize(
    ("touch", "expected"),
    [
        (_claim, lambda a: a["job"]["attempt"] == 2),
        (_report, lambda a: (a.code, a["error"]["state"]) == ("not_held", "queued")),
        (_cancel, lambda a: a["state"] == "cancelled"),
        (_read, lambda a: a["state"] == "queued"),
        (_list, lambda a: a["state"] == "queued"),
        (_queue, lambda a: (a.status, a["state"]) == (200, "queued")),
    ],
)
async def test_whoever_touches_a_job_first_after_the_lapse_sees_it(
    house: Rig,
    touch: Callable[[Rig, FakeBridge, int], Awaitable[Answer]],
    expected: Callable[[Answer], bool],
):
    # The timer that wakes parked polls is taken out, so that the touch alone can show the lapse.
    assert house.home._timer is not None
    house.home._timer.cancel()
    bridge = await house.pair()
    job_id = await house.queued()
    await bridge.claim()
    await house.time.advance(121)
    assert expected(await touch(house, bridge, job_id))


async def test_a_wall_clock_set_forward_ends_no_lease(house: Rig):
    bridge = await house.pair()
    await house.queued()
    job = await bridge.claim()
    house.time.set_wall(7 * 86_400)
    assert (await house.job(job["id"]))["state"] == "claimed"
    assert (await bridge.next()).status == 204
    assert (await bridge.report(job, "running")).status == 200


async def test_a_wall_clock_set_back_keeps_no_lease(house: Rig):
    bridge = await house.pair()
    await house.queued()
    job = await bridge.claim()
    house.time.set_wall(-7 * 86_400)
    await bridge.report(job, "running")
    await house.time.advance(121)
    assert (await house.job(job["id"]))["state"] == "queued"


async def test_a_lease_outlives_a_restart_for_what_is_left_of_it(tmp_path: Path, clock: FakeClock):
    async with serving(tmp_path, clock) as house:
        bridge = await house.pair()
        await house.queued()
        job = await bridge.claim()
    await clock.advance(100)
    async with serving(tmp_path, clock) as house:
        bridge = house.again(bridge)
        assert (await house.job(job["id"]))["state"] == "claimed"
        await clock.advance(19)
        assert (await house.job(job["id"]))["state"] == "claimed"
        await clock.advance(2)
        assert (await house.job(job["id"]))["state"] == "queued"
        assert (await bridge.claim())["attempt"] == 2
    await clock.advance(500)
    async with serving(tmp_path, clock) as house:
        assert (await house.job(job["id"]))["state"] == "queued"


@pytest.mark.parametrize("shift", [7 * 86_400, -7 * 86_400])
async def test_a_clock_set_wrong_between_two_starts_keeps_no_lease_over_its_length(
    tmp_path: Path, clock: FakeClock, shift: float
):
    async with serving(tmp_path, clock) as house:
        bridge = await house.pair()
        await house.queued()
        job = await bridge.claim()
    clock.set_wall(shift)
    async with serving(tmp_path, clock) as house:
        await clock.advance(121)
        house.admin = await house.sign_in()
        assert (await house.job(job["id"]))["state"] == "queued"


async def test_lease_and_attempts_follow_the_settings(tmp_path: Path, clock: FakeClock):
    async with serving(tmp_path, clock, lease_seconds=2.5, max_attempts=1) as house:
        bridge = await house.pair()
        job_id = await house.queued()
        job = await bridge.claim()
        assert job["lease_seconds"] == 2.5
        await clock.advance(3)
        assert (await house.job(job_id))["state"] == "failed"
