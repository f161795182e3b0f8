"""Housekeeping of a Bridge: daily mapping checks, retention, an integrity check (law 6)."""

import logging
from datetime import UTC
from typing import Any

from bridge_agent.base.clock import Clock
from bridge_agent.jobs.jobs import Jobs
from bridge_agent.mapping.mappings import Mappings
from bridge_agent.store import Database

_log = logging.getLogger(__name__)


class Housekeeping:
    """Runs the slow chores; heartbeats, claims and leases never depend on it."""

    def __init__(self, clock: Clock, db: Database, jobs: Jobs, mappings: Mappings) -> None:
        self._clock = clock
        self._db = db
        self._jobs = jobs
        self._mappings = mappings
        self._scheduler: Any = None

    def start(self) -> None:
        """Plan the chores; in UTC, so that no summer time shifts them, and late ones run once."""
        from apscheduler.schedulers.asyncio import AsyncIOScheduler

        self._scheduler = AsyncIOScheduler(
            timezone=UTC,
            job_defaults={"coalesce": True, "misfire_grace_time": None, "max_instances": 1},
        )
        self._scheduler.add_job(self._mappings.check_all, "interval", hours=24, id="mapping checks")
        self._scheduler.add_job(self._jobs.forget_old, "interval", hours=24, id="retention")
        self._scheduler.add_job(self._check_store, "interval", hours=24 * 7, id="integrity")
        self._scheduler.start()

    def stop(self) -> None:
        """Plan nothing more."""
        if self._scheduler is not None:
            self._scheduler.shutdown(wait=False)
            self._scheduler = None

    async def _check_store(self) -> None:
        found = await self._db.read(lambda c: str(c.execute("PRAGMA quick_check(1)").fetchone()[0]))
        if found != "ok":
            _log.error(
                "The data file is damaged (%s); stop the Bridge and start it again to begin a new one.", found
            )
