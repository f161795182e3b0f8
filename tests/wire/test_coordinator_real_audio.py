"""An MP3 over the coordinator's wire as a Bridge serves it: the real decoder, words made by the test."""

import asyncio
import hashlib
import importlib.util
import io
import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.fakes.work_host import host
from tests.wire.coordinator_rig import Caller

if importlib.util.find_spec("av") is None:
    pytest.skip("NO DECODER: install the extra speech to run these tests", allow_module_level=True)

pytestmark = pytest.mark.slow
BOOK = Path(__file__).parents[2] / "bridge_agent/demo_library/Folk Tales/Stone Soup/01 - Chapter 1.mp3"


async def test_an_mp3_is_cut_at_its_pauses_and_comes_back_as_a_transcript(tmp_path: Path) -> None:
    async with host(tmp_path, speech_processes=0) as bridge, aiohttp.ClientSession() as session:
        invited = await bridge.workers.invite("w")
        worker = await Caller(session, invited.url, invited.token).register("transcribe")
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
