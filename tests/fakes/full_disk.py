"""A store on a disk that a test fills."""

import sqlite3
from collections.abc import Callable
from typing import TypeVar

from bridge_agent.store import Database
from bridge_agent.store.database import StoreFull

T = TypeVar("T")


class Filling:
    """Refuses what is to be written while it is full."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self.full = False
        self.refused = 0

    async def write(self, unit: Callable[[sqlite3.Connection], T]) -> T:
        if self.full:
            self.refused += 1
            raise StoreFull
        return await self._db.write(unit)

    async def read(self, unit: Callable[[sqlite3.Connection], T]) -> T:
        return await self._db.read(unit)

    async def close(self) -> None:
        await self._db.close()
