"""Failing: what becomes of a part that a worker failed at, and of workers that do no part any more."""

import logging
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

from bridge_agent.base.clock import Clock, later, to_text
from bridge_agent.base.threads import in_thread
from bridge_agent.transcription.pipeline import leases, tasks
from bridge_agent.transcription.pipeline.leases import Wanted
from bridge_agent.transcription.pipeline.local import checksum
from bridge_agent.transcription.pipeline.pipeline import Pipeline
from bridge_agent.transcription.pipeline.tasks import Task
from bridge_agent.worker_api.service.lease import FallenTo, LeaseLost, Terms, WorkerId
from bridge_agent.worker_api.tokens import Tokens

_IN_A_ROW = 3
"""A worker that fails at so many different parts, with none done between them, is parked."""
_HINDERED_S = 60.0
"""One that gives so many back is parked only when that goes on for so long: an engine may be starting."""

_log = logging.getLogger(__name__)


@dataclass
class _Hindrance:
    """What keeps a worker from its work, since when, and how often it has claimed and given back since."""

    since: float
    reason: str = ""
    times: int = 0
    claimed: bool = True


class Failing:
    """Failures of workers. `wanted` makes the wish of a worker's claim, as of now."""

    def __init__(
        self,
        clock: Clock,
        pipeline: Pipeline,
        tokens: Tokens,
        wanted: Callable[[WorkerId, Terms, tasks.Phase], Wanted],
    ) -> None:
        self._clock = clock
        self._pipeline = pipeline
        self._desk = pipeline.desk
        self._tokens = tokens
        self._wanted = wanted
        self._in_a_row: dict[int, list[int]] = {}
        self._refusers: set[int] = set()
        self._hindered: dict[int, _Hindrance] = {}

    def succeeded(self, token_id: int) -> None:
        """A worker has done a part, or a person has looked at it: it begins anew."""
        self._in_a_row.pop(token_id, None)
        self._hindered.pop(token_id, None)

    def claimed(self, token_id: int) -> None:
        """A worker has claimed a part, so that giving it back is news."""
        if (known := self._hindered.get(token_id)) is not None:
            known.claimed = True

    def hindrance(self, token_id: int) -> str:
        """Say what keeps a worker from its work, as it said itself; empty where nothing does."""
        known = self._hindered.get(token_id)
        return "" if known is None else f"it gives its parts back and says “{known.reason}”"

    async def gave_back(self, worker: WorkerId, reason: str) -> None:
        """A worker has given a part back since something keeps it from its work."""
        now = self._clock.monotonic()
        known = self._hindered.setdefault(worker.token_id, _Hindrance(now))
        if known.reason != reason:
            _log.warning("The worker “%s” gives its parts back: %s", worker.name, reason)
        known.reason = reason
        if not known.claimed:
            # All that it held comes back at once, for one and the same reason.
            return
        known.claimed, known.times = False, known.times + 1
        if known.times >= _IN_A_ROW and now - known.since >= _HINDERED_S:
            await self._park(worker, f"it gave parts back {known.times} times in a row", reason)

    def others(self, token_id: int) -> set[int | None]:
        """Return who else could do a part now: tokens, and None for executors of another kind."""
        there: set[int | None] = {
            member.id
            for member in self._tokens.members()
            if member.id != token_id and member.may_work and self._tokens.there(member.id)
        }
        if any(not each.pulls and each.places for each in self._pipeline.executors):
            there.add(None)
        return there

    def refuser(self, token_id: int) -> int | None:
        """Return the token whose refusals count when it claims: none where nobody else could do the parts.

        Those from before a restart are asked about anew.
        """
        return token_id if token_id in self._refusers and self.others(token_id) else None

    async def fail(self, task: Task, worker: WorkerId, message: str, *, retryable: bool) -> FallenTo:
        """Write a failure down; raises LeaseLost.

        A verdict of one worker is final where nobody else is there, or where the order wants it so; otherwise
        the part is left to the others: a worker that is set up wrongly says so of every part.
        """
        error = f"the worker “{worker.name}” said: {message}" if message else f"“{worker.name}” failed at it"
        self._desk.work["transcribe", "failure"] += 1
        _log.warning("Part %d of recording %d: %s", task.number, task.recording_id, error)
        path = self._pipeline.audio(task.recording_id, task.number)
        if await in_thread(checksum, path) != task.sha256:
            # No worker's fault: its cut audio is not what was cut.
            if await self._desk.uncut(task.claim, error) is None:
                raise LeaseLost
            return "again"
        if retryable or await self._left_to_others(task, worker):
            moved = await self._again(task, worker, error, refused=not retryable)
        else:
            moved = await self._desk.fail(task.claim, error)
        if moved is None:
            raise LeaseLost
        await self._count(task, worker, message)
        if moved.state != "failed" and task.tries >= self._desk.retries.most_tries:
            wanted = self._wanted(worker, Terms(0.0), "downloading")
            await self._desk.write(lambda c: leases.bury(c, task.id, wanted))
            return "failed"
        return "again" if retryable else "failed"

    async def _left_to_others(self, task: Task, worker: WorkerId) -> bool:
        offer = self._pipeline.offers.get(task.recording_id)
        if offer is not None and offer.final_verdicts:
            return False
        refusers = await self._desk.read(lambda c: leases.refusers(c, task.id))
        return any(each not in refusers for each in self.others(worker.token_id))

    async def _again(self, task: Task, worker: WorkerId, error: str, *, refused: bool) -> Task | None:
        now = self._clock.now()
        retries = self._desk.retries
        # The last try is over: whoever claims it next makes it dead, and nobody need wait for that.
        pause = 0.0 if refused or task.tries >= retries.most_tries else retries.pause(task.tries)
        following = to_text(later(now, pause))
        if refused:
            self._refusers.add(worker.token_id)

        def unit(c: sqlite3.Connection) -> Task | None:
            if refused:
                leases.refuse(c, task.claim, worker.token_id)
            return tasks.again(c, task.claim, error, following, to_text(now))

        return await self._desk.write(unit)

    async def _count(self, task: Task, worker: WorkerId, message: str) -> None:
        parts = self._in_a_row.setdefault(worker.token_id, [])
        if task.id not in parts:
            parts.append(task.id)
        if len(parts) < _IN_A_ROW:
            return
        await self._park(worker, f"it failed at {len(parts)} parts in a row", message)

    async def _park(self, worker: WorkerId, reason: str, message: str) -> None:
        said = f", the last time with “{message}”" if message else ""
        await self._tokens.park(worker.token_id, f"{reason}{said}; mend that, then resume it.")
        _log.warning("The worker “%s” is parked: %s%s.", worker.name, reason, said)
