"""A book on a real Dask cluster: the same bytes, whatever of the cluster is killed meanwhile."""

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from bridge_agent.base.clock import SystemClock
from bridge_agent.doctor import probes
from bridge_agent.transcription.pipeline.troubles import Trouble
from tests.crash.pipeline_child import order
from tests.crash.test_pipeline_kill import make_book
from tests.crash.test_speech_household import SPEECH, book_library, press, progress
from tests.crash.test_speech_household import ended as job_ended
from tests.fakes import spoken, whisper_base
from tests.fakes.dask_cluster import ClusterHost, DaskCluster, cluster_host, dask_cluster, until
from tests.fakes.processes import household
from tests.fakes.work_host import host

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

MODEL = "scripted:slow=1"


@contextlib.asynccontextmanager
async def two_there(folder: Path, model: str) -> AsyncIterator[tuple[DaskCluster, ClusterHost]]:
    """Give a cluster of two workers, and a Bridge that sees both."""
    async with (
        dask_cluster(folder / "cluster", "one", "two") as cluster,
        cluster_host(folder / "bridge", cluster.url, speech_model=model) as bridge,
    ):
        await bridge.has_places(2)
        yield cluster, bridge


async def alone(folder: Path, books: Path, model: str = MODEL) -> dict[str, bytes]:
    """Transcribe a book by the lane of one machine."""
    async with host(folder, speech_model=model, speech_processes=2) as bridge:
        made, by = await bridge.transcribe(order(books))
        assert list(by) == ["this computer"]
        return made


async def ended(bridge: ClusterHost, count: int) -> None:
    async with asyncio.timeout(60):
        while await bridge.parts("done") < count:
            await asyncio.sleep(0.05)


async def test_the_doctor_says_how_a_cluster_is(tmp_path: Path):
    async with dask_cluster(tmp_path / "cluster", "one") as cluster:
        async with cluster_host(tmp_path / "bridge", cluster.url, speech_model=MODEL) as bridge:
            await bridge.has_places(1)
        assert await probes.cluster(cluster.url) == (1, None)


async def test_a_cluster_makes_the_bytes_of_the_local_lane(tmp_path: Path):
    make_book(tmp_path, files=6)
    undisturbed = await alone(tmp_path / "alone", tmp_path / "books")
    async with two_there(tmp_path, MODEL) as (_, bridge):
        wanted = order(tmp_path / "books")
        await bridge.run(wanted)
        made, by = await bridge.made(wanted)
        assert made == undisturbed
        assert by == {"the cluster": 6}
        # Each worker has loaded its engine in a child of its own, and nothing of this machine's was used.
        assert not (tmp_path / "bridge" / "engine.json").exists()


async def test_a_lost_worker_costs_its_parts_alone(tmp_path: Path):
    make_book(tmp_path, files=8)
    undisturbed = await alone(tmp_path / "alone", tmp_path / "books")
    async with two_there(tmp_path, MODEL) as (cluster, bridge):
        wanted = order(tmp_path / "books")
        book = asyncio.create_task(bridge.run(wanted))
        await ended(bridge, 2)
        await cluster.kill("two")
        await asyncio.wait_for(book, 120)
        made, by = await bridge.made(wanted)
        assert (made, by) == (undisturbed, {"the cluster": 8})
        assert bridge.cluster.executor.places == 1


async def test_a_lost_scheduler_holds_the_book_until_it_answers_again(tmp_path: Path):
    make_book(tmp_path, files=8)
    undisturbed = await alone(tmp_path / "alone", tmp_path / "books")
    async with two_there(tmp_path, MODEL) as (cluster, bridge):
        wanted = order(tmp_path / "books")
        book = asyncio.create_task(bridge.run(wanted))
        await ended(bridge, 2)
        await cluster.kill_scheduler()
        with pytest.raises(Trouble, match="scheduler tcp://.* does not answer; start it") as held:
            await asyncio.wait_for(book, 60)
        kept = await bridge.parts("done")
        assert 2 <= kept < 8
        for name in ("one", "two"):
            await cluster.kill(name)
        await cluster.start_scheduler()
        await cluster.start_worker("three")
        await asyncio.wait_for(held.value.mended(SystemClock()), 60)
        await asyncio.wait_for(bridge.run(wanted), 120)
        made, by = await bridge.made(wanted)
        assert (made, by) == (undisturbed, {"the cluster": 8})


async def test_a_households_job_needs_attention_while_the_scheduler_is_away_and_then_goes_on(tmp_path: Path):
    async with dask_cluster(tmp_path / "cluster", "one", "two") as cluster:
        environ = {
            **SPEECH,
            "BRIDGE_SPEECH_PROCESSES": "0",
            "BRIDGE_SPEECH_MODEL": MODEL,
            "BRIDGE_CLUSTER": cluster.url,
        }
        async with household(tmp_path, **environ) as home:
            library = await book_library(home, tmp_path, files=10)
            job = await press(home, library, "Somebody/Tones")
            await progress(home, job, "transcribe", 1.0)
            await cluster.kill_scheduler()
            for name in ("one", "two"):
                await cluster.kill(name)
            waiting = await home.job_in(job, "needs_attention")
            assert f"The cluster’s scheduler {cluster.url} does not answer; start it" in waiting["error"]
            await cluster.start_scheduler()
            await cluster.start_worker("three")
            result = await job_ended(home, job)
            assert (result["state"], result["attempts"]) == ("done", 1), result["error"]
            assert [(each["name"], each["parts"]) for each in result["result"]["workers"]] == [
                ("the cluster", 10)
            ]


