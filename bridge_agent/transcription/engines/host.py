"""One engine child as the Bridge sees it: started, asked, watched, ended."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from itertools import count

from bridge_agent.base import children
from bridge_agent.base.clock import Clock
from bridge_agent.base.tasks import Tasks
from bridge_agent.transcription.engines import deaths, protocol
from bridge_agent.transcription.engines.base import ELSEWHERE, Context, Heard, Machine, Setup
from bridge_agent.transcription.engines.errors import (
    EngineDied,
    EngineError,
    EngineHung,
    EngineRefused,
    EngineUnavailable,
    OutOfMemory,
)
from bridge_agent.transcription.engines.limits import Limits
from bridge_agent.transcription.model import EngineInfo

_MODULE = "bridge_agent.transcription.engines.child"
_MOST_LINES = 400
_REAP_SECONDS = 10.0
_MOVED = 0.5
"""Processor seconds that are work: the pulses alone take less within the time a child may be still."""

_log = logging.getLogger(__name__)


class State(Enum):
    """Where a child is in its life."""

    STARTING = "starting"
    READY = "ready"
    BUSY = "busy"
    IDLE = "idle"
    GONE = "gone"


class StoppedAtOnce(EngineError):
    """The part was cancelled and its engine stopped at the next segment."""

    code = "stopped"


class Child:
    """A process that runs one engine. One request runs at a time; a broken child is never used again."""

    def __init__(self, clock: Clock, tasks: Tasks, limits: Limits) -> None:
        self._clock = clock
        self._tasks = tasks
        self._limits = limits
        self._ids = count(1)
        self._changed = asyncio.Event()
        self._answer: protocol.Reply | None = None
        self._heard: Callable[[str], None] = _unheard
        self._request = 0
        self._broken: EngineError | None = None
        self._device = "cpu"
        self.state = State.STARTING
        self.setup: Setup | None = None
        self.most_memory: int | None = None
        self.cpu_seconds = 0.0
        self.resident = 0
        self.last_sign = clock.monotonic()
        self.parts = 0
        self.idle_since = 0.0
        self.gone: Callable[[], None] = _nobody
        self._process: children.ChildProcess | None = None

    @property
    def pid(self) -> int:
        """The process's id, 0 before there is one."""
        return self._process.pid if self._process is not None else 0

    async def start(self) -> None:
        """Start the process; raises EngineUnavailable when the system refuses."""
        try:
            self._process = await children.start(_MODULE, "engine child", _MOST_LINES)
        except OSError as error:
            raise EngineUnavailable(
                f"The speech engine's process can't be started ({error.strerror}); "
                "free some memory and try again."
            ) from error
        self.last_sign = self._clock.monotonic()
        self._process.attend(self._tasks, protocol.replies, self._take, self._ended)

    async def survey(self, engine: str) -> Machine:
        """Return what an engine's libraries find here."""
        reply = await self._ask(protocol.Survey(engine=engine), self._limits.load)
        if not isinstance(reply, protocol.Found):
            raise self._unexpected(reply)
        return reply.machine

    async def load(self, setup: Setup) -> EngineInfo:
        """Load an engine; raises EngineUnavailable, EngineRefused, EngineDied, EngineHung."""
        self.setup = setup
        self._device = setup.fit.device
        reply = await self._ask(protocol.Load(setup=setup), self._limits.load)
        if not isinstance(reply, protocol.Ready):
            raise self._unexpected(reply)
        self.state = State.READY
        return reply.info

    async def transcribe(
        self, pcm: bytes, context: Context, heard: Callable[[str], None], seconds: float
    ) -> Heard:
        """Hear a part within that many processor seconds."""
        self._heard = heard
        self._request = next(self._ids)
        request = protocol.Transcribe(id=self._request, pcm=pcm, context=context)
        reply = await self._ask(request, seconds)
        if not isinstance(reply, protocol.Result):
            raise self._unexpected(reply)
        self.parts += 1
        return reply.heard

    async def detect_language(self, pcm: bytes, seconds: float) -> dict[str, float]:
        """Return each language's probability."""
        self._request = next(self._ids)
        reply = await self._ask(protocol.DetectLanguage(id=self._request, pcm=pcm), seconds)
        if not isinstance(reply, protocol.Languages):
            raise self._unexpected(reply)
        return reply.probabilities

    @property
    def usable(self) -> bool:
        """Whether it may be given another request."""
        return self.state in (State.READY, State.IDLE) and self._broken is None

    def rest(self) -> None:
        """Mark that it waits for work."""
        if self.usable:
            self.state = State.IDLE
            self.idle_since = self._clock.monotonic()

    async def stop_hearing(self) -> bool:
        """Ask a busy child to stop; tell whether it did so in time and may be used again (P-021)."""
        if self.state is not State.BUSY:
            return self.usable
        self._heard = _unheard
        self._write(protocol.Cancel(id=self._request))
        deadline = self._clock.monotonic() + self._limits.cancel
        while self._answer is None and self._broken is None:
            left = deadline - self._clock.monotonic()
            if left <= 0 or not await self._clock.wait(self._changed, left):
                return False
            self._changed.clear()
        self.state = State.READY
        return self.usable

    async def end(self) -> None:
        """Kill the process and wait until its memory is the system's again."""
        if self._broken is None:
            self._broken = EngineDied("The speech engine was ended; try again.")
        if self._process is None:
            self.state = State.GONE
            return
        if not await self._process.end(_REAP_SECONDS):
            _log.error(
                "The engine process %d does not end, though it was killed; look at its driver.", self.pid
            )
        self.state = State.GONE
        self._changed.set()

    async def _ask(self, request: protocol.Message, seconds: float) -> protocol.Reply:
        if self._broken is not None:
            raise self._broken
        self.state = State.BUSY
        self._answer = None
        self._changed.clear()
        loading = isinstance(request, protocol.Load | protocol.Survey)
        # Native code that loads a model need not let the pulse through.
        limits = replace(self._limits, silent=seconds, still=seconds) if loading else self._limits
        watch = _Watch(self, seconds, limits, self._clock)
        self._write(request)
        while self._answer is None:
            if self._broken is not None:
                raise self._broken
            if not await self._clock.wait(self._changed, self._limits.look):
                self._mind(watch)
            self._changed.clear()
        self.state = State.READY
        return self._answer

    def _write(self, message: protocol.Message) -> None:
        """Hand a message to the pipe; where that is broken, the reader finds out and the wait raises it."""
        assert self._process is not None
        self._process.write(message)

    def _mind(self, watch: "_Watch") -> None:
        """Look after a busy child; raises EngineHung, OutOfMemory when it has to be replaced."""
        if self.most_memory is not None and self.resident > self.most_memory:
            self._broken = OutOfMemory(
                f"The speech engine took {self.resident >> 20} MiB of memory, more than it may; "
                "choose a smaller model."
            )
        elif (why := watch.hung()) is not None:
            self._broken = EngineHung(
                f"The speech engine {why} and was ended; try again, or choose a smaller model."
            )
        if self._broken is not None:
            raise self._broken

    def _unexpected(self, reply: protocol.Reply) -> EngineError:
        if not isinstance(reply, protocol.Error):
            return EngineDied(
                "The speech engine answered something else than was asked; start the Bridge again."
            )
        if reply.kind == "refused":
            return EngineRefused(reply.sentence)
        if reply.kind == "away":
            return EngineUnavailable(reply.sentence)
        if reply.kind == "stopped":
            return StoppedAtOnce()
        # Whatever broke may have left native state behind: this process is not used again.
        self._broken = self._failure(reply)
        return self._broken

    def _failure(self, reply: protocol.Error) -> EngineError:
        if reply.kind == "memory":
            return OutOfMemory()
        if deaths.missing_library(reply.sentence) is not None:
            return deaths.explain(None, reply.sentence, self._device)
        return EngineDied(f"The speech engine failed ({reply.sentence}); choose another model or device.")

    def _take(self, reply: protocol.Reply) -> None:
        self.last_sign = self._clock.monotonic()
        match reply:
            case protocol.Pulse():
                self.cpu_seconds, self.resident = reply.cpu_seconds, reply.resident
            case protocol.Words():
                if reply.id == self._request:
                    self._heard(reply.text)
            case _:
                self._answer = reply
                self._changed.set()

    def _ended(self, code: int) -> None:
        """Find out why the process is gone, and tell."""
        assert self._process is not None
        if self._broken is None:
            said = self._process.last_words
            self._broken = deaths.explain(code, "\n".join(said), self._device)
            _log.warning("%s %s", self._broken.message, " / ".join(list(said)[-5:]))
        self.state = State.GONE
        self._changed.set()
        self.gone()


