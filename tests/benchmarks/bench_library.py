"""How fast the library index is with 100,000 files: first scan, a scan of nothing new, a page, a search.

The scan of an unchanged library is held against the barest walk there is, os.scandir with a stat for each
file. `run` gives the rows to the benchmark runner; started by itself, this module prints them.
"""

import asyncio
import os
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from bridge_agent.base.clock import SystemClock, perf
from bridge_agent.base.tasks import Tasks
from bridge_agent.home.library.index import LibraryIndex
from tests.benchmarks.table import Row, lines, percentile

BOOKS = 20_000
TRACKS = 5
AN_AUTHOR = 20
PAGE_MS = 20.0
FIRST_FILES_A_S = 400
RESCAN_RATIO = 4.0
_WORDS = ("der", "die", "and", "of", "river", "stone", "night", "moon", "garden", "letter", "ghost", "winter")
_FRAME = b"\xff\xfb\x90\x00" + bytes(413)


def make_tree(root: Path, books: int = BOOKS) -> int:
    """Make a library of books with five short tracks each; return how many files it has."""
    for number in range(books):
        word, other = _WORDS[number % len(_WORDS)], _WORDS[number // 7 % len(_WORDS)]
        folder = root / f"Author {number // AN_AUTHOR:04}" / f"The {word} {other} {number}"
        folder.mkdir(parents=True)
        for track in range(1, TRACKS + 1):
            (folder / f"{track:02}.mp3").write_bytes(
                _FRAME * 6 + number.to_bytes(4, "big") * 8 + bytes(track)
            )
    return books * TRACKS


def bare_walk(root: Path) -> float:
    """Return the seconds that walking and asking each file's size take at the least."""
    began = perf()
    waiting = [str(root)]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    entry.stat(follow_symlinks=False)
    return perf() - began


async def _times(call: Callable[[int], Awaitable[object]], turns: int = 60) -> float:
    took = []
    for turn in range(turns):
        began = perf()
        await call(turn)
        took.append((perf() - began) * 1000)
    return percentile(took, 0.95)


async def _measure(root: Path, data: Path, files: int) -> list[Row]:
    index = await LibraryIndex.open(data, SystemClock(), Tasks("benchmark"))
    added = await index.add("Books", root)

    async def scan() -> float:
        began = perf()
        index.request_scan(added.id)
        await index.settled()
        assert added.scan.state == "done", added.scan
        return perf() - began

    try:
        first = await scan()
        assert added.books == files // TRACKS
        bare = min(bare_walk(root) for _ in range(3))
        again = min([await scan() for _ in range(3)])
        rows = [
            Row(
                f"library: first scan of {files:,} files",
                f"{first:.1f} s, {files / first:,.0f} files/s",
                f"≥ {FIRST_FILES_A_S} files/s",
                files / first >= FIRST_FILES_A_S,
            ),
            Row(
                "library: scan with nothing new",
                f"{again:.2f} s = {again / bare:.1f} × a bare walk",
                f"≤ {RESCAN_RATIO:.0f} ×",
                again <= RESCAN_RATIO * bare,
                f"bare {bare:.2f} s",
            ),
        ]
        return rows + await _pages(index, added.id)
    finally:
        await index.close()


async def _pages(index: LibraryIndex, library_id: int) -> list[Row]:
    cursors: list[str | None] = [None]
    for _ in range(30):
        cursors.append((await index.books(library_id, after=cursors[-1], limit=500)).next_after)
    searches = {
        "one word of many books": "the",
        "a rare number": "19999",
        "two words": "moon gar",
        "a prefix": "s",
        "an author": "author 0777",
        "words of no book": "moon zebra",
    }
    rows = [
        _row(
            "a page of 50 by title", await _times(lambda i: index.books(library_id, "", cursors[i % 30], 50))
        )
    ]
    for what, q in searches.items():
        took = await _times(lambda i, q=q: index.books(library_id, q, None, 50))  # type: ignore[misc]
        rows.append(_row(f"search, {what}", took))
    return rows


def _row(what: str, milliseconds: float) -> Row:
    return Row(
        f"library: {what}, p95", f"{milliseconds:.1f} ms", f"≤ {PAGE_MS:.0f} ms", milliseconds <= PAGE_MS
    )


def run(books: int = BOOKS) -> list[Row]:
    """Measure in a folder that is removed afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        root, data = Path(folder, "library"), Path(folder, "data")
        data.mkdir()
        files = make_tree(root, books)
        return asyncio.run(_measure(root, data, files))


if __name__ == "__main__":
    print("\n".join(lines(run())))
