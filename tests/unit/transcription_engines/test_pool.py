"""The pool with scripted children: real processes that die, hang, eat and are replaced."""

import asyncio
import sys

import psutil
import pytest

from bridge_agent.base.clock import SystemClock, perf
from bridge_agent.transcription.engines.base import Context
from bridge_agent.transcription.engines.errors import (
    EngineDied,
    EngineHung,
    EngineUnavailable,
    OutOfMemory,
)
from tests.unit.transcription_engines.sounds import babble, silence

PART = babble(14.0)
HINTED = Context(hints=("Anne",), seed=7)


def texts(heard):
    return "".join(segment.text for segment in heard.segments)


async def test_a_part_is_heard_and_the_words_so_far_come_as_they_are_found(pool_of):
    said = []
    heard = await pool_of().transcribe(PART, Context(language="en"), said.append)
    assert len(heard.segments) > 2
    assert said[-1] == texts(heard).strip()
    assert said == sorted(said, key=len)
    assert heard.speech_samples > 10 * 16000
    assert (heard.engine.name, heard.language, heard.flags, heard.rung) == ("scripted", "en", (), 0)


async def test_equal_parts_give_equal_words_in_whatever_child(pool_of):
    pool = pool_of(processes=2)
    once = await asyncio.gather(*(pool.transcribe(PART, Context()) for _ in range(2)))
    alone = await pool_of().transcribe(PART, Context())
    other = await pool.transcribe(babble(14.0, seed=2), Context())
    assert once[0] == once[1] == alone
    assert texts(other) != texts(alone)


async def test_children_are_shared_kept_and_never_more_than_asked(pool_of):
    pool = pool_of("scripted:slow=0.1", processes=2)
    most = 0

    async def one():
        nonlocal most
        await pool.transcribe(PART, Context())
        most = max(most, len(pool.view()["children"]))

    await asyncio.gather(*(one() for _ in range(6)))
    assert most == 2
    children = pool.view()["children"]
    assert sorted(child["state"] for child in children) == ["idle", "idle"]
    assert sum(child["parts"] for child in children) == 6


async def test_what_a_library_prints_does_not_disturb_the_messages(pool_of):
    heard = await pool_of("scripted:noise").transcribe(PART, Context())
    assert heard.segments


async def test_silence_is_an_empty_result_and_no_fault(pool_of):
    heard = await pool_of().transcribe(silence(20), Context(language="en"))
    assert (heard.segments, heard.speech, heard.flags) == ((), (), ())


async def test_detecting_a_language(pool_of):
    pool = pool_of("scripted:language=de")
    assert (await pool.detect_language(PART))["de"] == 0.9
    assert await pool.detect_language(silence(5)) == {}


@pytest.mark.parametrize(
    "trait",
    [
        "die",
        "fail",
        *(
            pytest.param(each, marks=pytest.mark.slow)
            for each in ("abort", "exit=3", "hang", "memory", "eat=400000000")
        ),
    ],
)
async def test_a_child_that_breaks_is_replaced_and_its_part_heard_again_with_the_same_settings(
    pool_of, quick, tmp_path, trait
):
    # The memory limit lies far above what the child itself has, and below what it eats.
    pool = pool_of(f"scripted:{trait}@{tmp_path / 'once'}", limits=quick(still=1.5, memory=300 * 1024**2))
    heard = await pool.transcribe(PART, Context())
    assert (tmp_path / "once").exists()
    assert heard.segments == (await pool_of().transcribe(PART, Context())).segments
    assert (heard.rung, heard.flags) == (0, ())
    assert len(pool.view()["children"]) == 1


@pytest.mark.slow
async def test_a_child_that_gives_no_sign_is_replaced(pool_of, quick, tmp_path):
    pool = pool_of(f"scripted:stuck@{tmp_path / 'once'}", limits=quick(silent=2.5))
    assert (await pool.transcribe(PART, Context())).segments


@pytest.mark.slow
async def test_a_child_that_works_for_ever_is_replaced(pool_of, quick, tmp_path):
    pool = pool_of(f"scripted:busy=60@{tmp_path / 'once'}", limits=quick(least=1.0, patience=0.01))
    assert (await pool.transcribe(PART, Context())).segments


async def test_what_dies_in_batches_is_heard_in_smaller_ones_and_says_so(pool_of):
    heard = await pool_of("scripted:die?batched").transcribe(PART, Context())
    assert heard.rung == 1
    assert heard.flags == ("other_settings",)


