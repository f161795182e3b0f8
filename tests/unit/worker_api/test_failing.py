"""Failures: pauses, verdicts, parking; and what pause, resume and revoke mean."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from bridge_agent.settings import BridgeSettings
from bridge_agent.transcription.pipeline.troubles import Trouble
from bridge_agent.worker_api.service.lease import LeaseLost, WorkerId
from tests.fakes.clock import FakeClock
from tests.fakes.pipeline import FakeExecutor
from tests.unit.worker_api.rig import STALE, WorkRig, heard


async def _fail(rig: WorkRig, worker: WorkerId, said: str = "broken", *, retryable: bool = True) -> int:
    lease = await rig.claimed(worker)
    await rig.service.fail(lease.ref, STALE, worker, said, retryable=retryable)
    return lease.task.number


async def test_a_worker_that_fails_at_three_different_parts_in_a_row_is_parked(rig: WorkRig) -> None:
    gpu = await rig.worker("gpu")
    await rig.offered("abcd", cut=3)
    assert [await _fail(rig, gpu) for _ in range(3)] == [0, 1, 2]
    (view,) = rig.service.workers()
    assert view.state == "parked"
    assert view.reason == (
        "it failed at 3 parts in a row, the last time with “broken”; mend that, then resume it."
    )
    await rig.clock.advance(30)
    assert await rig.service.claim(gpu, STALE) is None
    assert "gpu" in (rig.work_executors[0].why_none() or "")
    assert await rig.service.resume(gpu.token_id)
    assert rig.service.workers()[0].state in ("idle", "offline")
    await rig.call(gpu)
    await rig.until(lambda: rig.pipeline.offers)
    assert await rig.service.claim(gpu, STALE) is not None


async def test_a_part_that_fails_again_and_again_parks_nobody_and_one_done_begins_the_count_anew(
    rig: WorkRig,
) -> None:
    gpu = await rig.worker("gpu")
    await rig.offered("abcde", cut=3)
    assert [await _fail(rig, gpu) for _ in range(2)] == [0, 1]
    await rig.do_part(gpu, await rig.claimed(gpu))
    await rig.clock.advance(5)
    assert [await _fail(rig, gpu) for _ in range(2)] == [0, 1]
    await rig.clock.advance(10)
    assert await _fail(rig, gpu) == 0
    assert rig.service.workers()[0].state != "parked"


async def test_a_parked_worker_stays_so_across_a_restart(rig: WorkRig) -> None:
    gpu = await rig.worker("gpu")
    await rig.tokens.park(gpu.token_id, "it failed")
    await rig.restart()
    assert rig.service.workers()[0].state == "parked"


async def test_a_book_waits_where_all_its_workers_are_parked_and_says_why(rig: WorkRig) -> None:
    gpu = await rig.worker("gpu")
    await rig.tokens.park(gpu.token_id, "it failed")
    id_ = await rig.pipeline.begin(rig.order(rig.book("a")))
    with pytest.raises(Exception, match="The worker “gpu” is parked: it failed"):
        await rig.pipeline.run(id_, rig.progress)


async def test_a_book_waits_for_a_worker_with_its_model_and_says_so(tmp_path: Path, clock: FakeClock) -> None:
    settings = BridgeSettings(data_dir=tmp_path, worker_any_model=False)
    rig = WorkRig(tmp_path, clock, settings=settings)
    await rig.open_up()
    await rig.worker("small", "tiny")
    id_ = await rig.pipeline.begin(rig.order(rig.book("a"), model="large-v3"))
    with pytest.raises(Trouble, match="hears with the model “large-v3”.*BRIDGE_WORKER_ANY_MODEL") as held:
        await rig.pipeline.run(id_, rig.progress)
    waiting = asyncio.create_task(held.value.mended(clock))
    await clock.advance(60)
    assert not waiting.done()
    able = await rig.worker("large", "large-v3")
    await rig.finish(waiting)
    running = asyncio.create_task(rig.pipeline.run(id_, rig.progress))
    await rig.until(lambda: rig.decoder.cuts)
    await rig.do_part(able, await rig.claimed(able))
    await rig.finish(running)
    await rig.tasks.cancel()


@pytest.mark.parametrize(
    ("names", "state", "sentence"),
    [
        ([], "", "This machine leaves all speech to workers; invite one."),
        (["a"], "", "The worker “a” is offline; start it, and the book goes on by itself."),
        (
            ["a", "b", "c", "d"],
            "",
            "All workers are offline (“a”, “b”, “c” and 1 more); start one, and the book goes on by itself.",
        ),
        (["a", "b"], "paused", "The worker “b” is paused; resume it on the Bridge’s page."),
        (["a", "b"], "parked", "The worker “b” is parked: it failed"),
    ],
)
async def test_a_book_that_workers_are_to_hear_says_what_keeps_them(
    rig: WorkRig, names: list[str], state: str, sentence: str
) -> None:
    here = FakeExecutor(rig.clock, name="this computer", places=0)
    here.why = "This machine leaves all speech to workers; invite one."
    rig.here.append(here)
    workers = [await rig.worker(name, seen=False) for name in names]
    if state == "paused":
        await rig.service.pause(workers[-1].token_id)
    elif state == "parked":
        await rig.tokens.park(workers[-1].token_id, "it failed")
    id_ = await rig.pipeline.begin(rig.order(rig.book("a")))
    with pytest.raises(Trouble) as held:
        await rig.pipeline.run(id_, rig.progress)
    assert held.value.message == sentence


async def test_the_tries_of_all_count_together_and_the_book_fails_with_its_place_in_it(rig: WorkRig) -> None:
    a, b = await rig.worker("a"), await rig.worker("b")
    recording = await rig.offered("xy", cut=2)
    await rig.do_part(b, (await rig.claimed(b)), "x")
    for worker, pause in ((a, 5), (b, 10), (a, 0)):
        assert await _fail(rig, worker, "no memory") == 1
        await rig.clock.advance(pause)
    await rig.finish(rig.running)
    ended = await rig.pipeline.get(recording)
    assert ended is not None
    assert ended.error == (
        "The part of “A Book” from 2:30 to 5:00 could not be transcribed after 3 tries: the worker “a” said: "
        "no memory. The 1 finished of 2 parts are kept; queue the job anew to go on from them."
    )


async def test_a_verdict_is_left_to_this_machine_where_it_hears_too(rig: WorkRig) -> None:
    here = FakeExecutor(rig.clock, name="this computer", seconds=100.0)
    rig.here.append(here)
    gpu = await rig.worker("gpu")
    recording = await rig.offered("ab", cut=2)
    await rig.until(lambda: here.at_work)
    lease = await rig.claimed(gpu)
    assert await rig.service.fail(lease.ref, STALE, gpu, "can’t", retryable=False) == "failed"
    assert await rig.service.claim(gpu, STALE) is None
    await rig.finish(rig.running)
    results = await rig.pipeline.results(recording)
    assert [part.made_by for part in results.parts] == ["this computer", "this computer"]


async def test_a_verdict_is_final_where_the_order_wants_it_so(rig: WorkRig) -> None:
    a, b = await rig.worker("a"), await rig.worker("b")
    order = replace(rig.order(rig.book("ab")), final_verdicts=True)
    recording, running = await rig.start(order)
    await rig.until(lambda: len(rig.decoder.cuts) >= 2)
    assert await _fail(rig, a, retryable=False) == 0
    lease = await rig.claimed(b)
    assert lease.task.number == 1
    await rig.do_part(b, lease)
    await rig.finish(running)
    ended = await rig.pipeline.get(recording)
    assert ended is not None
    assert ended.state == "failed"


async def test_whoever_refused_a_part_is_asked_again_when_nobody_else_is_left(rig: WorkRig) -> None:
    a, b = await rig.worker("a"), await rig.worker("b")
    await rig.offered("x")
    await _fail(rig, a, retryable=False)
    assert await rig.service.claim(a, STALE) is None
    await rig.service.pause(b.token_id)
    assert (await rig.claimed(a)).attempt == 2


async def test_a_paused_worker_ends_what_it_has_and_gets_no_more(rig: WorkRig) -> None:
    gpu = await rig.worker("gpu")
    await rig.offered("ab", cut=2)
    lease = await rig.claimed(gpu)
    assert await rig.service.pause(gpu.token_id)
    assert rig.service.workers()[0].state == "paused"
    await rig.service.renew(lease.ref, STALE)
    await rig.do_part(gpu, lease)
    assert await rig.service.claim(gpu, STALE) is None
    assert await rig.service.resume(gpu.token_id)
    await rig.until(lambda: rig.pipeline.offers)
    assert await rig.service.claim(gpu, STALE) is not None
    assert not await rig.service.pause(99)
    assert not await rig.service.resume(99)


async def test_what_a_revoked_worker_held_is_free_at_once(rig: WorkRig) -> None:
    a, b = await rig.worker("a"), await rig.worker("b")
    await rig.offered("x")
    lease = await rig.claimed(a)
    assert await rig.service.revoke(a.token_id)
    assert not await rig.service.revoke(a.token_id)
    assert [view.name for view in rig.service.workers()] == ["b"]
    again = await rig.claimed(b)
    assert (again.task.id, again.attempt, again.task.tries) == (lease.task.id, 2, 1)
    for call in (
        rig.service.complete(lease.ref, STALE, a, heard()),
        rig.service.fail(lease.ref, STALE, a, "x", retryable=True),
        rig.service.renew(lease.ref, STALE),
        rig.service.give_back(lease.ref),
    ):
        with pytest.raises(LeaseLost):
            await call
    assert await rig.service.claim(a, STALE) is None


async def test_a_part_that_is_given_back_costs_no_try(rig: WorkRig) -> None:
    gpu = await rig.worker("gpu")
    await rig.offered("x")
    lease = await rig.claimed(gpu)
    await rig.service.give_back(lease.ref)
    assert rig.service.workers()[0].state == "idle"
    again = await rig.claimed(gpu)
    assert (again.attempt, again.task.tries) == (2, 1)


async def test_audio_that_is_broken_on_disk_is_no_workers_fault_and_is_cut_again(rig: WorkRig) -> None:
    gpu = await rig.worker("gpu")
    recording = await rig.offered("x")
    lease = await rig.claimed(gpu)
    rig.pipeline.audio(recording, 0).write_bytes(b"?")
    said = "the checksum is wrong"
    assert await rig.service.fail(lease.ref, STALE, gpu, said, retryable=False) == "again"
    await rig.until(lambda: rig.decoder.cuts == [0, 0])
    again = await rig.claimed(gpu)
    assert again.attempt == 2
    assert rig.pipeline.audio(recording, 0).read_bytes() == b"x"
    await rig.do_part(gpu, again)
    await rig.finish(rig.running)


DEAF = "The speech server can’t be reached; start it."


async def _give_back(rig: WorkRig, worker: WorkerId, reason: str = DEAF) -> None:
    lease = await rig.claimed(worker)
    await rig.service.give_back(lease.ref, worker, reason)


async def test_a_worker_that_gives_part_after_part_back_says_why_and_is_parked_in_the_end(
    rig: WorkRig,
) -> None:
    gpu = await rig.worker("gpu")
    await rig.offered("a")
    await _give_back(rig, gpu)
    (view,) = rig.service.workers()
    assert (view.state, view.reason) == ("idle", f"it gives its parts back and says “{DEAF}”")
    for _ in range(3):
        await rig.clock.advance(25)
        await _give_back(rig, gpu)
    (view,) = rig.service.workers()
    assert view.state == "parked"
    assert view.reason == (
        f"it gave parts back 4 times in a row, the last time with “{DEAF}”; mend that, then resume it."
    )
    assert await rig.service.claim(gpu, STALE) is None
    assert "can’t be reached" in (rig.work_executors[0].why_none() or "")
    await rig.service.resume(gpu.token_id)
    assert rig.service.workers()[0].reason == ""


async def test_a_part_that_is_done_begins_the_count_of_those_given_back_anew(rig: WorkRig) -> None:
    gpu = await rig.worker("gpu")
    await rig.offered("ab", cut=2)
    for _ in range(2):
        await _give_back(rig, gpu)
        await rig.clock.advance(40)
    await rig.do_part(gpu, await rig.claimed(gpu))
    await _give_back(rig, gpu)
    assert rig.service.workers()[0].state != "parked"


async def test_parts_given_back_together_count_once_and_quick_ones_wait_for_a_minute(rig: WorkRig) -> None:
    gpu = await rig.worker("gpu")
    await rig.offered("abcd", cut=3)
    for _ in range(4):
        await _give_back(rig, gpu)
    held = [await rig.claimed(gpu) for _ in range(3)]
    assert rig.service.workers()[0].state == "working"
    await rig.clock.advance(1)
    for lease in held:
        await rig.service.give_back(lease.ref, gpu, DEAF)
    assert rig.service.workers()[0].state == "idle"


async def test_parts_given_back_in_an_orderly_end_park_nobody(rig: WorkRig) -> None:
    gpu = await rig.worker("gpu")
    await rig.offered("a")
    for _ in range(5):
        await _give_back(rig, gpu, "")
        await rig.clock.advance(30)
    (view,) = rig.service.workers()
    assert (view.state, view.reason) == ("offline", "")


async def test_a_worker_that_ends_in_order_has_gone_with_its_last_part(rig: WorkRig) -> None:
    gpu = await rig.worker("gpu")
    await rig.offered("ab", cut=2)
    first, second = await rig.claimed(gpu), await rig.claimed(gpu)
    await rig.service.give_back(second.ref, gpu)
    assert rig.service.workers()[0].state == "working"
    await rig.do_part(gpu, first, seconds=5)
    assert rig.service.workers()[0].state == "offline"
    await rig.call(gpu)
    assert rig.service.workers()[0].state == "idle"
    await rig.do_part(gpu, await rig.claimed(gpu))
    assert rig.service.workers()[0].state == "idle"
