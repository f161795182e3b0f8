"""An MP3 over the coordinator's wire as a Bridge serves it: the real decoder, words made by the test."""

import asyncio
import hashlib
import importlib.util
import io
import json
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from bridge_agent.base.clock import SystemClock
from bridge_agent.base.tasks import Tasks
from bridge_agent.settings import BridgeSettings
from bridge_agent.transcription.pipeline.opening import open_transcription
from bridge_agent.worker_api.coordinator_v1.opening import open_coordinator
from bridge_agent.worker_api.opening import open_members, open_workers
from tests.wire.coordinator_rig import Caller

if importlib.util.find_spec("av") is None:
    pytest.skip("NO DECODER: install the extra speech to run these tests", allow_module_level=True)

pytestmark = pytest.mark.slow
BOOK = Path(__file__).parents[2] / "bridge_agent/demo_library/Folk Tales/Stone Soup/01 - Chapter 1.mp3"


async def test_an_mp3_is_cut_at_its_pauses_and_comes_back_as_a_transcript(tmp_path: Path) -> None:
    async with AsyncExitStack() as closing:
        worker = await a_bridge(closing, tmp_path)
        answer = await worker.upload(
            ("workload", "transcribe"),
            ("parameters", '{"language": "en"}'),
            ("file", BOOK.name, BOOK.read_bytes(), "audio/mpeg"),
        )
        assert answer.status == 201, answer.raw
        job, parts = answer.body["job_id"], answer.body["task_count"]
        assert parts >= 1
        heard = [await one_part(worker) for _ in range(parts)]
        status = await until_the_end(worker, job)
        assert (status["status"], status["completed"]) == ("completed", parts)
        transcript = json.loads((await worker.get(status["result_uri"])).raw)
        assert [segment["text"] for segment in transcript["segments"]] == [f"part {n}" for n in range(parts)]
        assert transcript["duration"] == pytest.approx(sum(heard), abs=1.0)
        nothing = await worker.upload(
            ("workload", "transcribe"), ("file", "x.mp3", b"no audio" * 100, "audio/mpeg")
        )
        assert nothing.error == (400, "invalid input")


async def a_bridge(closing: AsyncExitStack, folder: Path) -> Caller:
    """Open the rooms as a Bridge does; return somebody who registered."""
    clock, tasks = SystemClock(), Tasks("test")
    settings = BridgeSettings.load(
        {"BRIDGE_WORKER_LISTEN": "127.0.0.1:0", "BRIDGE_SPEECH_PROCESSES": "0"}, data_dir=folder
    )
    members = await open_members(settings, clock)
    closing.push_async_callback(members.db.close)
    rooms = await open_transcription(settings, clock, tasks, elsewhere=members.executors)
    closing.push_async_callback(rooms.close)
    workers = open_workers(settings, clock, tasks, rooms.pipeline, members)
    coordinator = await open_coordinator(
        settings, clock, tasks, workers.gate, workers.service, rooms.pipeline
    )
    workers.more_routes.append(coordinator.add_routes)
    closing.push_async_callback(coordinator.close)
    closing.push_async_callback(tasks.cancel)
    closing.push_async_callback(workers.listener.stop)
    await workers.start()
    await coordinator.start()
    invited = await workers.invite("w")
    session = await closing.enter_async_context(aiohttp.ClientSession())
    return await Caller(session, f"http://127.0.0.1:{workers.listener.port}", invited.token).register(
        "transcribe"
    )


async def one_part(worker: Caller) -> float:
    """Do the next part; return how many seconds it has."""
    while (answer := await worker.claim()).status == 204:
        await asyncio.sleep(0.05)
    task: dict[str, Any] = answer.body
    assert (await worker.beat(task["task_id"], task["attempt"])).status == 200
    audio = await worker.get(task["input"]["uri"])
    assert hashlib.sha256(audio.raw).hexdigest() == task["input"]["sha256"]
    rate, channels, seconds = opened(audio.raw)
    assert (rate, channels) == (16_000, 1)
    text = f"part {task['chunk_index']}"
    partial = json.dumps({"segments": [{"start": 0.5, "end": 1.5, "text": text}], "language": "en"}).encode()
    assert (await worker.do(task, partial)).status == 200
    return seconds


def opened(flac: bytes) -> tuple[int, int, float]:
    """Return rate, channels and seconds of a FLAC file."""
    import av

    with av.open(io.BytesIO(flac)) as file:
        stream = file.streams.audio[0]
        samples = sum(frame.samples for frame in file.decode(stream))
        return stream.rate, stream.channels, samples / stream.rate


async def until_the_end(worker: Caller, job: str) -> dict[str, Any]:
    """Wait until a job has come to its end."""
    async with asyncio.timeout(30):
        while (status := await worker.status(job))["status"] not in ("completed", "failed"):
            await asyncio.sleep(0.05)
    return status