async def test_a_rung_that_two_parts_needed_is_where_the_next_begins(pool_of, caplog):
    pool = pool_of("scripted:die?batched")
    for _ in range(2):
        await pool.transcribe(PART, Context())
    caplog.clear()
    heard = await pool.transcribe(PART, Context())
    assert heard.flags == ("other_settings",)
    assert not caplog.records


@pytest.mark.parametrize(
    ("trait", "kind", "sentence"),
    [
        ("die", OutOfMemory, "ran out of memory: choose a smaller model"),
        ("abort", EngineDied, "crashed in native code"),
        ("library", EngineDied, r"needs the library libcudnn_ops_infer\.so\.8"),
        pytest.param("exit=5", EngineDied, r"exit code 5\)", marks=pytest.mark.slow),
        pytest.param("memory", OutOfMemory, "smaller model", marks=pytest.mark.slow),
        pytest.param("fail", EngineDied, "the script says so", marks=pytest.mark.slow),
    ],
)
async def test_when_the_whole_ladder_fails_the_last_reason_is_told(pool_of, trait, kind, sentence):
    pool = pool_of(f"scripted:{trait}")
    with pytest.raises(kind, match=sentence):
        await pool.transcribe(PART, Context())
    assert pool.view()["children"] == []


@pytest.mark.slow
async def test_hanging_always_is_told_as_such(pool_of, quick):
    with pytest.raises(EngineHung, match="did nothing any more"):
        await pool_of("scripted:hang", limits=quick(still=0.3)).transcribe(PART, Context())


@pytest.mark.slow
async def test_eating_memory_always_is_told_with_its_size(pool_of, quick):
    pool = pool_of("scripted:eat=400000000", limits=quick(memory=300 * 1024**2))
    with pytest.raises(
        OutOfMemory, match=r"took \d+ MiB of memory, more than it may; choose a smaller model"
    ):
        await pool.transcribe(PART, Context())


async def test_a_cancelled_child_that_stops_by_itself_keeps_its_model(pool_of, quick):
    # All the time it wants: how soon a child at lowest priority answers is the machine's business.
    pool = pool_of("scripted:slow=30", limits=quick(cancel=30.0))
    work = asyncio.ensure_future(pool.transcribe(PART, Context()))
    while not (children := [c for c in pool.view()["children"] if c["state"] == "busy"]):
        await asyncio.sleep(0.01)
    process = psutil.Process(children[0]["pid"])
    await asyncio.sleep(0.3)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert process.is_running()
    assert [c["state"] for c in pool.view()["children"]] == ["idle"]


@pytest.mark.parametrize("trait", ["hang", "busy=30"])
async def test_a_cancel_frees_the_processor_within_a_second(pool_of, trait):
    pool = pool_of(f"scripted:{trait}")
    work = asyncio.ensure_future(pool.transcribe(PART, Context()))
    while not (children := [c for c in pool.view()["children"] if c["state"] == "busy"]):
        await asyncio.sleep(0.01)
    process = psutil.Process(children[0]["pid"])
    await asyncio.sleep(0.3)
    start = perf()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert perf() - start < 1.0
    assert not process.is_running()
    assert pool.view()["children"] == []


async def test_an_idle_child_ends_and_gives_its_memory_back(pool_of, quick):
    pool = pool_of(limits=quick(idle=0.2))
    await pool.transcribe(PART, Context())
    process = psutil.Process(pool.view()["children"][0]["pid"])
    for _ in range(100):
        if not pool.view()["children"]:
            break
        await asyncio.sleep(0.02)
    assert pool.view()["children"] == []
    assert not process.is_running()
    assert (await pool.transcribe(PART, Context())).segments


@pytest.mark.slow
async def test_a_child_is_replaced_after_its_number_of_parts(pool_of, quick):
    pool = pool_of(limits=quick(parts=2))
    pids = set()
    for _ in range(3):
        await pool.transcribe(PART, Context())
        pids |= {child["pid"] for child in pool.view()["children"]}
    assert len(pids) == 2


async def test_a_child_that_died_while_idle_is_no_fault(pool_of, caplog):
    pool = pool_of()
    first = await pool.transcribe(PART, Context())
    psutil.Process(pool.view()["children"][0]["pid"]).kill()
    for _ in range(200):
        if not pool.view()["children"]:
            break
        await asyncio.sleep(0.01)
    assert await pool.transcribe(PART, Context()) == first


async def test_a_part_that_loops_is_heard_once_more_accurately(pool_of):
    heard = await pool_of("scripted:loop").transcribe(PART, HINTED)
    assert heard.flags == ("rerun",)
    assert texts(heard) == texts(await pool_of().transcribe(PART, Context()))


