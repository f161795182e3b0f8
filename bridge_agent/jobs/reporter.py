"""The loop beside a job that reports on it: steps at once, changes in a rhythm, and signs of life (R-062).

The handler only records. Each new step is a report of its own, in order, even when steps pass faster than a
report takes (settled point 11); within a step only the latest counts, at most every `report_s`. With nothing
new there is a keepalive, at least every `keepalive_s` and three times within a lease, so that a lease runs
out only if the Bridge stops (R-063).

While the server is away nothing goes out but one report, tried again in the keepalive's rhythm: when the
server answers, that one decides whether the claim still holds (law 5, settled point 17).
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bridge_agent.base.backoff import full_jitter
from bridge_agent.base.clock import Clock
from bridge_agent.base.tasks import within
from bridge_agent.link.errors import Rejected, ServerAway
from bridge_agent.protocol.bridge import Progress, Report, ReportAnswer
from bridge_agent.protocol.leases import DEFAULT_LEASE_S, Trust
from bridge_agent.protocol.states import RunState

_log = logging.getLogger(__name__)

MOST_WAITING = 500
"""Steps kept for a server that is away; past that the last one gives way to the newest."""
_EARLY_S, _EARLY_PART = 0.5, 0.2
"""How much earlier than due a keepalive is sent, at most and as a part: the way to the server takes time."""
_LONGEST_CALL_S = 30.0

Send = Callable[[Report], Awaitable[ReportAnswer]]


@dataclass(frozen=True)
class Rhythm:
    """How often is reported, in seconds: changes within a step at most, signs of life at least."""

    report_s: float
    keepalive_s: float


@dataclass(frozen=True, eq=False)
class _Word:
    """What there is to say at one moment."""

    state: RunState
    progress: Progress | None = None
    error: str | None = None

    def same_step(self, other: "_Word") -> bool:
        """Tell whether another word differs within a step only."""
        mine, theirs = self.progress, other.progress
        return (
            self.state == other.state and mine is not None and theirs is not None and mine.step == theirs.step
        )


class Reporter:
    """Reports on one claim until it is closed."""

    def __init__(
        self,
        attempt: int,
        send: Send,
        clock: Clock,
        rhythm: Rhythm,
        on_answer: Callable[[ReportAnswer], None],
    ) -> None:
        """Prepare; the first report, `running`, goes out as soon as `run` is."""
        self._attempt = attempt
        self._send = send
        self._clock = clock
        self._rhythm = rhythm
        self._on_answer = on_answer
        self._latest = _Word(RunState.RUNNING)
        self._waiting: deque[_Word] = deque([self._latest])
        self._changed = False
        self._owed = False
        self._closing = False
        self._wake = asyncio.Event()
        self._lease_s = DEFAULT_LEASE_S
        self._trust = Trust.from_request(clock.monotonic(), DEFAULT_LEASE_S)
        self._began_at = clock.monotonic()
        self._answered_at = clock.monotonic()
        self._retry_at = 0.0
        self._tries = 0

    @property
    def latest(self) -> Progress | None:
        """How far the job is."""
        return self._latest.progress

    def trusted(self) -> bool:
        """Tell whether the lease can still be believed in (law 5)."""
        return self._trust.holds(self._clock.monotonic())

    def renewed(self, lease_seconds: float, began: float | None = None) -> None:
        """Take note of a lease that was given in a request that began at that monotonic second."""
        self._lease_s = max(lease_seconds, 0.05)
        moment = self._clock.monotonic() if began is None else began
        self._trust = Trust.from_request(moment, self._lease_s)

    def record(self, progress: Progress) -> None:
        """Take note of how far the job is."""
        if progress == self._latest.progress:
            return
        word = _Word(self._latest.state, progress, self._latest.error)
        previous, self._latest = self._latest, word
        if not word.same_step(previous):
            self._enqueue(word)
        elif self._waiting and self._waiting[-1].same_step(word):
            self._waiting[-1] = word
        elif not self._changed:
            self._changed = True
            self._wake.set()

    def say(self, state: RunState, error: str | None = None) -> None:
        """Take note of another state that the job is in; it is reported at once."""
        self._latest = _Word(state, self._latest.progress, error)
        self._enqueue(self._latest)

    def nudge(self) -> None:
        """Look at the clock: the machine may have slept, and the wait for the next report with it."""
        self._wake.set()

    def close(self, drain: bool) -> None:
        """End `run`: after the steps that still wait, or after the report under way alone.

        A server that is away is not waited for.
        """
        self._closing = True
        if not drain:
            self._waiting.clear()
        self._wake.set()

    async def run(self) -> None:
        """Report until closed; raises NotHeld, TokenRefused and NotPaired, the end of all reports."""
        while True:
            self._wake.clear()
            due = self._due()
            if due is not None:
                await self._tell(*due)
            elif self._closing:
                return
            else:
                await self._clock.wait(self._wake, self._pause())

    @property
    def keepalive_s(self) -> float:
        """How long may be said nothing, in seconds."""
        due = self._rhythm.keepalive_s
        return min(due - min(_EARLY_S, due * _EARLY_PART), self._lease_s / 3)

    def _enqueue(self, word: _Word) -> None:
        if len(self._waiting) >= MOST_WAITING:
            self._waiting.pop()
        self._waiting.append(word)
        self._wake.set()

    def _due(self) -> tuple[_Word, bool] | None:
        """Return what is to be said now, and whether it is a step of its own."""
        now = self._clock.monotonic()
        if now < self._retry_at:
            return None
        if self._waiting:
            return self._waiting.popleft(), True
        if self._closing:
            return None
        changes_due = self._changed and now >= self._answered_at + self._rhythm.report_s
        if self._owed or changes_due or now >= self._began_at + self.keepalive_s:
            return self._latest, False
        return None

    def _pause(self) -> float:
        moment = self._began_at + self.keepalive_s
        if self._changed:
            moment = min(moment, self._answered_at + self._rhythm.report_s)
        if self._waiting or self._owed:
            moment = 0.0
        # A hair more than nothing: a wait that ends a rounding error early must not spin.
        return max(moment, self._retry_at) - self._clock.monotonic() + 0.001

    async def _tell(self, word: _Word, is_step: bool) -> None:
        began = self._clock.monotonic()
        self._began_at = began
        if word is self._latest:
            self._changed = False
        report = Report(
            attempt=self._attempt, state=str(word.state), progress=word.progress, error=word.error
        )
        try:
            answer = await within(min(_LONGEST_CALL_S, self._lease_s / 3), self._send(report))
        except (ServerAway, TimeoutError) as error:
            if is_step:
                self._waiting.appendleft(word)
            self._put_off(getattr(error, "retry_after", None) or 0.0)
            return
        except Rejected as error:
            # What it does not take once it will not take again; the next report is another one.
            _log.warning("The server did not take a report on a job: %s", error.message)
            self._put_off(self.keepalive_s)
            return
        self._answered_at = self._clock.monotonic()
        self._owed, self._retry_at, self._tries = False, 0.0, 0
        self.renewed(answer.lease_seconds, began)
        self._on_answer(answer)

    def _put_off(self, asked: float) -> None:
        """Try again within the keepalive's rhythm, not before `asked` seconds where that allows it."""
        self._tries += 1
        self._owed = True
        longest = self.keepalive_s
        pause = max(full_jitter(self._tries, min(1.0, longest / 4), longest), asked)
        self._retry_at = self._clock.monotonic() + min(pause, longest)
