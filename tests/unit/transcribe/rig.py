"""What a transcription job needs around it: a library, a server, and the pipeline on stand-ins."""

import asyncio
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bridge_agent.base.tasks import Tasks
from bridge_agent.jobs.handlers.base import AttentionNeeded, Done, JobContext, Outcome
from bridge_agent.jobs.handlers.transcribe import KIND, TranscribeHandler
from bridge_agent.jobs.handlers.transcribe_source import Sources
from bridge_agent.jobs.handlers.transcribe_stow import Stow
from bridge_agent.protocol.bridge import ArtifactAnswer, Book, BookFile, Progress
from bridge_agent.settings import BridgeSettings
from bridge_agent.transcription.models.models import Models
from bridge_agent.transcription.transcripts import Transcripts, open_transcripts
from tests.fakes.clock import FakeClock
from tests.fakes.pipeline import Rig as PipelineRig
from tests.unit.verify.rig import Books, Places


class Server(Books):
    """Gives one book and takes artifacts."""

    def __init__(self, book: Book) -> None:
        super().__init__(book)
        self.artifacts: dict[tuple[int, int, str], tuple[str, bytes]] = {}
        self.refusals: list[Exception] = []
        self.always: Exception | None = None

    async def put_artifact(
        self, job_id: int, attempt: int, name: str, content_type: str, content: Path
    ) -> ArtifactAnswer:
        if self.refusals:
            raise self.refusals.pop(0)
        if self.always is not None:
            raise self.always
        raw = content.read_bytes()
        self.artifacts[job_id, attempt, name] = (content_type, raw)
        return ArtifactAnswer(
            artifact_id=1, name=name, sha256=hashlib.sha256(raw).hexdigest(), size_bytes=len(raw)
        )


class Rig:
    """A handler over a library folder; jobs run on a clock that moves by itself while they do."""

    def __init__(self, folder: Path, clock: FakeClock, **settings: Any) -> None:
        self.clock = clock
        self.library = folder / "library"
        self.pipe = PipelineRig(folder, clock)
        self.settings = BridgeSettings(data_dir=folder, **settings)
        self.places = Places(self.library)
        self.server = Server(
            Book(library_id=1, path="A/B", title="The Book", author="An Author", files=[], chapters=[])
        )
        self.said: list[Progress] = []
        self.at: Callable[[Progress], None] = lambda progress: None
        self.trusted: Callable[[], bool] = lambda: True
        self.transcripts: Transcripts
        self.handler: TranscribeHandler

    async def open(self) -> "Rig":
        self.transcripts = await open_transcripts(self.settings.data_dir, self.clock)
        self.build()
        return self

    def build(self) -> None:
        """Build the handler over the present pipeline."""
        self.handler = TranscribeHandler(
            self.settings,
            self.clock,
            Sources(self.places, self.server, self.clock, 5.0),
            self.pipe.pipeline,
            self.transcripts,
            Models(self.settings.data_dir / "models", Tasks("models")),
            Stow(self.server, self.transcripts, self.clock, self.settings.transcripts_beside_books),
        )

    async def close(self) -> None:
        await self.transcripts.close()
        await self.pipe.db.close()

    def book(self, **files: str) -> None:
        """Put a book's files into the library, one letter a part, and on the server's list."""
        for name, content in files.items():
            path = self.library / "A" / "B" / f"{name}.mp3"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        book = self.server.answer
        assert isinstance(book, Book)
        book.files = [
            BookFile(path=f"A/B/{name}.mp3", size=len(content), duration=len(content) * 150.0)
            for name, content in files.items()
        ]

    def job(self, job_id: int = 1, attempt: int = 1, **params: Any) -> JobContext:
        def record(progress: Progress) -> None:
            self.said.append(progress)
            self.at(progress)

        return JobContext(
            server_id="s",
            job_id=job_id,
            attempt=attempt,
            kind=KIND,
            library_id=1,
            path="A/B",
            params=params,
            record=record,
            trusted=lambda: self.trusted(),
        )

    async def begin(self, job_id: int = 1, attempt: int = 1, **params: Any) -> "asyncio.Task[Outcome]":
        return asyncio.create_task(self.handler.run(self.job(job_id, attempt, **params)))

    async def run(self, job_id: int = 1, attempt: int = 1, **params: Any) -> Outcome:
        running = await self.begin(job_id, attempt, **params)
        return await self.end(running)

    async def end(self, running: "asyncio.Task[Outcome]") -> Outcome:
        await self.pass_until(running.done)
        return await running

    async def pass_until(self, condition: Callable[[], object], within: float = 7200.0) -> None:
        passed = 0.0
        while not condition():
            assert passed < within, "it never came to that"
            await self.pipe.pass_time(1.0)
            passed += 1.0

    async def done(self, job_id: int = 1, attempt: int = 1, **params: Any) -> dict[str, Any]:
        outcome = await self.run(job_id, attempt, **params)
        assert isinstance(outcome, Done), outcome
        return outcome.result

    async def mended(self, error: AttentionNeeded) -> "asyncio.Task[None]":
        assert error.mended is not None
        return asyncio.ensure_future(error.mended())

    @property
    def steps(self) -> list[str]:
        """The steps in their order, each once."""
        return list(dict.fromkeys(progress.step for progress in self.said))
