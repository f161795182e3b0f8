"""A hold: one part's way through this worker, from its claim to its result."""

import asyncio
import contextlib
import logging
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from uuid import uuid4

import msgspec

from bridge_agent.base.backoff import full_jitter
from bridge_agent.base.clock import Clock
from bridge_agent.base.errors import BridgeError
from bridge_agent.base.tasks import Tasks, cancel_and_wait
from bridge_agent.base.threads import in_thread
from bridge_agent.protocol import coordinator as wire
from bridge_agent.protocol.text import clean
from bridge_agent.transcription.engines.base import Context
from bridge_agent.transcription.model import EngineInfo
from bridge_agent.worker import partial
from bridge_agent.worker.claim import Claim
from bridge_agent.worker.coordinator import Claimed, Coordinator, no_room
from bridge_agent.worker.delivery import Delivery
from bridge_agent.worker.ear import Ear
from bridge_agent.worker.errors import (
    BadInput,
    BridgeAway,
    ClaimLost,
    NotTaken,
    PartFailed,
    TokenRefused,
    Unfit,
)
from bridge_agent.worker.shelf import Kept, Shelf

_MOST_FETCHES = 3
_RETRY_S = 1.0
_LONGEST_RETRY_S = 30.0
_TELL_S = 3.5

_log = logging.getLogger(__name__)


class Stage(Enum):
    """Where a part is: on its way here, waiting for the engine, in it, or finished."""

    FETCHING = "fetching"
    READY = "ready"
    HEARING = "hearing"
    FINISHED = "finished"


class Ending(Enum):
    """What came of a hold."""

    DELIVERED = "delivered"
    FAILED = "failed"
    LOST = "lost"
    UNFIT = "unfit"
    """It was given back, since this machine can't hear just now."""
    GIVEN_BACK = "given back"
    KEPT = "kept"
    """It was finished, but the Bridge could not be told before the end."""


@dataclass
class Tools:
    """What all holds share."""

    clock: Clock
    tasks: Tasks
    coordinator: Coordinator
    ear: Ear
    engine: EngineInfo
    shelf: Shelf
    folder: Path
    places: asyncio.Semaphore
    changed: asyncio.Event
    """Set whenever a hold comes to another stage."""


