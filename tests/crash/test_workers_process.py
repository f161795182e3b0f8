"""`bridge-agent worker` as a process: what it says, its signals, its exit codes, its ends without warning."""

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from aiohttp import web

from bridge_agent.worker_api.opening import Invitation
from tests.crash.test_pipeline_kill import tones
from tests.fakes.coordinator import TOKEN, Coordinator
from tests.fakes.work_host import WorkerProcess

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


def flac(number: int) -> bytes:
    from bridge_agent.transcription.audio import flac

    return flac.encoded(np.asarray(tones(number), dtype=np.int16))


@pytest.fixture
async def bridge() -> AsyncIterator[Coordinator]:
    found = Coordinator()
    await found.plug_in()
    yield found
    await found.unplug()


@pytest.fixture
async def start(tmp_path: Path, bridge: Coordinator) -> AsyncIterator[Any]:
    started: list[WorkerProcess] = []
    invited = Invitation(id=1, name="gpu", token=TOKEN, url=bridge.url, fingerprint=None)

    async def begin(*words: str, **environ: str) -> WorkerProcess:
        wanted = {"BRIDGE_SPEECH_MODEL": "scripted", **environ}
        worker = WorkerProcess(tmp_path / "worker", invited, **wanted)
        started.append(worker)
        return await worker.start(*words)

    yield begin
    for worker in started:
        await worker.kill()


async def test_it_says_what_it_found_and_hears_what_there_is(bridge: Coordinator, start: Any, tmp_path: Path):
    tasks = [bridge.add(flac(n), seed=n) for n in range(3)]
    secret = tmp_path / "token"
    secret.write_text(TOKEN + "\n")
    worker = await start("--idle-exit", BRIDGE_WORKER_TOKEN="", BRIDGE_WORKER_TOKEN_FILE=str(secret))
    words = psutil.Process(worker.process.pid).cmdline()
    assert await worker.ends() == 0
    assert [task.status for task in tasks] == ["completed"] * 3
    assert all(task.partial["segments"] for task in tasks)
    assert "Engine: scripted 1, model scripted, on the processor in int8, 1 part at a time." in worker.said
    assert "GiB free" in worker.said
    written = [path.read_text("utf-8", "replace") for path in worker.folder.rglob("*") if path.is_file()]
    assert not any(TOKEN in text for text in [*written, worker.said, *words])


async def test_the_first_signal_lets_it_finish_and_the_second_gives_back(bridge: Coordinator, start: Any):
    tasks = [bridge.add(flac(n)) for n in range(3)]
    worker = await start(BRIDGE_SPEECH_MODEL="scripted:slow=2")
    await bridge.until(lambda: bridge.count("input") == 2)
    worker.process.send_signal(signal.SIGTERM)
    assert await worker.ends() == 0
    assert [task.status for task in tasks] == ["completed", "pending", "pending"]
    worker.log.unlink()
    worker = await start(BRIDGE_SPEECH_MODEL="scripted:slow=60")
    await bridge.until(lambda: bridge.count("input") == 4)
    worker.process.send_signal(signal.SIGTERM)
    await worker.until_said("Ending when what is being heard is handed in")
    worker.process.send_signal(signal.SIGTERM)
    assert await worker.ends(8) == 0
    assert [task.status for task in tasks] == ["completed", "pending", "pending"]
    assert {each["error_code"] for task in tasks for each in task.failures} == {"given_back"}


async def test_a_ctrl_c_that_reaches_the_children_too_lets_it_finish(bridge: Coordinator, start: Any):
    tasks = [bridge.add(flac(n)) for n in range(2)]
    worker = await start(BRIDGE_SPEECH_MODEL="scripted:slow=4")
    await bridge.until(lambda: bridge.count("input") == 2)
    main = psutil.Process(worker.process.pid)
    await bridge.until(lambda: any("engines.child" in " ".join(c.cmdline()) for c in main.children()))
    await asyncio.sleep(1.5)
    # As a terminal does it: all of its group at once.
    children = main.children()
    for process in (main, *children):
        process.send_signal(signal.SIGINT)
    await worker.until_said("Ending when what is being heard is handed in")
    await asyncio.sleep(0.5)
    assert [child.pid for child in main.children()] == [child.pid for child in children]
    assert await worker.ends() == 0
    assert [task.status for task in tasks] == ["completed", "pending"]
    assert tasks[0].attempt == 1