class _Watch:
    """Tells a child that works from one that is stuck, by its pulses and its use of the processor."""

    def __init__(self, child: Child, seconds: float, limits: Limits, clock: Clock) -> None:
        self._child = child
        self._seconds = seconds
        self._limits = limits
        self._clock = clock
        self._cpu_at_start = self._cpu = child.cpu_seconds
        self._looked = self._moved = self._signed = clock.monotonic()

    def hung(self) -> str | None:
        """Say what is wrong with the child, or None."""
        child, now = self._child, self._clock.monotonic()
        if now - self._looked > 10 * self._limits.look + 10:
            # This machine slept, or the Bridge did: the child could give no sign either.
            self._moved = self._signed = now
        self._looked = now
        self._signed = max(self._signed, child.last_sign)
        if child.cpu_seconds > self._cpu + _MOVED:
            self._cpu, self._moved = child.cpu_seconds, now
        elsewhere = child.setup is not None and child.setup.engine in ELSEWHERE
        if now - self._signed > self._limits.silent:
            return "gave no sign of life"
        if not elsewhere and now - self._moved > self._limits.still:
            return "did nothing any more"
        if self._cpu - self._cpu_at_start > self._seconds:
            return "took far longer than the part's length allows"
        return None


def _nobody() -> None:
    """Tell nobody that a child is gone."""


def _unheard(_text: str) -> None:
    """Take words that nobody listens to."""
