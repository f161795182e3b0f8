"""Claims and time: their deadlines are monotonic here, and the wall clock's on the far side of a restart."""

import asyncio

import pytest

from bridge_agent.store.database import StoreFull
from bridge_agent.worker_api.service.lease import LeaseLost
from tests.unit.worker_api.rig import LEASE, STALE, WorkRig


@pytest.mark.parametrize("shift", [86_400.0, -86_400.0])
async def test_a_wall_clock_that_jumps_neither_ends_a_claim_nor_keeps_it(rig: WorkRig, shift: float) -> None:
    a, b = await rig.worker("a"), await rig.worker("b")
    await rig.offered("x")
    lease = await rig.claimed(a, LEASE)
    rig.clock.set_wall(shift)
    await rig.clock.advance(60)
    await rig.call(b)
    assert await rig.service.claim(b, LEASE) is None
    await rig.service.renew(lease.ref, LEASE)
    for _ in range(3):
        await rig.clock.advance(41)
        await rig.call(b)
    assert (await rig.claimed(b, LEASE)).attempt == 2


async def test_a_claim_that_is_over_is_seen_within_two_seconds_and_its_part_no_more_under_way(
    rig: WorkRig,
) -> None:
    a = await rig.worker("a")
    recording = await rig.offered("x")
    live = rig.pipeline.offers[recording].live
    lease = await rig.claimed(a, LEASE)
    news: list[None] = []
    rig.service.on_change = lambda: news.append(None)
    assert live.estimator.at_work() == {"a": 1}
    await rig.clock.advance(119)
    assert rig.service.workers()[0].state == "working"
    await rig.clock.advance(3)
    assert live.estimator.at_work() == {}
    assert rig.service.workers()[0].on == ()
    assert news
    with pytest.raises(LeaseLost):
        await rig.service.renew(lease.ref, LEASE)


async def test_a_silent_worker_of_the_loose_kind_goes_on_where_nobody_came(rig: WorkRig) -> None:
    a = await rig.worker("a")
    recording = await rig.offered("x")
    lease = await rig.claimed(a)
    await rig.clock.advance(902)
    await rig.call(a)
    await rig.service.renew(lease.ref, STALE)
    assert rig.service.workers()[0].state == "working"
    await rig.until(lambda: rig.pipeline.offers)
    await rig.service.renew(lease.ref, STALE)
    assert rig.pipeline.offers[recording].live.estimator.at_work() == {"a": 1}
    await rig.do_part(a, lease)
    await rig.finish(rig.running)


async def test_a_cancelled_book_is_soon_nobodys_work(rig: WorkRig) -> None:
    a = await rig.worker("a")
    recording = await rig.offered("xy", cut=2)
    lease = await rig.claimed(a)
    assert [on.number for on in rig.service.workers()[0].on] == [0]
    await rig.pipeline.cancel(recording)
    await rig.finish(rig.running)
    await rig.clock.advance(7)
    assert rig.service.workers()[0].on == ()
    with pytest.raises(LeaseLost):
        await rig.service.renew(lease.ref, STALE)


async def test_a_full_disk_stops_no_sweep(rig: WorkRig, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = await rig.worker("a"), await rig.worker("b")
    await rig.offered("x")
    await rig.claimed(a, LEASE)
    whole, full = rig.service._desk.write, [True]

    async def write(unit):  # type: ignore[no-untyped-def]
        if full:
            raise StoreFull
        return await whole(unit)

    monkeypatch.setattr(rig.service._desk, "write", write)
    rig.clock.set_wall(-1000)
    await rig.clock.advance(125)
    full.clear()
    await rig.clock.advance(2)
    await rig.call(b)
    await rig.until(lambda: rig.pipeline.offers)
    assert (await rig.claimed(b, LEASE)).attempt == 2


async def test_what_workers_held_before_a_restart_they_hold_after_it_for_what_was_left(rig: WorkRig) -> None:
    a = await rig.worker("a")
    await rig.offered("xy", cut=2)
    long, short = await rig.claimed(a), await rig.claimed(a, LEASE)
    rig.running.cancel()
    await asyncio.gather(rig.running, return_exceptions=True)
    await rig.clock.advance(100)
    await rig.restart()
    assert [on.number for on in rig.service.workers()[0].on] == [0, 1]
    await rig.clock.advance(21)
    with pytest.raises(LeaseLost):
        await rig.service.renew(short.ref, LEASE)
    await rig.service.renew(long.ref, STALE)
    await rig.do_part(a, long, "from before")
