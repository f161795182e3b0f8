"""Stores in the way of somebody: one whose answers come late, and one that takes nothing."""

import asyncio
from typing import TypeVar

from bridge_agent.store import Database
from bridge_agent.store.database import Unit

T = TypeVar("T")


class LateStore:
    """A store that writes at once and says so only once `go_on` is set, so that others come in between."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self.written = asyncio.Event()
        self.go_on = asyncio.Event()

    async def write(self, unit: Unit[T]) -> T:
        result = await self._db.write(unit)
        self.written.set()
        await self.go_on.wait()
        return result

    async def read(self, unit: Unit[T]) -> T:
        return await self._db.read(unit)

    async def close(self) -> None:
        await self._db.close()


class FailingStore:
    """A store that can be read, and takes nothing; counts how often it was asked to."""

    def __init__(self, db: Database, trouble: Exception) -> None:
        self._db = db
        self._trouble = trouble
        self.asked = 0

    async def write(self, unit: Unit[T]) -> T:
        self.asked += 1
        raise self._trouble

    async def read(self, unit: Unit[T]) -> T:
        return await self._db.read(unit)

    async def close(self) -> None:
        await self._db.close()
