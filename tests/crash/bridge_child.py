"""A Bridge's link and jobs in a process of their own, to be killed: `python -m … FOLDER URL [paired]`."""

import asyncio
import sys
from pathlib import Path

from bridge_agent.jobs.handlers.base import Done, JobContext, Outcome
from tests.fakes.server import CODE
from tests.wire.bridge_rig import Rig, TestHandler


class Diary(TestHandler):
    """Notes in a file which jobs it began; holds each for its `hold_seconds`."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.file = file
        self.work = self.note

    async def note(self, job: JobContext) -> Outcome:
        with self.file.open("a") as out:
            out.write(f"{job.job_id} {job.attempt}\n")
        hold = float(job.params["hold_seconds"])
        job.progress("hold", "Holding, as asked", 0, hold)
        await asyncio.sleep(hold)
        return Done({"job": job.job_id})


async def main(folder: Path, url: str) -> None:
    async with Rig(folder, Diary(folder / "diary.txt"), keepalive_seconds=0.2) as rig:
        if rig.link.state == "unpaired":
            await rig.link.pair(url, CODE)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
