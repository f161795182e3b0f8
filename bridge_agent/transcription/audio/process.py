"""One decoder child as the Bridge sees it: started, asked, watched, killed."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from bridge_agent.base import children
from bridge_agent.base.clock import Clock
from bridge_agent.base.tasks import Tasks
from bridge_agent.transcription.audio import messages
from bridge_agent.transcription.audio.errors import AudioError, DecoderUnavailable

_MODULE = "bridge_agent.transcription.audio.child"
_MOST_LINES = 60
_REAP_SECONDS = 1.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Limits:
    """All in seconds; tests shorten them."""

    start: float = 120.0
    """Until a child has loaded its libraries, on a busy machine with a slow disk too."""
    hang: float = 90.0
    """A child at work that gets nowhere for this long is killed."""
    look: float = 1.0
    """Between two looks at a child at work."""
    idle: float = 30.0
    """An idle child ends after this and gives its memory back."""


class Fate(Enum):
    """Why a child is gone."""

    CRASHED = "crashed"
    HUNG = "hung"
    WAITED = "waited"
    """It was kept waiting by the file system."""
    ENDED = "ended"


class ChildGone(Exception):
    """A child ended before it answered."""

    def __init__(self, fate: Fate, code: int | None) -> None:
        super().__init__(f"{fate.value}, exit code {code}")
        self.fate = fate
        self.code = code


class Child:
    """A process that decodes. One request runs at a time; one that is gone is never used again."""

    def __init__(self, clock: Clock, tasks: Tasks, limits: Limits) -> None:
        self._clock = clock
        self._tasks = tasks
        self._limits = limits
        self._replies: deque[messages.Reply] = deque()
        self._news = asyncio.Event()
        self._pulse = messages.Pulse(samples=0, work=0, waiting=0.0)
        self._gone: ChildGone | None = None
        self._process: children.ChildProcess | None = None
        self.decoder = ""
        self.moved: Callable[[int], None] | None = None
        """Told at each pulse how many samples of the running survey are done."""

    @property
    def pid(self) -> int:
        """The process's id."""
        assert self._process is not None
        return self._process.pid

    @property
    def usable(self) -> bool:
        """Whether it still runs."""
        return self._gone is None

    async def start(self) -> None:
        """Start the process and wait until it has its libraries; raises DecoderUnavailable, ChildGone."""
        try:
            self._process = await children.start(_MODULE, "decoder child", _MOST_LINES)
        except OSError as error:
            raise DecoderUnavailable(
                f"The audio decoder can't be started ({error.strerror}); free some memory and try again."
            ) from error
        self._process.attend(self._tasks, messages.replies, self._take, self._ended)
        reply = await self.next(self._limits.start)
        if not isinstance(reply, messages.Ready):
            raise DecoderUnavailable
        self.decoder = reply.decoder

    async def send(self, request: messages.Request) -> None:
        """Send a request; that the child is gone is found out by `next`."""
        assert self._process is not None
        self._pulse = messages.Pulse(samples=0, work=-1, waiting=0.0)
        await self._process.send(request)

    async def next(self, hang: float | None = None) -> messages.Reply:
        """Return the next reply; raises ChildGone, also for a child that hangs, which is killed."""
        limit = self._limits.hang if hang is None else hang
        still, before = 0.0, -1
        while not self._replies:
            if self._gone is not None:
                raise self._gone
            # Looks are counted, not the clock: it jumps when the machine sleeps.
            if not await self._clock.wait(self._news, self._limits.look):
                still += self._limits.look
            if self._pulse.work != before:
                still, before = 0.0, self._pulse.work
            if still >= limit:
                waited = self._pulse.waiting > limit / 2
                self._gone = ChildGone(Fate.WAITED if waited else Fate.HUNG, None)
                await self.kill()
            self._news.clear()
        return self._replies.popleft()

    async def kill(self) -> None:
        """End the process at once; one that the kernel keeps (a dead drive) is left to it."""
        if self._gone is None:
            self._gone = ChildGone(Fate.ENDED, None)
        self._news.set()
        if self._process is not None:
            await self._process.end(_REAP_SECONDS)

    def _take(self, reply: messages.Reply) -> None:
        if isinstance(reply, messages.Pulse):
            # A pulse is looked at, not waited for: it says nothing of whether the work moves.
            self._pulse = reply
            if self.moved is not None:
                self.moved(reply.samples)
        else:
            self._replies.append(reply)
            self._news.set()

    def _ended(self, code: int) -> None:
        assert self._process is not None
        if self._gone is None:
            self._gone = ChildGone(Fate.CRASHED if children.crashed(code) else Fate.ENDED, code)
            said = " / ".join(list(self._process.last_words)[-8:])
            _log.warning("A decoder child ended by itself (exit code %s). %s", code, said)
        self._news.set()


ERRORS: dict[str, type[AudioError]] = {kind.code: kind for kind in AudioError.__subclasses__()}
"""The errors that a child may send, by code."""


def failure(reply: messages.Reply) -> AudioError:
    """Return the error that a reply stands for; an answer to something else is one too."""
    if isinstance(reply, messages.Error):
        return ERRORS.get(reply.code, AudioError)(reply.sentence)
    return AudioError("The audio decoder answered something else than was asked; start the Bridge again.")
