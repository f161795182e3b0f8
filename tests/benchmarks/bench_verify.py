"""How fast verify compares files, against the barest walk there is: a thread pool's os.stat.

Both look at the same paths in one run, in turns, and the best of each counts. A ratio of 1 means as fast;
above it, faster. `run` gives the rows to the benchmark runner; started by itself, this module prints them.
"""

import asyncio
import os
import tempfile
from collections.abc import Callable, Coroutine
from multiprocessing.pool import ThreadPool
from pathlib import Path

from bridge_agent.base.clock import SystemClock, perf
from bridge_agent.jobs.handlers.base import Done, JobContext
from bridge_agent.jobs.handlers.verify import VerifyHandler
from bridge_agent.mapping.compare import Comparison
from bridge_agent.protocol.bridge import Book, BookFile, Library
from tests.benchmarks.table import Row, lines

SIZES = (50, 50_000)
TURNS = 7
THREADS = 8
LEAST = 0.8


class _Household:
    """One library with one book, as verify's rooms would give it."""

    def __init__(self, root: Path, count: int) -> None:
        self.root = root
        folder = root / "Author" / "Book"
        folder.mkdir(parents=True)
        self.files = []
        for number in range(count):
            name = f"{number:05d} - Chapter.mp3"
            (folder / name).touch(0o644)
            self.files.append(BookFile(path=f"Author/Book/{name}", size=0))
        self.paths = [str(root / file.path) for file in self.files]

    async def place_of(self, library_id: int) -> tuple[Library, Path]:
        return Library(id=library_id, name="Books", root=str(self.root)), self.root

    async def book(self, library_id: int, path: str | None) -> Book:
        return Book(
            library_id=library_id,
            path=path or "",
            title="Book",
            author="Author",
            files=self.files,
            chapters=[],
        )


def _bare(paths: list[str]) -> float:
    began = perf()
    with ThreadPool(THREADS) as pool:
        pool.map(os.stat, paths)
    return perf() - began


async def _compared(home: _Household) -> float:
    began = perf()
    found = await Comparison(home.root, SystemClock()).run(home.files)
    seconds = perf() - began
    assert found.matched == len(home.files)
    return seconds


async def _verified(home: _Household) -> float:
    handler = VerifyHandler(home, home, SystemClock())
    job = JobContext(
        server_id="s", job_id=1, attempt=1, kind=handler.kind, library_id=1, path="Author/Book", params={}
    )
    began = perf()
    outcome = await handler.run(job)
    seconds = perf() - began
    assert isinstance(outcome, Done)
    return seconds


def _row(what: str, bare: list[float], ours: list[float]) -> Row:
    ratio = min(bare) / min(ours)
    return Row(
        what,
        f"{ratio:.2f} of a bare walk",
        f"≥ {LEAST}",
        ratio >= LEAST,
        f"{min(ours) * 1000:.1f} ms against {min(bare) * 1000:.1f} ms",
    )


def run() -> list[Row]:
    """Measure both sizes and return one row each for the comparing alone and for the whole verify."""
    rows = []
    kinds: tuple[tuple[str, Callable[[_Household], Coroutine[None, None, float]]], ...] = (
        ("comparing", _compared),
        ("the whole job", _verified),
    )
    for count in SIZES:
        with tempfile.TemporaryDirectory(prefix="bench-verify-") as folder:
            home = _Household(Path(folder), count)
            for what, measure in kinds:
                bare, ours = [], []
                for _ in range(TURNS):
                    bare.append(_bare(home.paths))
                    ours.append(asyncio.run(measure(home)))
                rows.append(_row(f"verify of {count} files in one folder, {what}", bare, ours))
    return rows


if __name__ == "__main__":
    print("\n".join(lines(run())))