async def test_a_cancel_stops_the_part_at_the_worker(tmp_path: Path):
    make_book(tmp_path, files=2)
    async with (
        dask_cluster(tmp_path / "cluster", "one") as cluster,
        cluster_host(tmp_path / "bridge", cluster.url, speech_model="scripted:slow=3600") as bridge,
    ):
        await bridge.has_places(1)
        book = asyncio.create_task(bridge.run(order(tmp_path / "books")))
        live = bridge.rooms.pipeline
        await until(lambda: bool(live.offers) and any(o.live.under_way for o in live.offers.values()))
        await asyncio.sleep(2)
        book.cancel()
        await asyncio.gather(book, return_exceptions=True)
        assert await bridge.parts("converted") >= 1
        # The only place is free again at once: another book is heard there.
        info = asyncio.create_task(bridge.cluster.executor.detect_language(sample(bridge), ""))
        assert (await asyncio.wait_for(info, 10)) == {"en": 0.9, "la": 0.1}


def sample(bridge: ClusterHost) -> Path:
    """Return the audio of a part that was cut and not heard."""
    return next((bridge.rooms.pipeline.audio(bridge.recording, 0).parent).glob("*.flac"))


async def test_only_workers_with_the_resource_hear_and_the_book_says_what_is_missing(tmp_path: Path):
    make_book(tmp_path, files=1)
    async with (
        dask_cluster(tmp_path / "cluster") as cluster,
        cluster_host(tmp_path / "bridge", cluster.url, speech_model=MODEL) as bridge,
    ):
        await cluster.start_worker("plain", resources="")
        await until(lambda: "no worker for speech" in (bridge.cluster.executor.why_none() or ""))
        with pytest.raises(Trouble, match="--resources “speech=1”") as held:
            await bridge.run(order(tmp_path / "books"))
        await cluster.start_worker("able")
        await asyncio.wait_for(held.value.mended(SystemClock()), 60)
        await bridge.run(order(tmp_path / "books"))
        assert (await bridge.made(order(tmp_path / "books")))[1] == {"the cluster": 1}


def test_without_the_setting_nothing_of_dask_is_imported():
    code = (
        "import sys, bridge_agent.app.bridge, bridge_agent.transcription.cluster.opening\n"
        "print([name for name in sys.modules if name.partition('.')[0] in ('dask', 'distributed')])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


@pytest.mark.parametrize(("any_model", "places", "flagged"), [(True, 2, True), (False, 1, False)])
async def test_a_worker_with_another_model_keeps_to_the_owners_rule(
    tmp_path: Path, any_model: bool, places: int, flagged: bool
):
    make_book(tmp_path, files=6)
    # The model of the settings is a folder of this machine, so that each worker hears with its own.
    async with (
        dask_cluster(tmp_path / "cluster") as cluster,
        cluster_host(
            tmp_path / "bridge", cluster.url, speech_model="/of/this/machine", worker_any_model=any_model
        ) as bridge,
    ):
        await cluster.start_worker("one", BRIDGE_SPEECH_MODEL=MODEL)
        await bridge.has_places(1)
        planned = await bridge.cluster.executor.info("", lambda done, total: None)
        await cluster.start_worker("two", BRIDGE_SPEECH_MODEL="scripted:slow=1.5")
        await bridge.has_places(2)
        await bridge.run(order(tmp_path / "books"))
        results = await bridge.rooms.pipeline.results(bridge.recording)
        other = [part.result for part in results.parts if part.result.engine.model != planned.model]
        assert planned.model == MODEL
        assert [("other_settings" in result.flags) for result in other] == [True] * len(other)
        assert (bool(other), bridge.cluster.executor.places) == (flagged, places)


async def test_an_engine_is_loaded_once_a_worker_and_words_are_told(tmp_path: Path):
    make_book(tmp_path, files=6)
    # What loops is heard a second time, so that there is something to tell before the end.
    model = MODEL + "+loop"
    async with two_there(tmp_path, model) as (cluster, bridge):
        told: set[str] = set()
        bridge.rooms.pipeline.on_change = lambda live: told.update(live.under_way.values())
        book = asyncio.create_task(bridge.run(order(tmp_path / "books")))
        engines: set[int] = set()
        while not book.done():
            await asyncio.sleep(0.2)
            engines |= bridge_engines(cluster)
        await book
        assert any(words.startswith("again again") for words in told)
        assert len(engines) == 2
        assert engines == bridge_engines(cluster)


async def test_real_words_on_a_cluster_are_those_of_the_local_lane(tmp_path: Path):
    model = str(whisper_base.model_folder())
    spoken.demo_books(tmp_path / "books")
    undisturbed = await alone(tmp_path / "alone", tmp_path / "books", model)
    async with (
        dask_cluster(tmp_path / "cluster", "one", "two", BRIDGE_SPEECH_MODEL=model) as cluster,
        cluster_host(tmp_path / "bridge", cluster.url, speech_model=model) as bridge,
    ):
        await bridge.has_places(2)
        wanted = order(tmp_path / "books")
        await bridge.run(wanted)
        made, by = await bridge.made(wanted)
        assert made == undisturbed
        assert list(by) == ["the cluster"]


def bridge_engines(cluster: DaskCluster) -> set[int]:
    """Return the ids of the engine children of the cluster's workers."""
    found = set()
    for worker in cluster.workers.values():
        for child in psutil.Process(worker.pid).children():
            # One that has ended meanwhile is none.
            with contextlib.suppress(psutil.Error):
                if "bridge_agent.transcription.engines.child" in child.cmdline():
                    found.add(child.pid)
    return found
