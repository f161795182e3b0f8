"""The pipeline in a process of its own, killed before its n-th write: `python -m … FOLDER N`."""

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

from bridge_agent.base.clock import SystemClock
from bridge_agent.base.tasks import Tasks
from bridge_agent.settings import BridgeSettings
from bridge_agent.store import Database, Unit
from bridge_agent.transcription import assembly
from bridge_agent.transcription.formats.documents import documents
from bridge_agent.transcription.model import Settings
from bridge_agent.transcription.pipeline import opening
from bridge_agent.transcription.pipeline.order import Order, SourceFile
from bridge_agent.transcription.pipeline.recordings import Asker

OUT = "transcripts"


class Deadly:
    """A store whose n-th write is never made, since the process is killed before it."""

    def __init__(self, inner: Database, kill_before: int) -> None:
        self._inner = inner
        self._left = kill_before
        self.writes = 0

    async def write(self, unit: Unit[Any]) -> Any:
        self.writes += 1
        if self.writes == self._left:
            os.kill(os.getpid(), signal.SIGKILL)
        return await self._inner.write(unit)

    async def read(self, unit: Unit[Any]) -> Any:
        return await self._inner.read(unit)

    async def close(self) -> None:
        await self._inner.close()


def order(books: Path) -> Order:
    """Return an order of all files of a folder."""
    files = tuple(
        SourceFile(path=path, relative=path.name) for path in sorted(books.iterdir()) if path.is_file()
    )
    settings = Settings(
        language=None, model="", quality="balanced", word_timestamps=True, prompt="", hotwords=()
    )
    return Order(
        asker=Asker("none", "the one"), title="The Book", author="Somebody", files=files, settings=settings
    )


async def main(folder: Path, kill_before: int) -> None:
    settings = BridgeSettings(data_dir=folder / "data", speech_model="scripted", speech_processes=2)
    settings.data_dir.mkdir(exist_ok=True)
    tasks, real = Tasks("child"), opening.open_database

    async def deadly(*given: Any, **more: Any) -> Any:
        opened = await real(*given, **more)
        opened.database = Deadly(opened.database, kill_before)  # type: ignore[assignment]
        return opened

    opening.open_database = deadly  # type: ignore[assignment]
    here = await opening.open_transcription(settings, SystemClock(), tasks)
    try:
        wanted = order(folder / "books")
        recording = await here.pipeline.begin(wanted)
        await here.pipeline.run(recording)
        results = await here.pipeline.results(recording)
        parts = {part.result.number: part.result for part in results.parts}
        transcript = assembly.transcript(results.plan, parts, wanted.title, wanted.author)
        (folder / OUT).mkdir(exist_ok=True)
        for document in documents(transcript):
            (folder / OUT / document.name).write_bytes(document.content)
        await here.pipeline.close(recording)
        print(here.db.writes, results.reused)  # type: ignore[attr-defined]  # noqa: T201
    finally:
        await here.close()
        await tasks.cancel()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
