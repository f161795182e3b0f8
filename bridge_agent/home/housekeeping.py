"""The server's slow chores: daily scans, ended credentials, the store's own care (law 6)."""

import sqlite3
from collections.abc import Callable
from datetime import UTC
from typing import Any

from bridge_agent.home.credentials import Credentials
from bridge_agent.store import Database

_DAY_H = 24


class Housekeeping:
    """Runs the chores; claims, heartbeats and leases never depend on it."""

    def __init__(self, db: Database, credentials: Credentials, scan_all: Callable[[], None]) -> None:
        self._db = db
        self._credentials = credentials
        self._scan_all = scan_all
        self._scheduler: Any = None

    def start(self) -> None:
        """Plan the chores; in UTC, so that no summer time shifts them, and late ones run once."""
        from apscheduler.schedulers.asyncio import AsyncIOScheduler

        self._scheduler = AsyncIOScheduler(
            timezone=UTC, job_defaults={"coalesce": True, "misfire_grace_time": None, "max_instances": 1}
        )
        for name, chore in (("scans", self.scans), ("retention", self.retention), ("store", self.store)):
            self._scheduler.add_job(chore, "interval", hours=_DAY_H, id=name)
        self._scheduler.start()

    def stop(self) -> None:
        """Plan nothing more."""
        if self._scheduler is not None:
            self._scheduler.shutdown(wait=False)
            self._scheduler = None

    async def scans(self) -> None:
        """Look for new, changed, moved and gone books in all libraries."""
        self._scan_all()

    async def retention(self) -> None:
        """Forget credentials that have ended by themselves."""
        await self._credentials.drop_expired()

    async def store(self) -> None:
        """Let SQLite look after its statistics."""

        def unit(connection: sqlite3.Connection) -> None:
            connection.execute("PRAGMA optimize")

        await self._db.write(unit)