class Hold:
    """One claimed part; `run` goes its whole way."""

    def __init__(self, claimed: Claimed, tools: Tools) -> None:
        self.stage = Stage.FETCHING
        self.why = ""
        """What went wrong, where something did."""
        self._task = claimed.task
        self._delivery: Delivery | None = None
        self._unwanted = asyncio.Event()
        self._tools = tools
        self._claim = Claim(claimed.ref, claimed.lease, tools.coordinator, tools.clock)
        # The Bridge's own name for it could lead anywhere on this disk.
        self._file = tools.folder / f"{uuid4().hex}.flac"

    @property
    def name(self) -> str:
        """What the log calls it."""
        # A Bridge's ids differ at their end, and its page counts from one.
        return f"part {self._task.chunk_index + 1} of {(self._task.job_id or self._task.task_id)[-8:]}"

    def give_back(self) -> None:
        """Let go of the part; if it is finished, its partial stays on the shelf."""
        self._unwanted.set()

    async def run(self) -> Ending:
        """Go the whole way; raises nothing but what nobody thought of."""
        tasks = self._tools.tasks
        body = tasks.spawn(self._body(), self.name, awaited=True)
        beats = tasks.spawn(self._claim.keep(), f"heartbeats of {self.name}", awaited=True)
        unwanted = tasks.spawn(self._unwanted.wait(), f"giving back {self.name}")
        try:
            await asyncio.wait({body, beats, unwanted}, return_when=asyncio.FIRST_COMPLETED)
            let_go = not body.done() and not beats.done()
            await cancel_and_wait(*(task for task in (body, beats) if not task.done()))
            if let_go:
                return await self._let_go()
            return await self._ended(beats if body.cancelled() else body)
        finally:
            await cancel_and_wait(body, beats, unwanted)
            await in_thread(self._tidy)

    async def _ended(self, task: "asyncio.Task[None]") -> Ending:
        """Say how it ended, and tell the Bridge where it must know."""
        try:
            task.result()
        except ClaimLost as error:
            _log.info("%s: %s", self.name, error.message)
            if self._delivery is not None:
                await self._delivery.lost()
            return Ending.LOST
        except Unfit as error:
            self.why = error.message
            await self._tell(wire.GIVEN_BACK, error.message)
            return Ending.UNFIT
        except PartFailed as error:
            self.why = error.message
            _log.warning("%s failed: %s", self.name, error.message)
            await self._tell(error.error_code, error.message)
            return Ending.FAILED
        return Ending.DELIVERED

    async def _let_go(self) -> Ending:
        if self.stage is Stage.FINISHED:
            return Ending.KEPT
        await self._tell(wire.GIVEN_BACK, wire.STOPPING)
        return Ending.GIVEN_BACK

    async def _tell(self, code: str, message: str) -> None:
        """Tell the Bridge that the claim came to nothing; where that fails, the lease ends by itself."""
        if self._tools.coordinator.refused:
            return
        said = clean(message.replace(str(self._tools.folder), ""), wire.MOST_ERROR_BYTES)
        with contextlib.suppress(BridgeError, TimeoutError):
            async with asyncio.timeout(_TELL_S):
                await self._tools.coordinator.fail(self._claim.ref, code, said)

    async def _body(self) -> None:
        given = self._task.input
        if given is None or self._task.workload != wire.TRANSCRIBE:
            raise PartFailed("unknown_workload", "This worker transcribes parts and does nothing else.")
        try:
            wanted = msgspec.json.decode(bytes(self._task.parameters), type=wire.SpeechParameters | None)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise PartFailed("bad_parameters", f"The part's parameters can't be read ({error}).") from error
        context = partial.context(wanted or wire.SpeechParameters(), given.sha256)
        key = partial.key(given.sha256, context, self._tools.engine)
        metrics: dict[str, float] = {}
        if (known := self._tools.shelf.find(key)) is not None:
            content = known.content
            _log.info("%s was heard before; it is only sent.", self.name)
        else:
            await self._claim.until_trusted()
            await self._fetch(given)
            content = await self._hear(context, metrics)
        kept = await self._keep(key, content)
        tools = self._tools
        self._delivery = Delivery(self._claim, kept, tools.shelf, tools.coordinator, tools.clock)
        await self._delivery.run(metrics)

    async def _fetch(self, given: wire.Input) -> None:
        tries = bad = 0
        while True:
            try:
                await self._tools.coordinator.fetch(given, self._file)
            except BadInput as error:
                bad += 1
                if bad >= _MOST_FETCHES:
                    raise PartFailed(wire.BAD_INPUT, error.message) from error
            except (BridgeAway, TokenRefused):
                tries += 1
                await self._tools.clock.sleep(full_jitter(tries, _RETRY_S, _LONGEST_RETRY_S))
            except NotTaken as error:
                raise PartFailed("input_refused", error.message) from error
            else:
                break
        self._now(Stage.READY)

    async def _hear(self, context: Context, metrics: dict[str, float]) -> str:
        clock = self._tools.clock
        async with self._tools.places:
            self._now(Stage.HEARING)
            began = clock.monotonic()
            content = await self._tools.ear.hear(self._file, context)
            metrics["elapsed_seconds"] = round(clock.monotonic() - began, 3)
        _log.info("%s is heard, in %.0f s.", self.name, metrics["elapsed_seconds"])
        return content.decode()

    async def _keep(self, key: str, content: str) -> Kept:
        ref, shelf = self._claim.ref, self._tools.shelf
        kept = Kept(
            url=self._tools.coordinator.url,
            worker_id=ref.worker_id,
            task_id=ref.task_id,
            attempt=ref.attempt,
            key=key,
            content=content,
            kept_at=shelf.now(),
        )
        try:
            await shelf.keep(kept)
        except OSError as error:
            _log.warning(
                "%s is delivered without being kept here first: %s", self.name, no_room(error).message
            )
        self._now(Stage.FINISHED)
        return kept

    def _now(self, stage: Stage) -> None:
        self.stage = stage
        self._tools.changed.set()

    def _tidy(self) -> None:
        with contextlib.suppress(OSError):
            self._file.unlink(missing_ok=True)
