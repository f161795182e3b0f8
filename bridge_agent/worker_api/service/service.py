"""The service: every use case of workers, whichever wire they speak."""

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any

from bridge_agent.base.clock import Clock, later, to_text
from bridge_agent.base.tasks import Tasks, cancel_and_wait
from bridge_agent.protocol.text import clean
from bridge_agent.settings import BridgeSettings
from bridge_agent.transcription.model import PartResult
from bridge_agent.transcription.pipeline import leases, tasks
from bridge_agent.transcription.pipeline.leases import Told, Wanted
from bridge_agent.transcription.pipeline.offer import Offer
from bridge_agent.transcription.pipeline.pipeline import Pipeline
from bridge_agent.transcription.pipeline.stragglers import straggler
from bridge_agent.transcription.pipeline.tasks import Claim, Phase, Task
from bridge_agent.worker_api.service import results
from bridge_agent.worker_api.service.executors import WorkerExecutors
from bridge_agent.worker_api.service.failing import Failing
from bridge_agent.worker_api.service.holds import Hold, Holds
from bridge_agent.worker_api.service.lease import (
    HOLDERS,
    DifferentResult,
    FallenTo,
    Lease,
    LeaseLost,
    PartFile,
    Terms,
    WorkerId,
    WorkerView,
)
from bridge_agent.worker_api.service.partial import Partial
from bridge_agent.worker_api.service.sweeping import Sweeping
from bridge_agent.worker_api.service.watching import Watching
from bridge_agent.worker_api.tokens import Tokens

_MOST_DEAD = 100
"""How many parts one claim may find dead before it answers that there is nothing."""

_log = logging.getLogger(__name__)


