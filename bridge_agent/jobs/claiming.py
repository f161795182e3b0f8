"""The claim loop: asks the server for jobs of the kinds whose lane has room (R-053).

The races of a long poll, and what holds against each:

- The answer is lost on its way, or the poll is ended here while the answer travels (a lane became free, the
  link went down, the Bridge stops): the job is claimed, nobody runs it. So a poll that may have been
  answered is asked again with its own id, which gives the same claim back (settled point 9); the id lies on
  disk before it is sent, and goes in the same transaction that writes the job's row.
- A poll that has brought a job by the time it is ended counts as answered: its job is taken.
- The link changes while a job is being written down: `Runs.order` lets one change follow the other.
"""

import asyncio
import logging
import sqlite3
import uuid
from collections.abc import Callable

from bridge_agent.base.backoff import full_jitter
from bridge_agent.base.clock import Clock
from bridge_agent.base.errors import BridgeError
from bridge_agent.base.loops import Loops
from bridge_agent.base.tasks import Tasks, cancel_and_wait
from bridge_agent.jobs import claim_ids
from bridge_agent.jobs.lanes import Lanes
from bridge_agent.jobs.post import Post
from bridge_agent.jobs.runs import Runs
from bridge_agent.link.errors import NoHeartbeat, ServerAway
from bridge_agent.link.link import Link
from bridge_agent.protocol.bridge import ClaimedJob
from bridge_agent.store import Database

_log = logging.getLogger(__name__)

_LOOP = "claims"
_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 15.0
_LONGEST_ASKED_S = 120.0
"""However long a server asks to be left alone, it is asked again after this."""
_EARLY = 0.9
"""A 204 before that part of the wait has passed came early."""


Poll = asyncio.Task[ClaimedJob | BridgeError | None]


def _new_id() -> str:
    return str(uuid.uuid4())


