"""Parked polls: thousands may wait for a job, and none that has gone away ever wins one (law 3).

Polls are served in rounds. A round takes those that are new, or after news all of them in the order of their
coming, and asks for each in one unit of work. So a job that is queued wakes one transaction, not a thousand,
and a poll can't miss news: it stands in the row before it is first asked for.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from enum import Enum

from bridge_agent.base.clock import Clock
from bridge_agent.base.tasks import Tasks
from bridge_agent.home.job import Job


class Nothing(Enum):
    """What a poll is told when it is told of no job."""

    YET = "nothing queued; wait on"
    REFUSED = "the token is no longer good"
    NO_HEARTBEAT = "no heartbeat yet"
    NO_KIND = "no kind is left after the narrowing"


Outcome = Job | Nothing


@dataclass(frozen=True)
class Ask:
    """What a poll asks for: with which token, for which kinds (None: all), under which claim id."""

    token_hash: str
    kinds: tuple[str, ...] | None
    claim_id: str | None
    first: bool = True


def _set() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event


@dataclass(eq=False)
class _Poll:
    ask: Ask
    alive: Callable[[], bool]
    done: asyncio.Event = field(default_factory=asyncio.Event)
    tried: asyncio.Event = field(default_factory=asyncio.Event)
    outcome: Outcome = Nothing.YET
    error: Exception | None = None
    settled: asyncio.Event = field(default_factory=_set)
    """Not set while a round that this poll is in has not ended."""


class Waits:
    """The row of parked polls, and the rounds in which they are served."""

    def __init__(
        self,
        clock: Clock,
        tasks: Tasks,
        serve: Callable[[list[Ask]], Awaitable[list[Outcome]]],
        give_back: Callable[[Job], Coroutine[None, None, None]],
    ) -> None:
        """Serve with `serve`, one outcome an ask; `give_back` takes a job that reached nobody."""
        self._clock = clock
        self._tasks = tasks
        self._serve = serve
        self._give_back = give_back
        self._parked: dict[_Poll, None] = {}
        self._news = False
        self._round: asyncio.Task[None] | None = None
        self._closed = False

    def __len__(self) -> int:
        return len(self._parked)

    async def next(self, ask: Ask, seconds: float, alive: Callable[[], bool]) -> Outcome:
        """Wait up to `seconds` for an outcome; `alive` tells whether the caller can still be answered.

        `Nothing.YET` when the time is over or the server stops. Raises what serving raises. A caller that is
        cancelled leaves no claim behind, unless it named a claim id, under which it will ask again.
        """
        if self._closed:
            return Nothing.YET
        poll = _Poll(ask, alive)
        self._parked[poll] = None
        self._kick()
        try:
            await poll.tried.wait()
            if not poll.done.is_set():
                await self._clock.wait(poll.done, seconds)
            # A round that has begun may have won a job for this poll: its time is not over before that ends.
            await poll.settled.wait()
            if poll.error is not None:
                raise poll.error
        except BaseException:
            self._return_unseen(poll)
            raise
        finally:
            self._parked.pop(poll, None)
        return poll.outcome

    def news(self) -> None:
        """Ask again for all that are parked: something that they wait for may have come."""
        self._news = True
        self._kick()

    def close(self) -> None:
        """Answer all with nothing, now and from now on: the server stops (R-058)."""
        self._closed = True
        for poll in self._parked:
            poll.tried.set()
            poll.done.set()

    def _kick(self) -> None:
        if self._round is None and not self._closed:
            self._round = self._tasks.spawn(self._rounds(), "claims")

    async def _rounds(self) -> None:
        try:
            while not self._closed and (polls := self._chosen()):
                await self._one_round(polls)
        finally:
            self._round = None

    def _chosen(self) -> list[_Poll]:
        everybody, self._news = self._news, False
        chosen = []
        for poll in self._parked:
            if poll.done.is_set() or (poll.tried.is_set() and not everybody):
                continue
            if poll.alive():
                chosen.append(poll)
            else:
                self._settle(poll, Nothing.YET, None, ends=True)
        return chosen

    async def _one_round(self, polls: list[_Poll]) -> None:
        asks = [Ask(p.ask.token_hash, p.ask.kinds, p.ask.claim_id, first=not p.tried.is_set()) for p in polls]
        for poll in polls:
            poll.settled.clear()
        error: Exception | None = None
        outcomes: list[Outcome] = [Nothing.YET] * len(polls)
        try:
            outcomes = await self._serve(asks)
        except Exception as raised:
            error = raised
        finally:
            for poll, outcome in zip(polls, outcomes, strict=True):
                self._settle(poll, outcome, error)

    def _settle(self, poll: _Poll, outcome: Outcome, error: Exception | None, *, ends: bool = False) -> None:
        poll.outcome, poll.error = outcome, error
        poll.tried.set()
        poll.settled.set()
        if ends or outcome is not Nothing.YET or error is not None:
            poll.done.set()
        if poll not in self._parked:
            self._return_unseen(poll)

    def _return_unseen(self, poll: _Poll) -> None:
        """Give back a job that its poll will not be told of, unless it asks again under its claim id."""
        job, poll.outcome = poll.outcome, Nothing.YET
        if isinstance(job, Job) and poll.ask.claim_id is None:
            self._tasks.spawn(self._give_back(job), "give a claim back")
