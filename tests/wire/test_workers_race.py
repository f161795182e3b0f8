"""Many workers on both wires at once, over real stores and their threads: each part is one worker’s."""

import asyncio
import json
import wave
from collections import Counter
from pathlib import Path

import aiohttp
import pytest

from tests.crash.pipeline_child import order
from tests.crash.test_pipeline_kill import tones
from tests.fakes.short_parts import short_parts
from tests.fakes.work_host import Host, host
from tests.wire.coordinator_rig import Caller

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

PARTS = 60
HEARD = {"segments": [{"start": 0.0, "end": 0.5, "text": "heard"}], "language": "en"}


@pytest.mark.requirement("V-02", "S-04", "P-011")
async def test_of_many_who_claim_at_once_each_part_is_one_workers(tmp_path: Path):
    a_book(tmp_path / "books", seconds=PARTS)
    with short_parts(1.0, window=0.5, most=1.6, least=0.5, overlap=0.0):
        async with (
            host(tmp_path / "bridge", speech_model="scripted", speech_processes=0) as bridge,
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session,
        ):
            crowd = [await invited(bridge, session, n) for n in range(16)]
            book = asyncio.create_task(bridge.transcribe(order(tmp_path / "books")))
            claims = await asyncio.gather(*(works(worker, n, book) for n, worker in enumerate(crowd)))
            _, made = await book
    claimed = Counter(claim for each in claims for claim in each)
    assert len(claimed) >= PARTS // 2
    assert set(claimed.values()) == {1}
    assert sum(made.values()) == len(claimed)
    assert len(made) >= 2


def a_book(folder: Path, seconds: int) -> None:
    """Write a file of tones with a pause in each second."""
    folder.mkdir()
    second = tones(1)[:8000].tobytes() + bytes(16_000)
    with wave.open(str(folder / "long.wav"), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(16_000)
        out.writeframes(second * seconds)


async def invited(bridge: Host, session: aiohttp.ClientSession, number: int) -> Caller:
    made = await bridge.workers.invite(f"worker {number}")
    return await Caller(session, made.url, made.token).register("transcribe")


async def works(worker: Caller, number: int, book: "asyncio.Task[object]") -> list[str]:
    """Claim and hand in until the book is done; return what was claimed: whole part and attempt."""
    claims = []
    while not book.done():
        claim = await (one_of_the_coordinator(worker) if number % 2 else one_of_worker_v1(worker))
        if claim is None:
            await asyncio.sleep(0.01)
        else:
            claims.append(claim)
    return claims


async def one_of_the_coordinator(worker: Caller) -> str | None:
    answer = await worker.claim()
    if answer.status == 204:
        return None
    task = answer.body
    assert (await worker.do(task, json.dumps(HEARD).encode())).status == 200
    return f"part {task['chunk_index']}"


async def one_of_worker_v1(worker: Caller) -> str | None:
    answer = await worker.post("/worker/v1/jobs/claim")
    if answer.status == 204:
        return None
    job = answer.body["job"]
    handed = await worker.post(f"/worker/v1/jobs/{job['id']}/result", {"text": "heard", "duration": 1.0})
    assert handed.status == 200
    return f"part {job['sourceMessageId']}"