class ClaimLoop:
    """Claims jobs, one poll at a time."""

    def __init__(
        self,
        db: Database,
        clock: Clock,
        link: Link,
        post: Post,
        lanes: Lanes,
        runs: Runs,
        wait_s: float,
        loops: Loops,
        tasks: Tasks,
        new_id: Callable[[], str] = _new_id,
    ) -> None:
        self._db = db
        self._clock = clock
        self._link = link
        self._post = post
        self._lanes = lanes
        self._runs = runs
        self._wait_s = wait_s
        self._loops = loops
        self._tasks = tasks
        self._new_id = new_id
        self._stir = asyncio.Event()
        self._id: tuple[str, str] | None = None
        self._read_kept = False
        self._perhaps_answered = False
        self._asked: frozenset[str] = frozenset()
        self._pause_until = 0.0
        self._pauses = 0
        self._trouble = False
        self._seen: object = None
        self._beat: object = None

    def nudge(self) -> None:
        """Look again at what may be claimed: a lane or the link has changed."""
        self._stir.set()

    def link_changed(self) -> None:
        """Take note of news of the link: after a heartbeat that changed something nothing is waited out."""
        link = self._link
        seen = (link.state, [(lib.id, lib.name, lib.root) for lib in link.libraries])
        if seen != self._seen:
            self._seen = seen
            self.ask_at_once()
        elif self._trouble and self._pauses == 1 and link.last_heartbeat_at != self._beat:
            # The server hears us: what stood between is over. Once; a second refusal waits its pause.
            self._pause_until = 0.0
            self._stir.set()

    def ask_at_once(self) -> None:
        """End any pause between two polls."""
        self._pause_until, self._pauses = 0.0, 0
        self._stir.set()

    async def run(self) -> None:
        """Claim jobs for ever."""
        while True:
            self._stir.clear()
            kinds = self._kinds()
            pause = self._pause_until - self._clock.monotonic()
            if not kinds:
                await self._stir.wait()
            elif pause > 0 and self._asked.issuperset(kinds):
                await self._clock.wait(self._stir, pause)
            else:
                await self._ask(kinds)

    def _kinds(self) -> list[str]:
        """Return what may be asked for now; none while the link is not ready or every lane is full."""
        if not self._post.claiming or self._post.server_id is None:
            self._loops.say(_LOOP, "Waits for the link to the server.")
            return []
        kinds = self._lanes.free_kinds()
        if not kinds:
            self._loops.say(_LOOP, "Every lane is full; waits for a job to end.")
        return kinds

    async def _ask(self, kinds: list[str]) -> None:
        server_id = self._post.server_id
        if server_id is None:
            return
        self._asked = frozenset(kinds)
        self._loops.say(_LOOP, f"Waits at the server for {', '.join(kinds)}.")
        try:
            claim_id = await self._claim_id(server_id)
            began = self._clock.monotonic()
            poll = await self._poll(server_id, kinds, claim_id)
            if poll.cancelled():
                self._perhaps_answered = True
            else:
                await self._judge(server_id, poll.result(), self._clock.monotonic() - began)
        except (BridgeError, sqlite3.Error) as error:
            self._put_off(error)
        except Exception as error:
            # A server that sends what nobody foresaw must not end the claiming for good.
            _log.exception("A claim failed in a way that was not foreseen.")
            self._put_off(error)

    async def _claim_id(self, server_id: str) -> str:
        """Return the id to ask with: that of the poll that may have been answered, else a new one, kept."""
        if self._id is not None and self._id[0] == server_id:
            return self._id[1]
        kept = None
        if not self._read_kept:
            kept = await self._db.read(lambda c: claim_ids.kept(c, server_id))
            self._read_kept = True
        claim_id = kept or self._new_id()
        if kept is None:
            await self._db.write(lambda c: claim_ids.keep(c, server_id, claim_id))
        self._id, self._perhaps_answered = (server_id, claim_id), kept is not None
        return claim_id

    async def _poll(self, server_id: str, kinds: list[str], claim_id: str) -> Poll:
        """Ask, and end that when other kinds should be asked for; return the poll, answered or cancelled."""
        poll = self._tasks.spawn(self._next(kinds, claim_id), "poll")
        poll.add_done_callback(lambda _: self._stir.set())
        try:
            while not poll.done() and self._is_right(server_id, kinds):
                self._stir.clear()
                await self._stir.wait()
        finally:
            if not poll.done():
                await cancel_and_wait(poll)
        return poll

    async def _next(self, kinds: list[str], claim_id: str) -> ClaimedJob | BridgeError | None:
        try:
            return await self._link.next_job(kinds, self._wait_s, claim_id)
        except TimeoutError:
            return ServerAway()
        except BridgeError as error:
            return error

    def _is_right(self, server_id: str, kinds: list[str]) -> bool:
        """Tell whether a parked poll asks for all that there is room for, of the right server.

        One that asks for a kind whose lane has filled meanwhile (a person let a job try again) stays: ending
        it could strand what it was just answered with, and one job over the limit harms nobody.
        """
        post = self._post
        return post.claiming and post.server_id == server_id and set(self._lanes.free_kinds()) <= set(kinds)

    async def _judge(self, server_id: str, answer: ClaimedJob | BridgeError | None, elapsed: float) -> None:
        if isinstance(answer, ClaimedJob):
            await self._take(server_id, answer)
        elif answer is None:
            self._id = None
            if elapsed < self._wait_s * _EARLY:
                self._put_off(None)
            else:
                self._pauses, self._trouble = 0, False
        else:
            self._refused(answer)

    async def _take(self, server_id: str, job: ClaimedJob) -> None:
        self._perhaps_answered = True
        new = await self._runs.take(server_id, job)
        self._id = None
        if new:
            # The job's own tasks begin first; the next poll can wait for two turns of the loop.
            for _ in range(2):
                await self._clock.sleep(0)
            self.ask_at_once()
        else:
            self._put_off(None)

    def _refused(self, error: BridgeError) -> None:
        if isinstance(error, ServerAway):
            self._perhaps_answered = True
        elif not self._perhaps_answered:
            self._id = None
        if isinstance(error, NoHeartbeat):
            self._link.beat_now()
        self._put_off(error)

    def _put_off(self, error: Exception | None) -> None:
        """Wait before the next poll: 1 s, doubling to 15 s while that goes on."""
        self._pauses += 1
        self._trouble = error is not None
        self._beat = self._link.last_heartbeat_at
        if error is None:
            pause = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2.0 ** min(self._pauses - 1, 10))
            self._loops.say(_LOOP, f"The server has nothing and does not wait; asks again in {pause:g} s.")
        else:
            asked = min(getattr(error, "retry_after", None) or 0.0, _LONGEST_ASKED_S)
            pause = max(full_jitter(self._pauses, _FIRST_PAUSE_S, _LONGEST_PAUSE_S), asked)
            self._loops.say(_LOOP, f"{error} Asks again in {pause:.0f} s.")
            _log.info("Asking for a job failed: %s", error)
        self._pause_until = self._clock.monotonic() + pause
