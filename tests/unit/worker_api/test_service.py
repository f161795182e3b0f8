"""The service: claims, signs of life, results, failures, whichever wire is spoken."""

import pytest

from bridge_agent.worker_api.service.lease import DifferentResult, LeaseLost
from tests.unit.worker_api.rig import LEASE, STALE, WorkRig, heard


async def test_a_worker_does_a_whole_book_part_by_part(rig: WorkRig) -> None:
    gpu = await rig.worker("gpu")
    recording = await rig.offered("abc", cut=3)
    for number in range(3):
        lease = await rig.claimed(gpu)
        assert (lease.task.number, lease.attempt, lease.phase) == (number, 1, "downloading")
        assert lease.language == "en"
        await rig.do_part(gpu, lease, f"text {number}", seconds=5)
    await rig.finish(rig.running)
    results = await rig.pipeline.results(recording)
    assert [part.result.segments[0].text for part in results.parts] == ["text 0", "text 1", "text 2"]
    assert {part.made_by for part in results.parts} == {"gpu"}
    assert results.parts[0].result.engine.device == "cuda"
    assert not any(part.result.flags for part in results.parts)
    assert await rig.service.claim(gpu, STALE) is None


async def test_a_result_in_twice_is_answered_as_the_first_time_and_another_one_is_refused(
    rig: WorkRig,
) -> None:
    gpu = await rig.worker("gpu")
    await rig.offered("ab", cut=2)
    lease = await rig.claimed(gpu)
    await rig.do_part(gpu, lease, "first")
    assert (await rig.service.complete(lease.ref, STALE, gpu, heard("first"))).state == "done"
    with pytest.raises(DifferentResult):
        await rig.service.complete(lease.ref, STALE, gpu, heard("second"))
    with pytest.raises(LeaseLost):
        await rig.service.complete(gpu.ref(lease.task, 2), STALE, gpu, heard("first"))


async def test_a_strict_claim_ends_with_its_time_and_another_lives_until_somebody_comes(rig: WorkRig) -> None:
    a, b = await rig.worker("a"), await rig.worker("b")
    await rig.offered("ab", cut=2)
    strict, loose = await rig.claimed(a, LEASE), await rig.claimed(b)
    await rig.clock.advance(1000)
    with pytest.raises(LeaseLost):
        await rig.service.renew(strict.ref, LEASE)
    assert (await rig.service.renew(loose.ref, STALE)).task.holder == b.holder
