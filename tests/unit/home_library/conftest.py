"""An index over a folder of a test's own."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bridge_agent.base.tasks import Tasks
from bridge_agent.home.library.index import LibraryIndex
from bridge_agent.home.library.model import Scan
from tests.fakes.clock import FakeClock


class Shelves:
    """One library under test: its root, its index, and what the index told of."""

    def __init__(self, root: Path, index: LibraryIndex, library_id: int) -> None:
        self.root = root
        self.index = index
        self.id = library_id
        self.moves: list[tuple[str, str]] = []
        self.changes = 0
        index.on_moved = self._moved
        index.on_changed = self._changed

    async def scan(self, asked: bool = True) -> Scan:
        """Scan to the end and return how it ended."""
        self.index.request_scan(self.id, asked)
        await self.index.settled()
        info = self.index.get(self.id)
        assert info is not None
        return info.scan

    async def states(self) -> dict[str, str]:
        """Return the state of each book by path."""
        page = await self.index.books(self.id, limit=500)
        return {book.path: book.state for book in page.books}

    async def tracks(self, path: str) -> list[str]:
        """Return a book's tracks in order, as their names."""
        book = await self.index.book(self.id, path)
        assert book is not None
        return [file.path.rpartition("/")[2] for file in book.files]

    async def notes(self, path: str) -> list[str]:
        """Return what is said about a book that is not whole."""
        found = await self.index.details(self.id, path)
        assert found is not None
        return found.notes

    async def id_of(self, path: str) -> int:
        """Return the row that a book has, to see whether it is still the same one."""
        rows = await self.index._database.read(
            lambda c: c.execute("SELECT id FROM books WHERE path = ?", (path,)).fetchall()
        )
        assert len(rows) == 1
        return int(rows[0][0])

    async def _moved(self, library_id: int, old: str, new: str) -> None:
        assert library_id == self.id
        self.moves.append((old, new))

    def _changed(self, library_id: int) -> None:
        self.changes += 1


@pytest.fixture
async def shelves(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Shelves]:
    """An empty library with its index."""
    root, data = tmp_path / "library", tmp_path / "data"
    root.mkdir()
    data.mkdir()
    index = await LibraryIndex.open(data, clock, Tasks("test"))
    added = await index.add("Books", root)
    yield Shelves(root, index, added.id)
    await index.close()