class WorkService:
    """Workers' claims of parts, from the claim to the result. What writes raises LeaseLost (law 1)."""

    def __init__(
        self,
        settings: BridgeSettings,
        clock: Clock,
        pipeline: Pipeline,
        tokens: Tokens,
        executors: WorkerExecutors,
        spawner: Tasks,
    ) -> None:
        """Prepare; `executors` are the ones that the pipeline was given for its workers."""
        self.tokens = tokens
        self.holds = Holds(clock)
        self._any_model = settings.worker_any_model
        self._clock = clock
        self._pipeline = pipeline
        self._desk = pipeline.desk
        self._tasks = spawner
        self._failing = Failing(clock, pipeline, tokens, self._wanted)
        self._watching = Watching(clock, pipeline, tokens, self.holds, self._failing.hindrance)
        longest_s = max(settings.worker_lease_seconds, settings.worker_stale_seconds)
        self._sweeping = Sweeping(clock, pipeline, self.holds, self._watching, longest_s)
        self._sweep: asyncio.Task[None] | None = None
        self._leaving: set[int] = set()
        executors.working = self.holds.works
        self.on_change: Callable[[], None] | None = None
        """Called when what `workers` answers may have changed."""

    async def start(self) -> None:
        """Know the parts that workers hold since before a restart, and watch over them."""
        self._desk.held = self.holds.alive
        self._desk.moved.append(self._moved)
        await self._sweeping.load()
        self._sweep = self._tasks.spawn(self._sweeping.go_on(self._changed), "sweep of leases")

    async def stop(self) -> None:
        """Watch no more; before the pipeline's store is closed."""
        if self._sweep is not None:
            await cancel_and_wait(self._sweep)

    # ---- claims

    async def claim(
        self,
        worker: WorkerId,
        terms: Terms,
        *,
        newest: bool = False,
        phase: Phase = "downloading",
        notes: Mapping[str, Any] | None = None,
    ) -> Lease | None:
        """Claim the next cut part for a worker, None where there is none for it (P-010).

        A caller that goes away meanwhile leaves no claim behind (law 3).
        """
        return await self._cancellable(self._claim(worker, terms, phase, newest, notes or {}))

    async def waiting_since(self, worker: WorkerId) -> str | None:
        """Return when the oldest book was asked for whose parts a worker may be given now."""
        wanted = self._wanted(worker, Terms(0.0), "downloading")
        return await self._desk.read(lambda c: leases.waiting_since(c, wanted))

    async def take_up(self, worker: WorkerId, terms: Terms, *, newest: bool = False) -> Lease | None:
        """Find a part again that a worker holds: one that is ready, or that it has been silent about."""
        wanted = self._wanted(worker, terms, "transcribing", newest=newest)
        for _ in range(_MOST_DEAD):
            lease = await self._leased(lambda c: leases.take_up(c, wanted), terms)
            if lease is None or lease.task.holder is not None:
                return lease
        return None

    async def held(self, worker: WorkerId, task_id: int) -> Lease | None:
        """Return a part that this very worker holds, alive or not; None where it holds none of that id."""

        def unit(c: sqlite3.Connection) -> tuple[Task, Told] | None:
            task = tasks.one(c, task_id)
            if task is None or task.holder != worker.holder:
                return None
            told = leases.told(c, task)
            return None if told is None else (task, told)

        found = await self._desk.read(unit)
        return None if found is None else self._lease(*found)

    async def task(self, task_id: int) -> Task | None:
        """Return a task, whoever holds it."""
        hold = self.holds.get(task_id)
        if hold is not None and self.holds.lives(hold.task.claim):
            # Whoever changes a task tells of it, so that what lives here is as the store has it.
            return hold.task
        return await self._desk.read(lambda c: tasks.one(c, task_id))

    async def told(self, task: Task) -> Told | None:
        """Return what is known of a task's latest claim by a worker."""
        return await self._desk.read(lambda c: leases.told(c, task))

    def lives(self, ref: Claim) -> bool:
        """Tell whether a claim's time is not over."""
        return self.holds.lives(ref)

    # ---- work

    async def renew(
        self,
        ref: Claim,
        terms: Terms,
        *,
        phase: Phase | None = None,
        was: Sequence[Phase] | None = None,
        notes: Mapping[str, Any] | None = None,
    ) -> Lease:
        """Take a sign of life; with `phase` the part goes on to there, with `was` only from one of these.

        Raises LeaseLost.
        """
        self._check(ref, terms)
        now = self._clock.now()
        ends = to_text(later(now, terms.seconds))
        lease = await self._leased(
            lambda c: leases.step(
                c, ref, ends, to_text(now), phase=phase, was=was, notes=notes, ready=phase == "ready"
            ),
            terms,
            quietly=True,
        )
        if lease is None:
            raise LeaseLost
        self._watching.goes_on(lease.task, anew=phase == "transcribing")
        return lease

    def prolong(self, ref: Claim, terms: Terms) -> None:
        """Let a claim live on though that can't be written down, since nobody else could claim it either.

        A restart knows nothing of it. Raises LeaseLost.
        """
        hold = self.holds.get(ref.id)
        if hold is None or not self.holds.lives(ref):
            raise LeaseLost
        self.holds.keep(hold.task, terms.seconds)

    async def progress(
        self, ref: Claim, terms: Terms, text: str, notes: Mapping[str, Any] | None = None
    ) -> Lease:
        """Take the words so far of a part that is being transcribed; raises LeaseLost."""
        lease = await self.renew(ref, terms, was=("transcribing",), notes=notes)
        self._watching.heard(lease.task, text)
        return lease

    async def input(self, task: Task, *, mine: bool) -> PartFile | None:
        """Return the audio of a part just read; None where there is none.

        What is lost is cut again if it is the caller's, since that ends its claim.
        """
        if task.sha256 is None or task.state != "converted":
            return None
        path = self._pipeline.audio(task.recording_id, task.number)
        if path.is_file():
            return PartFile(path, task.sha256, task.size or 0)
        if mine:
            _log.warning("The audio of part %d is gone; it is cut again.", task.number)
            await self._tasks.shielded(self._desk.uncut(task.claim, "its cut audio was gone"), "cut anew")
        return None

    async def complete(self, ref: Claim, terms: Terms, worker: WorkerId, heard: Partial) -> Task:
        """Take what came of a part; the same again for the same claim is answered as the first time.

        Raises LeaseLost, DifferentResult.
        """
        before = await self.task(ref.id)
        if before is not None and before.state == "done":
            return await self._handed_in_again(ref, before, heard)
        self._check(ref, terms)
        if before is None:
            raise LeaseLost
        result = await results.of_part(self._pipeline, before, worker, heard)
        return await self._tasks.shielded(self._hand_in(ref, worker, heard, result), "result")

    async def fail(
        self, ref: Claim, terms: Terms, worker: WorkerId, message: str, *, retryable: bool
    ) -> FallenTo:
        """Take a failure: the part is tried again after a pause (P-050), or not by this worker any more.

        Raises LeaseLost.
        """
        self._check(ref, terms)
        before = await self.task(ref.id)
        if before is None or before.claim != ref or before.state != "converted":
            raise LeaseLost
        failing = self._failing.fail(before, worker, clean(message, 500), retryable=retryable)
        return await self._tasks.shielded(failing, "failure")

    async def give_back(self, ref: Claim, worker: WorkerId | None = None, reason: str = "") -> None:
        """Take a part back that a worker gives up without the part's fault; raises LeaseLost.

        With a `reason` something keeps the worker from its work; without one it comes to an orderly end.
        """
        await self._tasks.shielded(self._give_back(ref, worker, clean(reason, 500).strip()), "give back")

    # ---- workers

    def workers(self) -> list[WorkerView]:
        """Return the workers that were invited, as people see them."""
        return self._watching.views()

    async def pause(self, token_id: int) -> bool:
        """Give a worker no more parts; what it has it may end. Tells whether there is such a worker."""
        found = await self.tokens.pause(token_id, paused=True)
        self._changed()
        return found is not None

    async def resume(self, token_id: int) -> bool:
        """Give a worker parts again that was paused or parked; tells whether there is such a worker."""
        await self.tokens.pause(token_id, paused=False)
        found = await self.tokens.park(token_id, None)
        self._failing.succeeded(token_id)
        self._changed()
        return found is not None

    async def revoke(self, token_id: int) -> bool:
        """Refuse a worker from its next call on; what it holds is free at once."""
        return await self._tasks.shielded(self._revoke(token_id), "revoke")

    # ---- inside

    async def _give_back(self, ref: Claim, worker: WorkerId | None, reason: str) -> None:
        if await self._desk.give_back(ref) is None:
            raise LeaseLost
        if worker is None:
            return
        if reason:
            await self._failing.gave_back(worker, reason)
        else:
            self._leaving.add(worker.token_id)
            self._see_off(worker.token_id)
        self._changed()

    def _see_off(self, token_id: int) -> None:
        """A worker that ends in order has gone with its last part; nobody need wait for its silence."""
        if token_id in self._leaving and not self.holds.works(token_id):
            self.tokens.left(token_id)

    async def _hand_in(self, ref: Claim, worker: WorkerId, heard: Partial, result: PartResult) -> Task:
        now = to_text(self._clock.now())
        done = await self._desk.write(
            lambda c: leases.hand_in(c, ref, result, worker.name, heard.digest, now)
        )
        if done is None:
            raise LeaseLost
        self.holds.drop(ref)
        self._watching.done(done, worker, words=heard.words)
        self._failing.succeeded(worker.token_id)
        self._see_off(worker.token_id)
        await self.tokens.describe(worker.token_id, None, result.engine.name, result.engine.device)
        self._changed()
        return done

    async def _revoke(self, token_id: int) -> bool:
        if await self.tokens.revoke(token_id) is None:
            return False
        await self._desk.give_back_all(f"{HOLDERS}{token_id}/")
        for hold in self.holds.all():
            if hold.token_id == token_id:
                self._let_go(hold)
        self._changed()
        return True

    async def _claim(
        self, worker: WorkerId, terms: Terms, phase: Phase, newest: bool, notes: Mapping[str, Any]
    ) -> Lease | None:
        self._leaving.discard(worker.token_id)
        member = self.tokens.get(worker.token_id)
        if member is None or not member.may_work:
            return None
        for _ in range(_MOST_DEAD):
            wanted = self._wanted(worker, terms, phase, newest=newest)
            if not wanted.recordings:
                return None
            lease = await self._leased(partial(leases.lease, wanted=wanted, notes=notes), terms)
            if lease is None:
                lease = await self._from_straggler(worker, wanted, notes, terms)
            if lease is None or lease.task.holder is not None:
                if lease is not None:
                    self._failing.claimed(worker.token_id)
                    self._watching.began(lease.task)
                    self._changed()
                return lease
        return None

    async def _from_straggler(
        self, worker: WorkerId, wanted: Wanted, notes: Mapping[str, Any], terms: Terms
    ) -> Lease | None:
        for recording_id in wanted.recordings:
            offer = self._pipeline.offers.get(recording_id)
            number = None if offer is None else straggler(offer.live, worker.name, self._clock.monotonic())
            if number is None:
                continue
            slow = await self._desk.read(partial(tasks.numbered, recording_id=recording_id, number=number))
            if slow is None or slow.holder is None or slow.state != "converted":
                continue
            take_over = partial(leases.take_over, straggler=slow.claim, wanted=wanted, notes=notes)
            lease = await self._leased(take_over, terms)
            if lease is not None:
                _log.info("“%s” does part %d anew, sooner than its holder.", worker.name, slow.number)
                return lease
        return None

    def _wanted(self, worker: WorkerId, terms: Terms, phase: Phase, *, newest: bool = False) -> Wanted:
        now = self._clock.now()
        return Wanted(
            recordings=[id_ for id_, offer in self._pipeline.offers.items() if self._suits(worker, offer)],
            holder=worker.holder,
            phase=phase,
            now=to_text(now),
            ends=to_text(later(now, terms.seconds)),
            most_tries=self._desk.retries.most_tries,
            held=self.holds.alive(),
            newest=newest,
            refuser=self._failing.refuser(worker.token_id),
        )

    def _suits(self, worker: WorkerId, offer: Offer) -> bool:
        return self._any_model or worker.model == offer.model

    async def _leased(
        self, unit: Callable[[sqlite3.Connection], Task | None], terms: Terms, *, quietly: bool = False
    ) -> Lease | None:
        """Run a unit that claims or renews, and keep its hold; a dead task comes without one."""
        found: list[Told | None] = []

        def whole(c: sqlite3.Connection) -> Task | None:
            task = unit(c)
            found.append(None if task is None else leases.told(c, task))
            return task

        task = await (self._desk.quietly if quietly else self._desk.write)(whole)
        if task is None:
            return None
        if task.holder is not None:
            self.holds.keep(task, terms.seconds)
            self._sweeping.news()
        told = found[-1] or Told(task_id=task.id, attempt=task.attempt, holder="", notes={}, beat_at="")
        return self._lease(task, told)

    def _lease(self, task: Task, told: Told) -> Lease:
        offer = self._pipeline.offers.get(task.recording_id)
        return Lease(task, told, None if offer is None else offer.plan.settings.language)

    def _check(self, ref: Claim, terms: Terms) -> None:
        if terms.strict and not self.holds.lives(ref):
            raise LeaseLost

    def _moved(self, task: Task) -> None:
        """Let go of a part that is not its holder's any more; who did one to its end tells of that itself.

        Word of a change may come late: whoever has claimed the part since then keeps it.
        """
        hold = self.holds.get(task.id)
        if hold is None or task.state == "done" or hold.task.attempt > task.attempt:
            return
        if hold.task.claim != task.claim:
            self._let_go(hold)

    def _let_go(self, hold: Hold) -> None:
        if self.holds.drop(hold.task.claim):
            self._watching.let_go(hold.task)
            self._changed()

    async def _handed_in_again(self, ref: Claim, task: Task, heard: Partial) -> Task:
        told = await self.told(task)
        if told is None or (told.attempt, told.holder) != (ref.attempt, ref.holder):
            raise LeaseLost
        if told.digest != heard.digest:
            raise DifferentResult
        return task

    async def _cancellable(self, claiming: Coroutine[Any, Any, Lease | None]) -> Lease | None:
        work: asyncio.Task[Lease | None] = self._tasks.spawn(claiming, "claim", awaited=True)
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            await self._tasks.shielded(self._returned(work), "give back")
            raise

    async def _returned(self, work: "asyncio.Task[Lease | None]") -> None:
        await asyncio.wait({work})
        if work.cancelled() or work.exception() is not None:
            return
        lease = work.result()
        if lease is not None and lease.task.holder is not None:
            await self._desk.give_back(lease.ref)

    def _changed(self) -> None:
        if self.on_change is not None:
            self.on_change()
