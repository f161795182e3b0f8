"""Leases of the server's jobs: renewed by reports, swept when they have run out (R-061, R-067…R-070).

A lease's deadline is monotonic seconds in `lease_deadline`, so that no jump of the wall clock ends one early
or keeps one for ever. `lease_expires_at` is for people and for the next start, which makes deadlines of it.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Awaitable, Callable

from bridge_agent.base.clock import Clock
from bridge_agent.base.errors import BridgeError
from bridge_agent.base.loops import Loops
from bridge_agent.home.job import Job
from bridge_agent.home.moment import Moment
from bridge_agent.protocol.leases import STOPPED_REPORTING
from bridge_agent.store import Queries

_SQL = Queries(__package__, "bridge_jobs.sql")
_log = logging.getLogger(__name__)
_ROUNDING_S = 0.001
_AGAIN_S = 5.0


def sweep(connection: sqlite3.Connection, moment: Moment, max_attempts: int) -> list[Job]:
    """End inside a unit every lease that has run out; return the jobs as they are now."""
    values = {
        "due": moment.due,
        "now": moment.text,
        "most": max_attempts,
        "stopped_reporting": STOPPED_REPORTING,
    }
    return [Job.of(row) for row in connection.execute(_SQL["sweep"], values).fetchall()]


def earliest(connection: sqlite3.Connection) -> float | None:
    """Return when the next lease runs out, in monotonic seconds; None where none is held."""
    deadline: float | None = connection.execute(_SQL["earliest"]).fetchone()["deadline"]
    return deadline


def renew(connection: sqlite3.Connection, job_id: int, attempt: int, moment: Moment, lease_s: float) -> bool:
    """Renew the lease of a job for its holder; False where that claim does not hold it (any more)."""
    values = {
        "id": job_id,
        "attempt": attempt,
        "expires_at": moment.text_after(lease_s),
        "deadline": moment.seconds + lease_s,
    }
    return connection.execute(_SQL["renew"], values).fetchone() is not None


def rebase(connection: sqlite3.Connection, moment: Moment, lease_s: float) -> None:
    """Turn the leases that an earlier process left into deadlines of this one, never longer than a lease."""
    for row in connection.execute(_SQL["held"]).fetchall():
        deadline = moment.reached_again(row["lease_expires_at"], lease_s)
        connection.execute(_SQL["set_deadline"], {"id": row["id"], "deadline": deadline})


class LeaseTimer:
    """Sweeps when the earliest lease runs out, so that a parked poll hears of it at once (R-056)."""

    def __init__(self, clock: Clock, loops: Loops, sweep_now: Callable[[], Awaitable[float | None]]) -> None:
        """`sweep_now` sweeps and returns the next deadline in monotonic seconds, if there is one."""
        self._clock = clock
        self._loops = loops
        self._sweep_now = sweep_now
        self._next: float | None = None
        self._sooner = asyncio.Event()

    def held_until(self, deadline: float) -> None:
        """Note a lease that was given or renewed."""
        if self._next is None or deadline < self._next:
            self._next = deadline
            self._sooner.set()

    async def run(self) -> None:
        """Sweep whenever a lease is due, until cancelled."""
        await self._sweep()
        while True:
            self._sooner.clear()
            if self._next is None:
                self._loops.say("leases", "No job is held.")
                await self._sooner.wait()
                continue
            left = self._next - self._clock.monotonic()
            self._loops.say("leases", "Waiting for the next lease to run out.")
            if left > 0 and await self._clock.wait(self._sooner, left + _ROUNDING_S):
                continue
            await self._sweep()

    async def _sweep(self) -> None:
        try:
            self._next = await self._sweep_now()
        except (BridgeError, sqlite3.Error) as error:
            # A full disk must not end the timer; whoever asks meanwhile is told so.
            _log.warning("The leases could not be looked at: %s", error)
            self._next = self._clock.monotonic() + _AGAIN_S
