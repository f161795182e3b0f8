"""How the work is shared: this machine and workers take from one queue, and nobody is left to the slowest."""

import asyncio

import pytest

from bridge_agent.settings import BridgeSettings
from bridge_agent.transcription.pipeline.live import Live
from bridge_agent.transcription.pipeline.stragglers import straggler
from bridge_agent.transcription.pipeline.tasks import Task
from tests.fakes.pipeline import FakeExecutor
from tests.unit.worker_api.rig import LEASE, STALE, WorkRig, heard


def _part(number: int) -> Task:
    return Task(
        id=number, recording_id=1, number=number, part_key="00000000", samples=150 * 16_000,
        state="converted", attempt=1, tries=1, priority=0,
    )  # fmt: skip


def _live(*parts: int) -> Live:
    live = Live(1, None, "A Book", parts={number: 150 * 16_000 for number in parts})
    for number, (name, took) in enumerate((("slow", 100.0), ("fast", 10.0)), start=100):
        live.estimator.began(number, name, 150 * 16_000, 0.0)
        live.estimator.ended(number, took, done=True)
    return live


def test_the_part_that_would_be_done_soonest_is_taken_from_the_slowest() -> None:
    live = _live(0, 1)
    live.began(_part(0), "slow", 1000.0)
    live.began(_part(1), "slow", 1050.0)
    assert straggler(live, "fast", 1066.0) == 1
    assert straggler(live, "slow", 1060.0) is None
    assert straggler(live, "stranger", 1060.0) is None


def test_nothing_is_taken_while_there_is_anything_else_to_begin() -> None:
    live = _live(0, 1)
    live.began(_part(0), "slow", 1000.0)
    assert straggler(live, "fast", 1010.0) is None


def test_a_part_that_is_nearly_done_stays_where_it_is() -> None:
    live = _live(0)
    live.began(_part(0), "slow", 1000.0)
    live.estimator.began(9, "steady", 150 * 16_000, 0.0)
    live.estimator.ended(9, 30.0, done=True)
    assert straggler(live, "steady", 1010.0) is None
    assert straggler(live, "steady", 1016.0) == 0
    assert straggler(live, "steady", 1070.0) is None
    assert straggler(live, "steady", 1120.0) is None
    # It is overdue for longer than the other would take: perhaps nobody works on it at all.
    assert straggler(live, "steady", 1150.0) == 0


def test_of_somebody_whose_speed_nobody_knows_as_much_is_expected_as_has_passed() -> None:
    live = _live(0)
    live.began(_part(0), "new", 1000.0)
    assert straggler(live, "fast", 1010.0) is None
    assert straggler(live, "fast", 1020.0) == 0


async def test_a_free_fast_worker_ends_the_claim_of_a_straggler(rig: WorkRig) -> None:
    slow, fast = await rig.worker("slow"), await rig.worker("fast")
    recording = await rig.offered("abcd", cut=3)
    live = rig.pipeline.offers[recording].live
    first, second = await rig.claimed(slow), await rig.claimed(fast)
    await rig.do_part(fast, second, "b", seconds=10)
    await rig.do_part(slow, first, "a", seconds=190)
    kept = await rig.claimed(slow)
    await rig.do_part(fast, await rig.claimed(fast), "d", seconds=10)
    assert live.waiting() == []
    assert await rig.service.claim(fast, STALE) is None
    await rig.clock.advance(5)
    taken = await rig.claimed(fast)
    assert taken.task.id == kept.task.id
    assert taken.attempt == kept.attempt + 1
    assert taken.task.tries == 1
    assert live.estimator.at_work() == {"fast": 1}
    assert [view.state for view in rig.service.workers()] == ["idle", "working"]
    with pytest.raises(Exception, match="not in this worker’s hands"):
        await rig.service.complete(kept.ref, STALE, slow, heard("late"))
    await rig.do_part(fast, taken, "c", seconds=10)
    await rig.finish(rig.running)
    texts = [part.result.segments[0].text for part in (await rig.pipeline.results(recording)).parts]
    assert texts == ["a", "b", "c", "d"]


async def test_a_part_that_a_fast_worker_has_refused_stays_with_the_one_who_can_do_it(rig: WorkRig) -> None:
    slow, fast = await rig.worker("slow"), await rig.worker("fast")
    recording = await rig.offered("abcd", cut=3)
    first, second = await rig.claimed(slow), await rig.claimed(fast)
    await rig.do_part(fast, second, "b", seconds=10)
    await rig.do_part(slow, first, "a", seconds=190)
    refused = await rig.claimed(fast)
    await rig.service.fail(refused.ref, STALE, fast, "not for me", retryable=False)
    kept = await rig.claimed(slow)
    assert kept.task.id == refused.task.id
    await rig.do_part(fast, await rig.claimed(fast), "d", seconds=10)
    for _ in range(3):
        assert await rig.service.claim(fast, STALE) is None
        found = await rig.service.task(kept.task.id)
        assert found is not None
        assert found.claim == kept.ref
    assert rig.service.lives(kept.ref)
    await rig.do_part(slow, kept, "c")
    await rig.finish(rig.running)
    texts = [part.result.segments[0].text for part in (await rig.pipeline.results(recording)).parts]
    assert texts == ["a", "b", "c", "d"]