async def test_lost_sentences_are_heard_once_more_accurately(pool_of):
    heard = await pool_of("scripted:sparse").transcribe(PART, HINTED)
    assert heard.flags == ("rerun",)


@pytest.mark.slow
async def test_another_model_for_one_part_replaces_the_idle_child(pool_of):
    pool = pool_of()
    await pool.transcribe(PART, Context())
    heard = await pool.transcribe(PART, Context(model="scripted:language=fr"))
    assert (heard.language, heard.engine.model) == ("fr", "scripted:language=fr")
    assert [child["model"] for child in pool.view()["children"]] == ["scripted:language=fr"]


async def test_no_processes_means_no_engine_here(pool_of):
    pool = pool_of(processes=0)
    assert "leaves all speech to workers" in pool.why_none()
    with pytest.raises(EngineUnavailable, match="leaves all speech to workers"):
        await pool.transcribe(PART, Context())


async def test_stopping_ends_the_children_and_starts_no_more(pool_of):
    pool = pool_of("scripted:slow=30")
    work = asyncio.ensure_future(pool.transcribe(PART, Context()))
    while not [c for c in pool.view()["children"] if c["state"] == "busy"]:
        await asyncio.sleep(0.01)
    await pool.stop()
    with pytest.raises(EngineUnavailable, match="is stopping"):
        await work
    assert pool.view()["children"] == []


async def test_a_cancel_while_the_child_starts_leaves_none_behind(pool_of):
    pool = pool_of()
    for turns in range(1, 8):
        work = asyncio.ensure_future(pool.transcribe(PART, Context()))
        for _ in range(turns):
            await asyncio.sleep(0)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
    for _ in range(300):
        if not pool.view()["children"]:
            break
        await asyncio.sleep(0.01)
    assert pool.view()["children"] == []
    assert (await pool.transcribe(PART, Context())).segments


PARENT = """
import asyncio, sys
from pathlib import Path
from bridge_agent.base.clock import SystemClock
from bridge_agent.base.tasks import Tasks
from bridge_agent.transcription.engines.base import Context
from bridge_agent.transcription.engines.pool import EnginePool
from bridge_agent.transcription.engines.wishes import Wishes
from bridge_agent.transcription.models.models import Models

async def main():
    tasks = Tasks("parent")
    pool = EnginePool(Wishes(model="scripted:busy=60"), Models(Path("none"), tasks), SystemClock(), tasks)
    work = tasks.spawn(pool.transcribe(b"\\1\\1" * 32000, Context()), "part")
    while not [c for c in pool.view()["children"] if c["state"] == "busy"]:
        await asyncio.sleep(0.01)
    print(pool.view()["children"][0]["pid"], flush=True)
    await work

asyncio.run(main())
"""


@pytest.mark.slow
async def test_a_busy_child_ends_with_a_bridge_that_is_killed():
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PARENT, stdout=asyncio.subprocess.PIPE
    )
    child = psutil.Process(int(await parent.stdout.readline()))
    parent.kill()
    await parent.wait()
    await asyncio.to_thread(psutil.wait_procs, [child], 5)
    assert not child.is_running()


async def test_children_are_polite_and_have_no_setting_of_the_bridge(pool_of, monkeypatch):
    monkeypatch.setenv("BRIDGE_PAGE_PASSWORD", "hush")
    pool = pool_of()
    await pool.transcribe(PART, Context())
    process = psutil.Process(pool.view()["children"][0]["pid"])
    assert process.nice() == 19
    environment = process.environ()
    assert not [name for name in environment if name.startswith("BRIDGE_")]
    assert (environment["OMP_NUM_THREADS"], environment["HF_HUB_OFFLINE"]) == ("1", "1")


async def test_a_sleep_of_the_machine_is_no_hang():
    from bridge_agent.base.tasks import Tasks
    from bridge_agent.transcription.engines.host import Child, _Watch
    from bridge_agent.transcription.engines.limits import Limits
    from tests.fakes.clock import FakeClock

    clock = FakeClock()
    child = Child(clock, Tasks("test"), Limits())
    watch = _Watch(child, 100.0, Limits(), clock)
    await clock.advance(3600)
    assert watch.hung() is None
    for _ in range(60):
        await clock.advance(1)
        assert watch.hung() is None
    await clock.advance(1)
    assert watch.hung() == "gave no sign of life"


def test_the_system_clock_is_what_pools_run_on():
    assert SystemClock().monotonic() > 0
