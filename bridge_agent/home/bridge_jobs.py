"""The server's jobs: queued by an admin, claimed by the Bridge, reported on until they end."""

import json
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

from bridge_agent.base.clock import Clock
from bridge_agent.base.loops import Loops
from bridge_agent.base.tasks import Tasks
from bridge_agent.home import bridge_status, claims, credentials, leases
from bridge_agent.home.errors import Conflict, HomeError, NotFound
from bridge_agent.home.job import Job, Json
from bridge_agent.home.kinds import InvalidParams, Kinds
from bridge_agent.home.moment import Moment
from bridge_agent.home.reports import Taken
from bridge_agent.home.waits import Ask, Outcome, Waits
from bridge_agent.protocol.bridge import Book, ReportAnswer
from bridge_agent.protocol.states import OPEN, JobState
from bridge_agent.settings import HomeSettings
from bridge_agent.store import Database, Queries

T = TypeVar("T")
Jobs = list[Job]
Asks = list[Ask]
Outcomes = list[Outcome]

_SQL = Queries(__package__, "bridge_jobs.sql")
_LAST_ID = (1 << 63) - 1
MOST_LISTED = 200
MOST_PRIORITY = 100


class KindUnavailable(Conflict):
    """The paired Bridge does not run this kind of job; pair one that does, or update it."""

    code = "kind_unavailable"


class NoSuchJob(NotFound):
    """There is no job with this id; load the list again."""


class NoSuchLibrary(NotFound):
    """There is no library with this id; load the list again."""


class NoSuchBook(NotFound):
    """The library has no book at this path; scan it again, or choose a book from its list."""


class Finished(Conflict):
    """The job has ended already; there is nothing to cancel."""

    code = "finished"


class TokenRevoked(HomeError):
    """The token was revoked; pair the Bridge again."""

    code = "unauthorized"
    status = 401


class NotHeld(Conflict):
    """This claim does not hold the job; drop it and go on with the next."""

    code = "not_held"

    def __init__(self, state: str | None) -> None:
        """Hold the job's present state, where the job exists, so that the Bridge can say why."""
        super().__init__()
        self.extra = None if state is None else {"state": state}


class Books(Protocol):
    """What the jobs ask of the library index."""

    def get(self, library_id: int) -> object | None:
        """Return a library, or None."""
        ...

    async def has_book(self, library_id: int, path: str) -> bool:
        """Tell whether a path is an indexed book's."""
        ...

    async def sample_book(self, library_id: int) -> Book | None:
        """Return the library's sample book, or None."""
        ...


class Page(NamedTuple):
    """Jobs, newest first, and the id to ask on from."""

    jobs: Jobs
    next_before: int | None


@dataclass(frozen=True)
class _Done:
    """What a unit changed: the jobs that lapsed on the way, and the one that was meant."""

    swept: Jobs
    job: Job | None = None
    refused: HomeError | None = None


