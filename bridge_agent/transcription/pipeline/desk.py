"""The desk: where every executor, here or elsewhere, claims parts and hands in what came of them."""

import sqlite3
from collections import Counter
from collections.abc import Callable, Collection
from typing import TypeVar

from bridge_agent.base.clock import Clock, later, to_text
from bridge_agent.store import Database
from bridge_agent.store.database import StoreFull
from bridge_agent.transcription.model import PartResult
from bridge_agent.transcription.pipeline import finished, recordings, tasks
from bridge_agent.transcription.pipeline.policy import Retries, Step
from bridge_agent.transcription.pipeline.signs import Poll
from bridge_agent.transcription.pipeline.tasks import Asked, Claim, Open, State, Task

LOCAL = "local/"
"""What the names of holders on this machine begin with."""

Moved = Callable[[Task], None]
T = TypeVar("T")


class Desk:
    """Tasks as those see them who work on them. What writes returns None where the claim is lost (P-020)."""

    def __init__(self, db: Database, clock: Clock, retries: Retries) -> None:
        self._db = db
        self._clock = clock
        self.retries = retries
        self.work: Counter[tuple[str, str]] = Counter()
        """How many runs of each step ended in `success` or `failure` (P-006, P-007)."""
        self._unsettled: dict[Claim, tuple[PartResult, str] | None] = {}
        self.moved: list[Moved] = []
        """Called with a task after each change of it."""
        self.held: Callable[[], Collection[int]] = tuple
        """Which parts are held elsewhere by the monotonic clock, whatever the wall clock says (law 5)."""

    async def poll(
        self, poll: Poll, step: Step, holder: str, among: Collection[int], straggler: Claim | None = None
    ) -> Task:
        """Claim the next part for a step; one that comes back `dead` is not to be worked on (P-042).

        Where there is none, a straggler's claim is ended in the same transaction, its try not counted, and
        its part claimed anew. Raises the poll's NoWork.
        """
        now = self._clock.now()
        asked = Asked(
            state=step.takes,
            recordings=among,
            holder=holder,
            phase=step.phase,
            now=to_text(now),
            ends=to_text(later(now, step.limit_s)),
            most_tries=self.retries.most_tries,
            held=self.held(),
        )
        held = [id_ for id_ in asked.held if straggler is None or id_ != straggler.id]

        def unit(c: sqlite3.Connection) -> Task | None:
            found = tasks.claim(c, asked)
            if found is not None or straggler is None:
                return found
            return tasks.take_over(c, straggler, asked.now, lambda: tasks.claim(c, asked._replace(held=held)))

        task = await self._db.write(unit)
        if task is None:
            raise poll.nothing()
        return self._told(task)

    async def write(self, unit: Callable[[sqlite3.Connection], Task | None]) -> Task | None:
        """Run a unit over the tasks, and tell of the one that it changed."""
        return self._maybe(await self._db.write(unit))

    async def write_all(self, unit: Callable[[sqlite3.Connection], list[Task] | None]) -> None:
        """Run a unit over the tasks, and tell of all that it changed."""
        for task in await self._db.write(unit) or ():
            self._told(task)

    async def quietly(self, unit: Callable[[sqlite3.Connection], Task | None]) -> Task | None:
        """Run a unit that changes nothing for others, a sign of life say: nobody is told."""
        return await self._db.write(unit)

    async def read(self, unit: Callable[[sqlite3.Connection], T]) -> T:
        """Run a unit that only reads; nothing may be handed out by what it finds."""
        return await self._db.read(unit)

    async def converted(self, claim: Claim, sha256: str, size: int) -> Task | None:
        """Hand in cut audio."""
        now = self._now()
        return self._maybe(await self._db.write(lambda c: tasks.converted(c, claim, sha256, size, now)))

    async def heard(self, claim: Claim, result: PartResult, made_by: str) -> Task | None:
        """Hand in a part's words, kept in the same transaction that makes it done.

        Where the store is full they are kept here until it is not, for `settle` to write them (law 4).
        """
        now = self._now()

        def unit(c: sqlite3.Connection) -> Task | None:
            done = tasks.heard(c, claim, now)
            if done is not None:
                finished.keep(c, done.part_key, result, made_by, now)
            return done

        try:
            return self._maybe(await self._db.write(unit))
        except StoreFull:
            self._unsettled[claim] = (result, made_by)
            raise

    async def uncut(self, claim: Claim, error: str) -> Task | None:
        """Hand a part back whose cut audio is not what it was."""
        now = self._now()
        return self._maybe(await self._db.write(lambda c: tasks.uncut(c, claim, error, now)))

    async def again(self, task: Task, error: str) -> Task | None:
        """Say that a try failed: it is tried again after a pause that grows (P-050)."""
        now = self._clock.now()
        following = to_text(later(now, self.retries.pause(task.tries)))
        return self._maybe(
            await self._db.write(lambda c: tasks.again(c, task.claim, error, following, to_text(now)))
        )

    async def wait(self, claim: Claim, seconds: float) -> Task | None:
        """Say that something foreign is waited for, for a constant time of the step's own (P-051)."""
        now = self._clock.now()
        following = to_text(later(now, seconds))
        return self._maybe(await self._db.write(lambda c: tasks.wait(c, claim, following, to_text(now))))

    async def fail(self, claim: Claim, error: str) -> Task | None:
        """Say for good that a part can't be done (P-045)."""
        now = self._now()
        return self._maybe(await self._db.write(lambda c: tasks.fail(c, claim, error, now)))

    async def give_back(self, claim: Claim) -> Task | None:
        """Give a claim back that came to nothing without anybody's fault."""
        now = self._now()
        return self._maybe(await self._db.write(lambda c: tasks.give_back(c, claim, now)))

    async def let_go(self, claim: Claim) -> None:
        """Give a claim back; where the store is full, as soon as there is room."""
        try:
            await self.give_back(claim)
        except StoreFull:
            self.leave(claim)

    def leave(self, claim: Claim) -> None:
        """Leave a claim to `settle`, since the store has no room for its end."""
        self._unsettled.setdefault(claim, None)

    async def settle(self) -> None:
        """End the claims whose end the store had no room for, with their words if they came to any.

        Raises StoreFull while there is none.
        """
        for claim, words in list(self._unsettled.items()):
            await (self.give_back(claim) if words is None else self.heard(claim, *words))
            self._unsettled.pop(claim, None)

    async def give_back_all(self, prefix: str = LOCAL) -> int:
        """Give back what holders whose names begin so held; return how much it was."""
        now = self._now()
        return len(await self._db.write(lambda c: tasks.give_back_all(c, prefix + "*", now)))

    async def in_state(self, state: State) -> list[Task]:
        """Return the parts in a state, `dead` say (P-043)."""
        return await self._db.read(lambda c: tasks.in_state(c, state))

    async def set_back(self, task_id: int, state: Open | None = None) -> Task | None:
        """Let a dead or failed part go on from where it fell, with a fresh count (P-043)."""
        now = self._now()
        return self._maybe(await self._db.write(lambda c: recordings.set_back(c, task_id, state, now)))

    def _now(self) -> str:
        return to_text(self._clock.now())

    def _maybe(self, task: Task | None) -> Task | None:
        return None if task is None else self._told(task)

    def _told(self, task: Task) -> Task:
        for hear in list(self.moved):
            hear(task)
        return task
