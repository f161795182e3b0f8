"""One run of one step: claim a part, work on it, hand in what came of it; and what counts as a failure."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from bridge_agent.base.errors import BridgeError
from bridge_agent.base.tasks import Tasks
from bridge_agent.store.database import StoreFull
from bridge_agent.transcription.pipeline.desk import Desk
from bridge_agent.transcription.pipeline.signs import Poll
from bridge_agent.transcription.pipeline.tasks import Task
from bridge_agent.transcription.pipeline.troubles import Trouble

_log = logging.getLogger(__name__)

Polled = Callable[[Poll], Awaitable[Task]]
Work = Callable[[Task], Awaitable[Task | None]]
"""Works on a claimed part and hands in what came of it: the task as it is then, None if the claim is lost."""


class Waiting(BridgeError):
    """The step waits for something that is not ours; it looks again by itself."""

    code = "waiting"

    def __init__(self, sentence: str, seconds: float) -> None:
        """Hold what is waited for, and the step's own constant delay until the next look (P-051)."""
        super().__init__(sentence)
        self.seconds = seconds


class Verdict(BridgeError):
    """The part can't be done, however often it is tried; see the sentence."""

    code = "part_failed"


class Stepper:
    """Runs one step again and again, a part at a time. `name` is the step's, as it is counted."""

    def __init__(self, name: str, desk: Desk, tasks: Tasks, poll: Polled, work: Work) -> None:
        self._name = name
        self._desk = desk
        self._tasks = tasks
        self._poll = poll
        self._work = work

    async def run_once(self) -> bool:
        """Do what there is to do for one part; tell whether there was one (else the caller rests a while).

        Raises Trouble, once the claim is given back, for what is wrong with more than this part; StoreFull
        and the like where nothing can be written down. A cancelled run gives its claim back first.
        """
        poll = Poll()
        try:
            task = await self._claimed(poll)
        except Exception as error:
            if poll.found_nothing(error):
                return False
            self._failed(None, error)
            if isinstance(error, Trouble | StoreFull):
                raise
            return False
        if task.state == "dead":
            self._failed(task, Verdict(task.error or "It was begun too often and never came to its end."))
            return True
        await self._worked(task)
        return True

    async def _claimed(self, poll: Poll) -> Task:
        """Claim; a claim that nobody waits for any more is given back at once (law 3)."""
        claiming = self._tasks.spawn(_awaited(self._poll(poll)), f"{self._name}: claim", awaited=True)
        try:
            return await asyncio.shield(claiming)
        except asyncio.CancelledError:
            await self._tasks.shielded(self._returned(claiming), f"{self._name}: give back")
            raise

    async def _returned(self, claiming: "asyncio.Task[Task]") -> None:
        await asyncio.wait({claiming})
        if claiming.cancelled() or claiming.exception() is not None:
            return
        task = claiming.result()
        if task.state != "dead":
            await self._desk.let_go(task.claim)

    async def _worked(self, task: Task) -> None:
        try:
            await self._to_its_end(task)
        except StoreFull:
            # Nothing more can be written down of it either, before there is room.
            self._desk.leave(task.claim)
            raise

    async def _to_its_end(self, task: Task) -> None:
        try:
            if await self._work(task) is not None:
                self._desk.work[self._name, "success"] += 1
        except asyncio.CancelledError:
            await self._tasks.shielded(self._desk.let_go(task.claim), f"{self._name}: give back")
            raise
        except Waiting as waiting:
            _log.info("Part %d of recording %d waits: %s", task.number, task.recording_id, waiting.message)
            await self._desk.wait(task.claim, waiting.seconds)
            self._desk.work[self._name, "success"] += 1
        except Trouble as trouble:
            self._failed(task, trouble)
            await self._desk.let_go(task.claim)
            raise
        except StoreFull as full:
            self._failed(task, full)
            raise
        except Verdict as verdict:
            self._failed(task, verdict)
            await self._desk.fail(task.claim, verdict.message)
        except Exception as error:
            self._failed(task, error)
            await self._desk.again(task, said(error))

    def _failed(self, task: Task | None, error: Exception) -> None:
        self._desk.work[self._name, "failure"] += 1
        where = "" if task is None else f" on task {task.id} (part {task.number} of {task.recording_id})"
        known = isinstance(error, BridgeError)
        _log.warning(
            "The step “%s” failed%s: %s", self._name, where, said(error), exc_info=None if known else error
        )


async def _awaited(work: Awaitable[Task]) -> Task:
    return await work


def said(error: Exception) -> str:
    """Return the sentence of an error, for whoever reads why a part failed."""
    if isinstance(error, BridgeError):
        return error.message
    return f"The Bridge made a mistake here ({type(error).__name__}); its log says more."