class BridgeJobs:
    """The jobs. Leases are looked at whenever a job is claimed, reported on, cancelled or read (R-070)."""

    def __init__(
        self,
        settings: HomeSettings,
        clock: Clock,
        db: Database,
        tasks: Tasks,
        loops: Loops,
        books: Books,
        known_kinds: Kinds,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._db = db
        self._books = books
        self.known_kinds = known_kinds
        self._advertised: set[str] = set()
        self.waits = Waits(clock, tasks, self._serve, self.give_back)
        self.timer = leases.LeaseTimer(clock, loops, self._sweep_now)
        self.on_change: Callable[[Job], None] = lambda job: None
        """Called with each job that was changed, after the change is durable."""

    async def queue(
        self,
        kind: str,
        library_id: int,
        path: str | None = None,
        params: Json | None = None,
        priority: int = 0,
    ) -> tuple[Job, bool]:
        """Queue a job, or find the open one; tell whether it is new (R-051).

        Raises KindUnavailable, InvalidParams, NoSuchLibrary, NoSuchBook. The Bridge may be offline (R-093).
        """
        await self._check_kind(kind)
        judged = self.known_kinds[kind](params or {})
        if not -MOST_PRIORITY <= priority <= MOST_PRIORITY:
            raise InvalidParams(f"A priority lies between -{MOST_PRIORITY} and {MOST_PRIORITY}; choose one.")
        values = {
            "kind": kind,
            "library_id": library_id,
            "path": await self._book(library_id, path),
            "params": json.dumps(judged),
            "priority": priority,
        }
        moment = Moment.of(self._clock)
        # Told before the write, and not again after it: the round of polls stands right behind it in the
        # store's row, both are committed together, and a parked poll has its job one sync earlier.
        self.waits.news()
        done, created = await self._db.write(lambda c: self._queue_unit(c, values, moment))
        if done.refused is not None:
            self._advertised.discard(kind)
        job = self._finish(done, told=True)
        if self._books.get(library_id) is None:
            # The library was removed between the look and the write; its jobs go with it.
            await self.delete_library(library_id)
            raise NoSuchLibrary
        return job, created

    async def list(
        self,
        *,
        state: str | None = None,
        kind: str | None = None,
        library_id: int | None = None,
        before: int | None = None,
        limit: int = MOST_LISTED,
    ) -> Page:
        """Return jobs, newest first, from below the id `before`.

        `state` is one state, or “open” for all that are.
        """
        await self.sweep_if_due()
        values: Json = {
            "kind": kind,
            "library_id": library_id,
            "before": _LAST_ID if before is None else before,
            "limit": limit + 1,
        }
        jobs = await self._db.read(lambda c: _listed(c, state, values))
        page = jobs[:limit]
        return Page(page, page[-1].id if len(jobs) > limit else None)

    async def get(self, job_id: int) -> Job:
        """Return one job; raises NoSuchJob."""
        await self.sweep_if_due()
        job = await self._db.read(lambda c: _get(c, job_id))
        if job is None:
            raise NoSuchJob
        return job

    async def cancel(self, job_id: int) -> Job:
        """End a job that nobody works on, or ask its holder to stop; raises NoSuchJob, Finished."""
        moment = Moment.of(self._clock)

        def unit(connection: sqlite3.Connection) -> _Done:
            swept = self._sweep(connection, moment)
            row = connection.execute(_SQL["cancel"], {"id": job_id, "now": moment.text}).fetchone()
            if row is not None:
                return _Done(swept, Job.of(row))
            return _Done(swept, refused=NoSuchJob() if _get(connection, job_id) is None else Finished())

        return self._finish(await self._db.write(unit))

    async def next(self, ask: Ask, wait_s: float, alive: Callable[[], bool]) -> Outcome:
        """Claim a job, waiting up to `wait_s` seconds for one (R-053…R-060)."""
        return await self.waits.next(ask, wait_s, alive)

    async def give_back(self, job: Job) -> None:
        """Queue a claim that reached nobody again; it does not count toward the attempts (law 3)."""
        moment = Moment.of(self._clock)
        returned = await self._db.write(lambda c: claims.give_back(c, job, moment))
        if returned is not None:
            self._changed([returned])

    async def report(self, token_hash: str, job_id: int, report: Taken) -> ReportAnswer:
        """Take a report from the claim that holds the job; raises NotHeld, TokenRevoked (R-064)."""
        moment = Moment.of(self._clock)
        lease = self._settings.lease_seconds

        def unit(connection: sqlite3.Connection) -> _Done:
            if not credentials.bridge_token_works(connection, token_hash, moment.text):
                return _Done([], refused=TokenRevoked())
            swept = self._sweep(connection, moment)
            values = {
                **report.values(),
                "id": job_id,
                "now": moment.text,
                "expires_at": moment.text_after(lease),
                "deadline": moment.seconds + lease,
            }
            row = connection.execute(_SQL["report"], values).fetchone()
            if row is None:
                present = _get(connection, job_id)
                return _Done(swept, refused=NotHeld(None if present is None else present.state.value))
            return _Done(swept, Job.of(row))

        job = self._finish(await self._db.write(unit))
        return ReportAnswer(
            id=job.id,
            state=job.state.value,
            attempt=job.attempts,
            cancel_requested=job.cancel_requested,
            lease_expires_at=job.lease_expires_at,
            lease_seconds=lease,
        )

    async def in_swept_unit(self, moment: Moment, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run a unit that touches jobs, after the leases were looked at in the same transaction (R-070)."""

        def unit(connection: sqlite3.Connection) -> tuple[Jobs, T]:
            return self._sweep(connection, moment), work(connection)

        swept, result = await self._db.write(unit)
        self._changed(swept)
        return result

    async def sweep_if_due(self) -> None:
        """Sweep where a lease has run out, so that nobody reads a job as held that is not (R-070)."""
        moment = Moment.of(self._clock)
        next_one = await self._db.read(leases.earliest)
        if next_one is not None and next_one <= moment.due:
            await self._sweep_now()

    async def book_moved(self, library_id: int, old: str, new: str) -> None:
        """Let the jobs of a book follow it to its new path; harmless when repeated (R-049)."""
        values = {
            "library_id": library_id,
            "old": old,
            "new": new,
            "now": Moment.of(self._clock).text,
            "why": "The book moved to where the same job was already open; that one goes on.",
        }

        def unit(connection: sqlite3.Connection) -> Jobs:
            rows = connection.execute(_SQL["follow_move"], values).fetchall()
            rows += connection.execute(_SQL["end_left_behind"], values).fetchall()
            return [Job.of(row) for row in rows]

        for job in await self._db.write(unit):
            self.on_change(job)

    async def delete_library(self, library_id: int) -> tuple[int, ...]:
        """Delete the jobs of a library; return their ids (R-049)."""
        rows = await self._db.write(lambda c: c.execute(_SQL["delete_library"], (library_id,)).fetchall())
        return tuple(row["id"] for row in rows)

    async def libraries(self) -> set[int]:
        """Return the ids of all libraries that jobs belong to."""
        rows = await self._db.read(lambda c: c.execute(_SQL["libraries"]).fetchall())
        return {row["library_id"] for row in rows}

    async def _check_kind(self, kind: str) -> None:
        """Raise KindUnavailable unless server and Bridge both know the kind (R-092)."""
        if kind not in self.known_kinds:
            raise KindUnavailable(
                "This server does not know this kind of job; check its name, or update the server."
            )
        # What was advertised a moment ago is asked again only inside the unit that queues.
        if kind in self._advertised:
            return
        if kind not in (await self._db.read(bridge_status.advertised) or ()):
            raise KindUnavailable
        self._advertised.add(kind)

    async def _book(self, library_id: int, path: str | None) -> str:
        """Return the path of the book meant, the sample book's where none is named (R-097)."""
        if self._books.get(library_id) is None:
            raise NoSuchLibrary
        if path is None:
            sample = await self._books.sample_book(library_id)
            if sample is None:
                raise NoSuchBook("The library has no whole book yet; scan it, then try again.")
            return sample.path
        if not await self._books.has_book(library_id, path):
            raise NoSuchBook
        return path

    def _queue_unit(self, connection: sqlite3.Connection, values: Json, moment: Moment) -> tuple[_Done, bool]:
        swept = self._sweep(connection, moment)
        if values["kind"] not in (bridge_status.advertised(connection) or ()):
            return _Done(swept, refused=KindUnavailable()), False
        row = connection.execute(_SQL["insert"], {**values, "now": moment.text}).fetchone()
        if row is not None:
            return _Done(swept, Job.of(row)), True
        return _Done(swept, Job.of(connection.execute(_SQL["open_one"], values).fetchone())), False

    async def _serve(self, asks: Asks) -> Outcomes:
        """Serve a round of polls in one unit."""
        moment = Moment.of(self._clock)
        lease = self._settings.lease_seconds

        def unit(connection: sqlite3.Connection) -> tuple[Jobs, Outcomes]:
            swept = self._sweep(connection, moment)
            kinds = frozenset(self.known_kinds)
            return swept, claims.Claims(connection, moment, lease, kinds).serve(asks)

        swept, outcomes = await self._db.write(unit)
        self._changed(swept)
        self._changed([job for job in outcomes if isinstance(job, Job)])
        return outcomes

    async def _sweep_now(self) -> float | None:
        moment = Moment.of(self._clock)

        def unit(connection: sqlite3.Connection) -> tuple[Jobs, float | None]:
            return self._sweep(connection, moment), leases.earliest(connection)

        swept, next_one = await self._db.write(unit)
        self._changed(swept)
        return next_one

    def _sweep(self, connection: sqlite3.Connection, moment: Moment) -> Jobs:
        return leases.sweep(connection, moment, self._settings.max_attempts)

    def _finish(self, done: _Done, *, told: bool = False) -> Job:
        """Tell of what changed; return the job that was meant or raise why there is none.

        `told`: the polls know of the job already.
        """
        self._changed(done.swept)
        if done.refused is not None:
            raise done.refused
        assert done.job is not None
        self._changed([done.job], told=told)
        return done.job

    def _changed(self, jobs: Jobs, *, told: bool = False) -> None:
        for job in jobs:
            self.on_change(job)
            if job.held:
                self.timer.held_until(self._clock.monotonic() + self._settings.lease_seconds)
        if not told and any(job.state is JobState.QUEUED for job in jobs):
            self.waits.news()


def _get(connection: sqlite3.Connection, job_id: int) -> Job | None:
    row = connection.execute(_SQL["get"], (job_id,)).fetchone()
    return None if row is None else Job.of(row)


def _listed(connection: sqlite3.Connection, state: str | None, values: dict[str, object]) -> list[Job]:
    if state is None:
        return [Job.of(row) for row in connection.execute(_SQL["newest"], values).fetchall()]
    states = sorted(OPEN) if state == "open" else [state]
    found: list[Job] = []
    for one in states:
        rows = connection.execute(_SQL["newest_in_state"], {**values, "state": one}).fetchall()
        found += [Job.of(row) for row in rows]
    found.sort(key=lambda job: job.id, reverse=True)
    most = values["limit"]
    assert isinstance(most, int)
    return found[:most]
