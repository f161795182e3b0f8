"""The worker: claims parts as long as it may, runs each on its way, and comes to its end in order."""

import asyncio
import logging
from collections import Counter
from dataclasses import dataclass, field
from enum import Enum

from bridge_agent.base.backoff import full_jitter
from bridge_agent.base.errors import ExitCode
from bridge_agent.base.hours import DAY_MINUTES, Hours
from bridge_agent.base.tasks import Tasks, cancel_and_wait
from bridge_agent.worker import leftover
from bridge_agent.worker.appetite import AHEAD_S, wants_more
from bridge_agent.worker.claim import SLICE_S
from bridge_agent.worker.coordinator import Claimed
from bridge_agent.worker.errors import BridgeAway, NotTaken, TokenRefused, WorkerUnknown, WrongCertificate
from bridge_agent.worker.hold import Ending, Hold, Stage, Tools
from bridge_agent.worker.identity import Identity
from bridge_agent.worker.idle import Idle
from bridge_agent.worker.shelf import Kept

_LONGEST_PAUSE_S = 60.0
_AWAY_S = 30.0
"""After so long without an answer a worker that would end anyway ends (`--idle-exit`, `--once`)."""
_GIVE_BACK_S = 4.0
_LAST_DELIVERY_S = 20.0
_JUMP_S = 5.0
_FIRST_UNFIT_S = 5.0
_LONGEST_UNFIT_S = 300.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Mode:
    """When it works and when it ends: after one part, when there is no work, or never by itself."""

    hours: Hours = field(default_factory=Hours)
    poll_s: float = 2.0
    once: bool = False
    idle_exit: bool = False


class Why(Enum):
    """Why no more parts are claimed."""

    ASKED = "asked"
    ENOUGH = "enough"
    NO_WORK = "no work"
    AWAY = "away"
    CLOSED = "closed"


