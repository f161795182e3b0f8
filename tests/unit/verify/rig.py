"""What a verify needs around it: places, books, a clock whose sleeps are over at once."""

import asyncio
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bridge_agent.base.errors import BridgeError
from bridge_agent.jobs.handlers.base import Done, Failed, JobContext, Outcome
from bridge_agent.jobs.handlers.verify import VerifyHandler
from bridge_agent.protocol.bridge import Book, BookFile, Library, Progress
from tests.fakes.clock import FakeClock


class HurriedClock(FakeClock):
    """Time that jumps to a sleeper's moment as soon as it sleeps; `at_sleep` may change the world there."""

    def __init__(self) -> None:
        super().__init__()
        self.slept: list[float] = []
        self.at_sleep: Callable[[float], None] = lambda seconds: None

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.at_sleep(seconds)
        self._passed += seconds
        await asyncio.sleep(0)


class Places:
    """Knows one library, with the id 1."""

    def __init__(self, root: Path) -> None:
        self.root = root

    async def place_of(self, library_id: int) -> tuple[Library, Path]:
        await asyncio.sleep(0)
        if library_id != 1:
            raise BridgeError("The server has listed no library 2; look at the server’s libraries.")
        return Library(id=1, name="Books", root="/srv/books"), self.root


class Books:
    """Gives one book, or raises what it is told to."""

    def __init__(self, book: Book) -> None:
        self.answer: Book | BridgeError = book
        self.asked: list[tuple[int, str | None]] = []

    async def book(self, library_id: int, path: str | None) -> Book:
        self.asked.append((library_id, path))
        await asyncio.sleep(0)
        if isinstance(self.answer, BridgeError):
            raise self.answer
        return self.answer


@dataclasses.dataclass
class Rig:
    """One verify to be run, and what it said on the way."""

    root: Path
    files: list[BookFile]
    path: str = "A/B"
    limit_s: float = 5.0

    def __post_init__(self) -> None:
        self.clock = HurriedClock()
        self.places = Places(self.root)
        self.book = Book(library_id=1, path=self.path, title="B", author="A", files=self.files, chapters=[])
        self.books = Books(self.book)
        self.said: list[Progress] = []
        self.seen: list[tuple[int, bool]] = []
        self.at: Callable[[Progress], None] = lambda progress: None
        self.trusted: Callable[[], bool] = lambda: True

    def handler(self) -> VerifyHandler:
        return VerifyHandler(
            self.places, self.books, self.clock, self.limit_s, lambda id, seen: self.seen.append((id, seen))
        )

    async def run(self, library_id: int = 1, **params: Any) -> Outcome:
        def record(progress: Progress) -> None:
            self.said.append(progress)
            self.at(progress)

        job = JobContext(
            server_id="s",
            job_id=1,
            attempt=1,
            kind="bridge.verify",
            library_id=library_id,
            path=self.path,
            params=params,
            record=record,
            trusted=lambda: self.trusted(),
        )
        return await self.handler().run(job)

    async def done(self, **params: Any) -> dict[str, Any]:
        outcome = await self.run(**params)
        assert isinstance(outcome, Done), outcome
        return outcome.result

    async def failed(self, **params: Any) -> tuple[str, dict[str, Any]]:
        outcome = await self.run(**params)
        assert isinstance(outcome, Failed), outcome
        assert outcome.result is not None
        return outcome.error, outcome.result

    @property
    def steps(self) -> list[str]:
        """The steps in their order, each once."""
        return list(dict.fromkeys(progress.step for progress in self.said))
