"""Stores in the way of somebody: one whose answers come late, and one that takes nothing."""

import asyncio
from typing import TypeVar

from bridge_agent.store import Database
from bridge_agent.store.database import Unit

T = TypeVar("T")


class SlowStore:
    """A store that writes at once and is late to say so, so that others come in between."""

    def __init__(self, db: Database, turns: int = 10) -> None:
        self._db = db
        self.turns = turns

    async def write(self, unit: Unit[T]) -> T:
        turns, result = self.turns, await self._db.write(unit)
        for _ in range(turns):
            await asyncio.sleep(0)
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