async def _with_this_machine(rig: WorkRig, seconds: float) -> FakeExecutor:
    here = FakeExecutor(rig.clock, name="this computer", seconds=seconds)
    rig.here.append(here)
    return here


async def test_this_machine_stops_a_part_that_a_worker_has_taken_from_it(rig: WorkRig) -> None:
    here = await _with_this_machine(rig, seconds=600.0)
    gpu = await rig.worker("gpu")
    recording = await rig.offered("abcd", cut=3)
    await rig.until(lambda: here.at_work == 1)
    while (lease := await rig.service.claim(gpu, STALE)) is None or lease.task.number != 0:
        assert lease is not None
        await rig.do_part(gpu, lease, f"gpu {lease.task.number}", seconds=5)
        await rig.pass_time(1)
    await rig.pass_time(1)
    assert here.at_work == 0
    await rig.do_part(gpu, lease, "gpu 0", seconds=5)
    await rig.finish(rig.running)
    results = await rig.pipeline.results(recording)
    assert {part.made_by for part in results.parts} == {"gpu"}
    assert here.heard == {}


async def test_this_machine_takes_a_part_from_a_worker_that_is_slower(rig: WorkRig) -> None:
    here = await _with_this_machine(rig, seconds=10.0)
    slow = await rig.worker("slow")
    recording = await rig.offered("abcd", cut=3)
    lease = await rig.claimed(slow)
    await rig.finish(rig.running)
    assert here.heard[lease.task.number] == 1
    assert rig.service.workers()[0].state == "idle"
    results = await rig.pipeline.results(recording)
    assert {part.made_by for part in results.parts} == {"this computer"}


async def test_a_worker_that_holds_much_leaves_cut_parts_to_the_others(rig: WorkRig) -> None:
    hoarder, other = await rig.worker("hoarder"), await rig.worker("other")
    await rig.offered("abcdefghij", cut=4)
    for _ in range(4):
        await rig.claimed(hoarder)
    await rig.until(lambda: len(rig.decoder.cuts) >= 8)
    assert (await rig.claimed(other)).task.number == 4


async def test_two_wires_never_share_a_part(rig: WorkRig) -> None:
    gpu = await rig.worker("gpu")
    await rig.offered("ab", cut=2)
    lease = await rig.claimed(gpu)
    registered = type(gpu)(gpu.token_id, gpu.name, gpu.model, own="another-wire")
    assert await rig.service.held(registered, lease.task.id) is None
    other = await rig.claimed(registered, LEASE)
    assert other.task.id != lease.task.id
    assert await rig.service.held(gpu, other.task.id) is None


@pytest.mark.parametrize("any_model", [True, False])
async def test_a_worker_with_another_model_takes_part_where_the_owner_allows_it(
    tmp_path,
    clock,
    any_model: bool,  # type: ignore[no-untyped-def]
) -> None:
    settings = BridgeSettings(data_dir=tmp_path, worker_any_model=any_model)
    rig = WorkRig(tmp_path, clock, settings=settings)
    await rig.open_up()
    same = await rig.worker("same", "tiny")
    unknown, other = await rig.worker("unknown", None), await rig.worker("other", "large-v3")
    recording = await rig.offered("abc", cut=3)
    for worker in (unknown, other):
        lease = await rig.service.claim(worker, STALE)
        assert (lease is not None) is any_model
        if lease is not None:
            await rig.service.complete(lease.ref, STALE, worker, heard(model=worker.model or ""))
    for _ in range(1 if any_model else 3):
        lease = await rig.claimed(same)
        await rig.do_part(same, lease)
    await rig.finish(rig.running)
    parts = (await rig.pipeline.results(recording)).parts
    flagged = [part.made_by for part in parts if "other_settings" in part.result.flags]
    assert flagged == (["unknown", "other"] if any_model else [])
    await rig.tasks.cancel()


async def test_a_claim_whose_caller_has_gone_away_is_given_back(rig: WorkRig) -> None:
    gpu = await rig.worker("gpu")
    await rig.offered("a")
    claiming = asyncio.ensure_future(rig.service.claim(gpu, STALE))
    await asyncio.sleep(0)
    claiming.cancel()
    with pytest.raises(asyncio.CancelledError):
        await claiming
    lease = await rig.claimed(gpu)
    assert (lease.attempt, lease.task.tries) == (2, 1)
    assert len(rig.service.holds) == 1


async def test_a_part_that_a_worker_has_fetched_ahead_is_begun_when_the_one_before_is_done(
    rig: WorkRig,
) -> None:
    gpu = await rig.worker("gpu")
    recording = await rig.offered("abcd", cut=3)
    live = rig.pipeline.offers[recording].live
    first, second = await rig.claimed(gpu), await rig.claimed(gpu)
    for lease in (first, second):
        await rig.service.renew(lease.ref, STALE, phase="transcribing")
    assert live.estimator.at_work() == {"gpu": 1}
    assert live.estimator.hears(first.task.number)
    await rig.do_part(gpu, first, seconds=15)
    assert live.estimator.hears(second.task.number)
    third = await rig.claimed(gpu)
    assert live.estimator.at_work() == {"gpu": 1}
    await rig.service.give_back(second.ref)
    assert live.estimator.hears(third.task.number)
    assert live.estimator.running() == {third.task.number: "gpu"}