class Worker:
    """One worker of one Bridge."""

    def __init__(self, tools: Tools, identity: Identity, mode: Mode) -> None:
        self._tools = tools
        self._clock = tools.clock
        self._identity = identity
        self._mode = mode
        self._tasks = Tasks("worker")
        self._holds: dict[Hold, asyncio.Task[Ending]] = {}
        self._endings: Counter[Ending] = Counter()
        self._draining = asyncio.Event()
        self._giving_up = asyncio.Event()
        self._bad_in_a_row = 0
        self._not_before = 0.0
        self._welcomed = False
        self._greeted = False
        self._leftovers: list[asyncio.Task[bool]] = []
        self._warned = ""
        self._closed_said = False

    @property
    def refused(self) -> bool:
        """Whether the Bridge refuses this worker, so that nothing can be handed in."""
        return self._tools.coordinator.refused

    @property
    def at_work(self) -> bool:
        """Whether there is something that is handed in before an end."""
        begun = any(hold.stage in (Stage.HEARING, Stage.FINISHED) for hold in self._holds)
        return begun or not all(task.done() for task in self._leftovers)

    def drain(self) -> None:
        """Claim nothing more, give back what is not begun, end when the rest is handed in."""
        self._draining.set()
        self._tools.changed.set()
        self._give_back_unbegun()

    def give_up(self) -> None:
        """End now: what is being heard is given back, what is finished stays for the next start."""
        self._draining.set()
        self._giving_up.set()
        self._tools.changed.set()

    async def run(self) -> ExitCode:
        """Work until there is a reason to end; tell how it ended.

        Raises TokenRefused, WrongCertificate where that is found out before anything else.
        """
        waking = self._tasks.spawn(self._watch_sleep(), "watch over sleep")
        self._leftovers = [
            self._tasks.spawn(self._hand_in(kept), "leftover")
            for kept in self._tools.shelf
            if not kept.lost and kept.url == self._tools.coordinator.url
        ]
        claiming = self._tasks.spawn(self._claim_parts(), "claiming", awaited=True)
        asked = self._tasks.spawn(self._draining.wait(), "signal")
        try:
            await asyncio.wait({claiming, asked}, return_when=asyncio.FIRST_COMPLETED)
            why = claiming.result() if claiming.done() else Why.ASKED
            await self._last_ones()
        finally:
            # A claim that is on its way comes home first, and is given back; a refused worker has none.
            self._draining.set()
            await asyncio.wait({claiming}, timeout=0.0 if self.refused else _GIVE_BACK_S)
            await self._end_holds()
            await cancel_and_wait(waking, claiming, asked, *self._leftovers)
            await self._tasks.cancel()
        if self.refused and why is not Why.ASKED:
            raise TokenRefused
        self._say(why)
        return self._verdict(why)

    # ---- claiming

    async def _claim_parts(self) -> Why:
        idle = Idle(self._clock)
        while not self._draining.is_set():
            self._tools.changed.clear()
            if not self._in_hours():
                if not self._welcomed and not self._greeted:
                    await self._greet()
                if self._mode.once:
                    return Why.CLOSED
                self._say_closed()
                await self._rest(6 * SLICE_S)
            elif (pause := self._not_before - self._clock.monotonic()) > 0:
                await self._rest(pause)
            elif not self._hungry():
                await self._rest(self._until_hungry())
            elif (why := await self._claim_one(idle)) is not None:
                return why
        return Why.ASKED

    async def _claim_one(self, idle: Idle) -> Why | None:
        """Ask for one part, and rest as its answer says; a reason ends the claiming."""
        ends = self._mode.once or self._mode.idle_exit
        try:
            claimed = await self._ask(again=idle.away > 0)
        except (TokenRefused, BridgeAway, NotTaken) as error:
            if self._is_the_end(error):
                raise
            if isinstance(error, NotTaken):
                self._warn(error.message)
            away = idle.away_for()
            self._not_yet(full_jitter(idle.away, self._mode.poll_s, _LONGEST_PAUSE_S))
            return Why.AWAY if ends and away > _AWAY_S else None
        self._welcome("; it waits for parts")
        idle.answered(found=claimed is not None)
        if claimed is None:
            if ends and not self._holds and idle.nobody():
                return Why.NO_WORK
            await self._rest(idle.pause(self._mode.poll_s))
            return None
        self._take(claimed)
        return Why.ENOUGH if self._mode.once else None

    async def _greet(self) -> None:
        """Ask before a long wait, so that a wrong address or token is told now and not at its end."""
        self._greeted = True
        try:
            await self._tools.coordinator.greet()
        except (TokenRefused, BridgeAway) as error:
            if self._is_the_end(error):
                raise
        else:
            self._welcome("")

    def _is_the_end(self, error: Exception) -> bool:
        return isinstance(error, TokenRefused | WrongCertificate) and not self._tools.coordinator.stays

    def _welcome(self, next_step: str) -> None:
        if not self._welcomed:
            _log.info("The Bridge at %s takes this worker%s.", self._tools.coordinator.url, next_step)
        self._welcomed = True

    async def _ask(self, *, again: bool) -> Claimed | None:
        worker_id = await self._identity.get()
        coordinator = self._tools.coordinator
        try:
            return await coordinator.claim(worker_id, self._identity.capabilities)
        except WorkerUnknown:
            if not again:
                _log.info("The Bridge does not know this worker any more; it registers anew.")
        worker_id = await self._identity.renew()
        try:
            return await coordinator.claim(worker_id, self._identity.capabilities)
        except WorkerUnknown as error:
            raise NotTaken(
                "The Bridge has registered this worker and does not know it all the same; it is asked again. "
                "Look at the Bridge’s log if this goes on."
            ) from error

    def _take(self, claimed: Claimed) -> None:
        hold = Hold(claimed, self._tools)
        task = self._tasks.spawn(hold.run(), hold.name)
        self._holds[hold] = task
        task.add_done_callback(lambda done: self._put_down(hold, done))
        if self._draining.is_set():
            # A claim that was asked for too late still happened (law 3).
            hold.give_back()

    def _put_down(self, hold: Hold, task: "asyncio.Task[Ending]") -> None:
        self._holds.pop(hold, None)
        self._tools.changed.set()
        if task.cancelled():
            return
        # What nobody thought of is in the log already.
        ending = Ending.FAILED if task.exception() is not None else task.result()
        self._endings[ending] += 1
        if ending is Ending.DELIVERED:
            self._bad_in_a_row, self._warned = 0, ""
        elif ending in (Ending.FAILED, Ending.UNFIT) or (
            ending is Ending.LOST and hold.stage is Stage.FETCHING
        ):
            self._bad_in_a_row += 1
            self._not_yet(full_jitter(self._bad_in_a_row, _FIRST_UNFIT_S, _LONGEST_UNFIT_S))
        if ending is Ending.UNFIT:
            self._warn(f"No part can be heard just now: {hold.why}")

    def _hungry(self) -> bool:
        ear = self._tools.ear
        if self._mode.once:
            return not self._holds
        if self._bad_in_a_row and self._holds:
            return False
        return wants_more((hold.stage for hold in self._holds), ear.size, ear.next_free_in())

    def _until_hungry(self) -> float:
        free_in = self._tools.ear.next_free_in()
        return 6 * SLICE_S if free_in is None else max(0.5, free_in - AHEAD_S)

    def _in_hours(self) -> bool:
        if self._mode.hours.open_at(self._clock.now().astimezone()):
            if self._closed_said:
                _log.info("Its hours have come: this worker takes parts.")
            self._closed_said = False
            return True
        self._give_back_unbegun()
        return False

    def _say_closed(self) -> None:
        if not self._closed_said:
            does = "ends what it has begun, then waits" if self.at_work else "waits"
            _log.info(
                "Outside its hours (%s): this worker %s, and takes parts at %s.",
                self._mode.hours, does, self._opens_at(),
            )  # fmt: skip
        self._closed_said = True

    def _opens_at(self) -> str:
        local = self._clock.now().astimezone()
        minute = local.hour * 60 + local.minute
        start = min(
            (start for start, _ in self._mode.hours.spans), key=lambda at: (at - minute) % DAY_MINUTES
        )
        return f"{start // 60:02d}:{start % 60:02d}"

    async def _rest(self, seconds: float) -> None:
        """Rest until something changes; in slices, since timers stand still while the machine sleeps."""
        until = self._clock.monotonic() + seconds
        while (left := until - self._clock.monotonic()) > 0 and not self._draining.is_set():
            if await self._clock.wait(self._tools.changed, min(left, SLICE_S)):
                return

    # ---- the end

    async def _last_ones(self) -> None:
        """Wait for what is begun to be handed in; what is finished while the Bridge is away stays here."""
        while not self._hurried() and any(h.stage is not Stage.FINISHED for h in self._holds):
            await self._change(SLICE_S)
        until = self._clock.monotonic() + _LAST_DELIVERY_S
        while self._holds or not all(task.done() for task in self._leftovers):
            left = until - self._clock.monotonic()
            if left <= 0 or self._hurried():
                return
            await self._change(min(left, 1.0))

    def _hurried(self) -> bool:
        return self._giving_up.is_set() or self.refused

    async def _change(self, seconds: float) -> None:
        self._tools.changed.clear()
        await self._clock.wait(self._tools.changed, seconds)

    async def _end_holds(self) -> None:
        ends = list(self._holds.values())
        for hold in self._holds:
            hold.give_back()
        if ends:
            await asyncio.wait(ends, timeout=_GIVE_BACK_S)
            await cancel_and_wait(*ends)

    def _give_back_unbegun(self) -> None:
        for hold in self._holds:
            if hold.stage in (Stage.FETCHING, Stage.READY):
                hold.give_back()

    def _warn(self, sentence: str) -> None:
        """Say what is wrong, once in a row."""
        if sentence != self._warned:
            _log.warning("%s", sentence)
        self._warned = sentence

    def _not_yet(self, seconds: float) -> None:
        self._not_before = max(self._not_before, self._clock.monotonic() + seconds)

    async def _hand_in(self, kept: Kept) -> bool:
        tools = self._tools
        return await leftover.hand_in(kept, tools.shelf, tools.coordinator, self._clock, self._tasks)

    def _say(self, why: Why) -> None:
        """Say why it ends by itself."""
        coordinator = self._tools.coordinator
        if why is Why.NO_WORK:
            _log.info("The Bridge has no part to hear for this worker just now: it ends.")
        elif why is Why.AWAY:
            _log.info(
                "The Bridge at %s could not be asked for %d s: this worker ends.", coordinator.url, _AWAY_S
            )
        elif why is Why.CLOSED:
            _log.info(
                "Outside its hours (%s): this worker ends without a part; start it again at %s.",
                self._mode.hours, self._opens_at(),
            )  # fmt: skip
        elif why is Why.ENOUGH:
            handed_in = self._endings[Ending.DELIVERED] > 0
            _log.info("Its one part is %s: this worker ends.", "handed in" if handed_in else "not handed in")

    def _verdict(self, why: Why) -> ExitCode:
        if why in (Why.AWAY, Why.CLOSED):
            return ExitCode.TRY_LATER
        if self._mode.once and why is not Why.ASKED:
            if self._endings[Ending.DELIVERED]:
                return ExitCode.DONE
            return ExitCode.FAILED if self._endings[Ending.FAILED] else ExitCode.TRY_LATER
        return ExitCode.DONE

    async def _watch_sleep(self) -> None:
        """Drop connections that may have died while the machine slept."""
        while True:
            before = self._clock.monotonic()
            await self._clock.sleep(SLICE_S)
            if self._clock.monotonic() - before > SLICE_S + _JUMP_S:
                _log.info("This machine slept; the Bridge is asked anew.")
                await self._tools.coordinator.drop_connections()
                self._tools.changed.set()
