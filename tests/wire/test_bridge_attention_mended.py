"""A job that needs attention goes on by itself where its handler can see that it is mended."""

import asyncio
from pathlib import Path

from bridge_agent.jobs.handlers.base import AttentionNeeded, Done, JobContext, NeedsAttention, Outcome
from tests.fakes.server import FakeServer, until
from tests.wire.bridge_rig import Rig, TestHandler, states_of


async def test_a_job_goes_on_by_itself_once_its_trouble_is_over(tmp_path: Path):
    mended, tries = asyncio.Event(), 0

    async def work(job: JobContext) -> Outcome:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise AttentionNeeded("The disk is full; free some space.", wait)
        return Done({"tries": tries})

    async def wait() -> None:
        await mended.wait()

    handler = TestHandler()
    handler.work = work
    async with FakeServer() as server, Rig(tmp_path, handler) as rig:
        await rig.pair(server)
        job = server.offer()
        await rig.comes_to(job.id, "needs_attention")
        await until(lambda: "needs_attention" in states_of(server, job.id))
        assert rig.jobs.lanes()[0]["running"] == 0
        mended.set()
        row = await rig.comes_to(job.id, "done")
        assert row["result"] == {"tries": 2}


async def test_nobody_looks_any_more_after_a_cancel_or_a_try(tmp_path: Path):
    looking: list[str] = []

    async def wait() -> None:
        looking.append("began")
        try:
            await asyncio.Event().wait()
        finally:
            looking.append("ended")

    async def work(job: JobContext) -> Outcome:
        return NeedsAttention("The disk is full; free some space.", wait)

    handler = TestHandler()
    handler.work = work
    async with FakeServer() as server, Rig(tmp_path, handler) as rig:
        await rig.pair(server)
        job = server.offer()
        await until(lambda: looking == ["began"])
        await rig.jobs.resume(server.server_id, job.id)
        await until(lambda: looking == ["began", "ended", "began"])
        await rig.jobs.cancel(server.server_id, job.id)
        await rig.comes_to(job.id, "cancelled")
        assert looking == ["began", "ended"] * 2
