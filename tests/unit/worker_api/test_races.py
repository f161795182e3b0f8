"""Races: what is written and not yet known of, while others claim, renew, revoke or go away."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from bridge_agent.transcription.pipeline.tasks import Task
from bridge_agent.worker_api.service.lease import Lease, Terms, WorkerId
from tests.fakes.clock import settle
from tests.unit.worker_api.rig import LEASE, STALE, WorkRig, heard
from tests.unit.worker_api.stores import LateStore

LOOSE = Terms(120.0, strict=False)


@pytest.fixture
async def late(rig: WorkRig) -> AsyncIterator[LateStore]:
    """The store of the parts, for whatever asks while it is that of the desk."""
    store = LateStore(rig.pipeline.desk._db)
    yield store
    store.go_on.set()


async def _while_late(rig: WorkRig, late: LateStore, work: Awaitable[object]) -> "asyncio.Future[object]":
    """Begin something up to its first write, which it does not know of before `late.go_on`."""
    desk, db = rig.pipeline.desk, rig.pipeline.desk._db
    desk._db = late
    running = asyncio.ensure_future(work)
    await late.written.wait()
    desk._db = db
    return running


async def _claimed(rig: WorkRig, worker: WorkerId, terms: Terms = LEASE) -> Lease:
    lease = await rig.service.claim(worker, terms)
    assert lease is not None
    return lease


async def test_who_claims_a_part_before_its_failure_is_dealt_with_keeps_it(rig: WorkRig) -> None:
    a, b = await rig.worker("a"), await rig.worker("b")
    await rig.offered("abc", cut=3)
    for _ in range(2):
        await rig.service.fail((await _claimed(rig, a)).ref, LEASE, a, "x", retryable=False)
        await _claimed(rig, b)
    third = await _claimed(rig, a)
    rig.tokens._db = late = LateStore(rig.tokens._db)
    # The third failure in a row parks it, which is late to be written down.
    failing = asyncio.create_task(rig.service.fail(third.ref, LEASE, a, "x", retryable=False))
    await late.written.wait()
    again = await _claimed(rig, b)
    assert again.task.id == third.task.id
    late.go_on.set()
    assert await failing == "failed"
    assert await rig.service.renew(again.ref, LEASE)


async def test_who_claims_a_part_before_word_of_its_return_comes_keeps_it(
    rig: WorkRig, late: LateStore
) -> None:
    a, b = await rig.worker("a"), await rig.worker("b")
    await rig.offered("x")
    first = await _claimed(rig, a)
    returning = await _while_late(rig, late, rig.service.give_back(first.ref))
    # Whatever hides a part that is free, its hold is gone: in time it would lapse.
    rig.service.holds.drop(first.ref)
    again = await _claimed(rig, b)
    late.go_on.set()
    await returning
    assert await rig.service.renew(again.ref, LEASE)


async def test_a_sign_of_life_that_is_known_late_takes_no_part_from_who_claimed_it_since(
    rig: WorkRig, late: LateStore
) -> None:
    a, b = await rig.worker("a"), await rig.worker("b")
    await rig.offered("x")
    first = await _claimed(rig, a)
    renewing = await _while_late(rig, late, rig.service.renew(first.ref, LEASE))
    await rig.service.give_back(first.ref)
    again = await _claimed(rig, b)
    late.go_on.set()
    await renewing
    assert await rig.service.renew(again.ref, LEASE)


ENDS: list[Callable[[WorkRig, WorkerId, Lease], Awaitable[object]]] = [
    lambda rig, worker, lease: rig.service.complete(lease.ref, LEASE, worker, heard()),
    lambda rig, worker, lease: rig.service.fail(lease.ref, LEASE, worker, "x", retryable=True),
    lambda rig, worker, lease: rig.service.give_back(lease.ref),
]


@pytest.mark.parametrize("end", ENDS, ids=["complete", "fail", "give_back"])
async def test_a_caller_that_goes_away_after_the_write_leaves_nothing_undone(
    rig: WorkRig, late: LateStore, end: Callable[[WorkRig, WorkerId, Lease], Awaitable[object]]
) -> None:
    a = await rig.worker("a")
    recording = await rig.offered("xy", cut=2)
    live, audio = rig.pipeline.offers[recording].live, rig.pipeline.audio(recording, 0)
    lease = await _claimed(rig, a)
    moved: list[Task] = []
    rig.pipeline.desk.moved.append(moved.append)
    ending = await _while_late(rig, late, end(rig, a, lease))
    ending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ending
    late.go_on.set()
    await rig.until(lambda: moved)
    await settle()
    assert moved[0].id == lease.task.id
    assert len(rig.service.holds) == 0
    assert live.estimator.at_work() == {}
    if moved[0].state == "done":
        await rig.until(lambda: not audio.exists())
        assert live.finished == {0}


async def test_a_token_is_revoked_whole_though_who_asked_for_it_goes_away(rig: WorkRig) -> None:
    a = await rig.worker("a")
    await rig.offered("x")
    await _claimed(rig, a)
    rig.tokens._db = late = LateStore(rig.tokens._db)
    revoking = asyncio.create_task(rig.service.revoke(a.token_id))
    await late.written.wait()
    revoking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await revoking
    late.go_on.set()
    await settle()
    assert rig.service.workers() == []
    assert len(rig.service.holds) == 0


@pytest.mark.parametrize("renewed", [0, 1])
async def test_a_claim_that_is_renewed_while_others_lapse_goes_on(
    rig: WorkRig, late: LateStore, caplog: pytest.LogCaptureFixture, renewed: int
) -> None:
    caplog.set_level("INFO")
    workers = [await rig.worker("a"), await rig.worker("b")]
    recording = await rig.offered("xy", cut=2)
    claims = [await _claimed(rig, worker, LOOSE) for worker in workers]
    await rig.service.stop()
    rig.clock.set_wall(-60)
    await rig.clock.advance(60)
    for worker in workers:
        await rig.call(worker)
    await rig.clock.advance(61)
    looking = await _while_late(rig, late, rig.service._sweeping.look())
    await rig.service.renew(claims[renewed].ref, LOOSE)
    late.go_on.set()
    assert await looking
    assert [rig.service.lives(each.ref) for each in claims] == [renewed == 0, renewed == 1]
    assert rig.pipeline.offers[recording].live.estimator.at_work() == {workers[renewed].name: 1}
    task = await rig.service.task(claims[renewed].task.id)
    assert task is not None
    assert task.claim_ends_at is not None
    assert task.claim_ends_at > task.updated_at
    assert f"held part {claims[renewed].task.number} " not in caplog.text
    assert f"held part {claims[1 - renewed].task.number} " in caplog.text


async def test_a_claim_from_before_a_restart_lives_no_longer_than_one_can(rig: WorkRig) -> None:
    a = await rig.worker("a")
    await rig.offered("x")
    lease = await _claimed(rig, a, STALE)
    rig.running.cancel()
    await asyncio.gather(rig.running, return_exceptions=True)
    rig.clock.set_wall(-86_400)
    await rig.restart()
    assert rig.service.lives(lease.ref)
    await rig.clock.advance(901)
    assert not rig.service.lives(lease.ref)


async def test_a_claim_that_can_not_be_renewed_on_disk_lives_on_while_its_worker_beats(rig: WorkRig) -> None:
    a, b = await rig.worker("a"), await rig.worker("b")
    await rig.offered("x")
    lease = await _claimed(rig, a)
    for _ in range(10):
        await rig.clock.advance(100)
        rig.service.prolong(lease.ref, LEASE)
        await rig.call(b)
        assert await rig.service.claim(b, LEASE) is None
    assert await rig.service.renew(lease.ref, LEASE)
    await rig.clock.advance(121)
    with pytest.raises(Exception, match="not in this worker’s hands"):
        rig.service.prolong(lease.ref, LEASE)