async def test_a_finished_part_survives_kill_9(bridge: Coordinator, start: Any):
    task = bridge.add(flac(0), seed=1)

    async def full(request: web.Request) -> web.Response | None:
        return web.Response(status=503) if request.method == "PUT" else None

    bridge.instead = full
    worker = await start()
    await bridge.until(lambda: bridge.count("put") >= 1)
    await worker.kill()
    bridge.instead = None
    fetched = bridge.count("input")
    worker = await start("--idle-exit")
    assert await worker.ends() == 0
    assert (task.status, task.attempt, bridge.count("input")) == ("completed", 1, fetched)


async def test_killed_at_work_its_part_is_heard_by_its_next_life(bridge: Coordinator, start: Any):
    bridge.lease_s = 2.0
    task = bridge.add(flac(0), seed=1)
    worker = await start(BRIDGE_SPEECH_MODEL="scripted:slow=30")
    await bridge.until(lambda: bridge.count("input") == 1)
    children = psutil.Process(worker.process.pid).children(recursive=True)
    await worker.kill()
    worker = await start("--once")
    assert await worker.ends() == 0
    assert (task.status, task.attempt) == ("completed", 2)
    _, alive = psutil.wait_procs(children, timeout=10)
    assert alive == []


async def test_frozen_past_its_lease_it_sends_nothing_and_goes_on(bridge: Coordinator, start: Any):
    bridge.lease_s = 2.0
    task = bridge.add(flac(0), seed=1)
    worker = await start(BRIDGE_SPEECH_MODEL="scripted:slow=3")
    await bridge.until(lambda: bridge.count("input") == 1)
    worker.process.send_signal(signal.SIGSTOP)
    await asyncio.sleep(4)
    # Somebody else has it meanwhile.
    task.owner, task.attempt, task.ends = "somebody", 2, bridge.clock.monotonic() + 3
    worker.process.send_signal(signal.SIGCONT)
    await asyncio.sleep(2)
    assert task.artifacts.keys() <= {2}
    await bridge.until(lambda: task.status == "completed")
    assert (task.owner, task.attempt) != ("somebody", 2)
    assert task.artifacts.keys() == {3}


@pytest.mark.parametrize(
    ("environ", "words", "code", "said"),
    [
        ({"BRIDGE_WORKER_URL": ""}, [], 2, "BRIDGE_WORKER_URL is not set; copy the line"),
        ({"BRIDGE_WORKER_TOKEN": ""}, [], 2, "There is no token; set BRIDGE_WORKER_TOKEN_FILE"),
        ({"BRIDGE_WORKER_HOURS": "nights"}, [], 2, "needs hours like 22:00-07:00"),
        (
            {"BRIDGE_WORKER_TOKEN": "wrk_wrong"},
            [],
            1,
            "The Bridge refuses this worker’s token; add the worker",
        ),
        ({"BRIDGE_SPEECH_MODEL": "no-such-model"}, [], 1, "No speech model is named “no-such-model”"),
        ({}, ["--once"], 75, "Stopped."),
        ({}, ["--token", "wrk_x"], 2, "BRIDGE_WORKER_TOKEN_FILE"),
    ],
)
async def test_it_says_by_its_exit_code_how_it_ended(
    start: Any, environ: dict[str, str], words: list[str], code: int, said: str
):
    worker = await start(*words, **environ)
    assert await worker.ends() == code
    assert said in worker.said


async def test_two_on_one_folder_are_told_apart(bridge: Coordinator, start: Any):
    first = await start()
    await bridge.until(lambda: bridge.count("claim") >= 1)
    second = await start()
    assert await second.ends() == 75
    assert "is in use by process" in second.said
    first.process.send_signal(signal.SIGINT)
    assert await first.ends(8) == 0
