"""Housekeeping: the slow chores of a Bridge, by APScheduler (law 6)."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any

from bridge_agent.base.clock import Clock, later
from bridge_agent.store import Database

_log = logging.getLogger(__name__)

HOUR_S = 3600.0
DAY_S = 24 * HOUR_S


@dataclass(frozen=True)
class Chore:
    """Something to be done every so many seconds, the first time after `first_s`."""

    name: str
    every_s: float
    first_s: float
    work: Callable[[], Awaitable[object]]


class Housekeeping:
    """Runs chores; heartbeats, claims and leases never depend on it."""

    def __init__(self, clock: Clock, chores: Sequence[Chore]) -> None:
        self._clock = clock
        self._chores = chores
        self._scheduler: Any = None

    def start(self) -> None:
        """Plan the chores; in UTC, so that no summer time shifts them, and late ones run once."""
        from apscheduler.schedulers.asyncio import AsyncIOScheduler

        self._scheduler = AsyncIOScheduler(
            timezone=UTC,
            job_defaults={"coalesce": True, "misfire_grace_time": None, "max_instances": 1},
        )
        for chore in self._chores:
            self._scheduler.add_job(
                chore.work,
                "interval",
                seconds=chore.every_s,
                next_run_time=later(self._clock.now(), chore.first_s),
                id=chore.name,
            )
        self._scheduler.start()

    def stop(self) -> None:
        """Plan nothing more."""
        if self._scheduler is not None:
            self._scheduler.shutdown(wait=False)
            self._scheduler = None


def integrity(db: Database) -> Chore:
    """Return the weekly look at the data file."""

    async def look() -> None:
        found = await db.read(lambda c: str(c.execute("PRAGMA quick_check(1)").fetchone()[0]))
        if found != "ok":
            _log.error(
                "The data file is damaged (%s); stop the Bridge and start it again to begin a new one.", found
            )

    return Chore("integrity", 7 * DAY_S, 7 * DAY_S, look)
