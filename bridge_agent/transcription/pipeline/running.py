"""One run of a recording: its parts are cut ahead and heard, until all of them have come to an end."""

import contextlib
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from bridge_agent.base.clock import to_text
from bridge_agent.base.threads import in_thread
from bridge_agent.store.database import StoreFull
from bridge_agent.transcription.model import Plan, Survey
from bridge_agent.transcription.pipeline import converting, recordings, tasks, troubles, words
from bridge_agent.transcription.pipeline.converting import Converting
from bridge_agent.transcription.pipeline.crew import Bell, Crew
from bridge_agent.transcription.pipeline.executor import Executor
from bridge_agent.transcription.pipeline.hearing import Hearing
from bridge_agent.transcription.pipeline.live import Live, message
from bridge_agent.transcription.pipeline.local import NAME as THIS_COMPUTER
from bridge_agent.transcription.pipeline.order import Order, Progress
from bridge_agent.transcription.pipeline.recordings import Recording, State
from bridge_agent.transcription.pipeline.tasks import Task
from bridge_agent.transcription.pipeline.tools import Tools, holder

_FALLEN_IN_A_ROW = 3
"""After so many parts that fell with none done between them the rest is not tried."""
_NOBODY = "Nobody is there to transcribe; invite a worker on the Bridge’s page."
_PASS_S = 0.1
"""Between two looks at the whole, however often parts come back."""
_TELL_S = 0.5
_COUNT_S = 10.0


class Run:
    """A recording under way. Ends with the recording, with a trouble, or when it is cancelled."""

    def __init__(
        self,
        tools: Tools,
        order: Order,
        recording: Recording,
        plan: Plan,
        survey: Survey,
        live: Live,
        progress: Progress,
    ) -> None:
        self._tools = tools
        self._recording = recording
        self._plan = plan
        self._live = live
        self._progress = progress
        self._folder = tools.folder / str(recording.id)
        self._bell = Bell(tools.clock)
        self._crew = Crew(tools.clock, tools.tasks, self._folder, self._bell)
        self._fallen_in_a_row = 0
        self._told_at = -_TELL_S
        self._counted_at = tools.clock.monotonic()
        self._converting = Converting(tools, recording.id, plan, survey, order.files)
        self._hearing = {
            executor.name: Hearing(tools, recording.id, plan, order.settings.model, executor, live)
            for executor in tools.executors
        }

    async def to_the_end(self) -> State:
        """Work until the recording has ended, and return the state it is in then.

        Raises Trouble when nothing can be done before somebody mends something, SourceChanged when a file is
        not any more the one that the plan was made of.
        """
        self._tools.desk.moved.append(self._moved)
        try:
            await self._begin()
            while True:
                look = self._bell.look()
                if (ended := await self._ended()) != "open":
                    return ended
                with contextlib.suppress(StoreFull):
                    await self._tools.desk.settle()
                self._man_the_places()
                self._tell()
                await self._count_time(_COUNT_S)
                await self._check()
                await self._bell.wait(look, _PASS_S)
        finally:
            self._tools.desk.moved.remove(self._moved)
            await self._tools.tasks.shielded(self._close(), "end of a run")

    async def _begin(self) -> None:
        """Begin from what store and disk hold: nobody here works on this recording yet."""
        tools, now = self._tools, self._now()
        await tools.desk.settle()
        await tools.desk.give_back_all(holder(self._recording.id, ""))
        found = await tools.db.read(lambda c: tasks.of_recording(c, self._recording.id))
        cut = [task for task in found if task.state == "converted"]
        gone = await in_thread(_without_audio, self._folder, cut)

        def unit(c: sqlite3.Connection) -> None:
            for task in gone:
                tasks.lost_audio(c, task, now)

        if gone:
            await tools.db.write(unit)
        self._live.finished = {task.number for task in found if task.state == "done"}

    async def _ended(self) -> State:
        """Write the recording's end down when its parts have come to theirs; return its state."""
        id_, now = self._recording.id, self._now()
        counts = await self._tools.db.read(lambda c: tasks.counts(c, id_))
        fallen = counts.get("dead", 0) + counts.get("failed", 0)
        left = counts.get("created", 0) + counts.get("converted", 0)
        if not fallen and not left:
            await self._tools.db.write(lambda c: recordings.complete(c, id_, now))
        elif fallen and (not left or self._fallen_in_a_row >= _FALLEN_IN_A_ROW):
            found = await self._tools.db.read(lambda c: tasks.of_recording(c, id_))
            sentence = words.fallen(self._plan, self._recording.title, found)
            await self._tools.desk.write_all(lambda c: recordings.fail(c, id_, sentence, now))
        # Somebody else may have ended it meanwhile: a cancel, say.
        return await self._tools.db.read(lambda c: recordings.state(c, id_))

    def _moved(self, task: Task) -> None:
        if task.recording_id != self._recording.id:
            return
        if task.state == "done":
            self._fallen_in_a_row = 0
            self._live.finished.add(task.number)
            self._live.heard_here.add(task.number)
            # Not waited for: the last part's end is the recording's, and nothing may be cancelled after it.
            self._tools.tasks.spawn(in_thread(_remove, self._folder, task), "removal of cut audio")
        elif task.state in ("dead", "failed"):
            self._fallen_in_a_row += 1
        self._bell.ring()

    def _man_the_places(self) -> None:
        """Have a worker for the cutting and one for each place that executors have now."""
        self._crew.hire(converting.NAME, self._converting.run_once, lambda: True)
        for executor in self._tools.executors:
            for place in range(0 if executor.pulls else executor.places):
                self._hire(self._hearing[executor.name], _worker(executor, place), place)

    def _hire(self, hearing: Hearing, name: str, place: int) -> None:
        self._crew.hire(name, lambda: hearing.run_once(place), lambda: hearing.may_take(place))

    async def _check(self) -> None:
        """Raise what ended a worker, and the trouble for which nobody can do anything any more."""
        self._crew.check()
        planned = self._plan.settings.model
        if not any(map(_able(planned), self._tools.executors)):
            raise nobody(self._tools.executors, planned)
        listeners = [
            _worker(executor, place)
            for executor in self._tools.executors
            for place in range(0 if executor.pulls else executor.places)
        ]
        trouble = self._crew.troubled(listeners)
        if trouble is None and (stuck := self._crew.trouble(converting.NAME)) is not None:
            # What is cut already can still be heard, which also makes room on the disk.
            counts = await self._tools.db.read(lambda c: tasks.counts(c, self._recording.id))
            trouble = None if counts.get("converted") else stuck
        if trouble is not None:
            raise trouble

    def _tell(self) -> None:
        now = self._tools.clock.monotonic()
        if now - self._told_at < _TELL_S:
            return
        self._told_at = now
        places, live = self._tools.places(), self._live
        said = message(live.estimator.speed(places), live.left_s(places, now))
        self._progress("transcribe", said, round(live.done_s(now), 1), round(live.total_s, 1))

    async def _count_time(self, least_s: float) -> None:
        """Write down the seconds that were spent, every now and then."""
        now = self._tools.clock.monotonic()
        spent = now - self._counted_at
        if spent >= least_s:
            self._counted_at = now
            await self._tools.db.write(lambda c: recordings.spent(c, self._recording.id, spent, self._now()))

    async def _close(self) -> None:
        await self._crew.close()
        await self._converting.close()
        with contextlib.suppress(StoreFull):
            await self._count_time(0.0)

    def _now(self) -> str:
        return to_text(self._tools.clock.now())


def nobody(executors: Sequence[Executor], planned: str | None = None) -> troubles.Trouble:
    """Return the trouble that nobody is there who could transcribe, or a book that is planned for a model."""
    sentence = (
        _away(each for each in executors if not each.pulls and each.name != THIS_COMPUTER)
        or _unsuited(executors, planned)
        or _away(each for each in executors if each.pulls)
        or _offline([each.name for each in executors if each.pulls and not each.places])
        # Where workers were invited they are what is waited for, whatever this computer lacks.
        or _away(executors)
        or _NOBODY
    )

    async def somebody() -> bool:
        return any(map(_able(planned), executors))

    return troubles.no_engine(sentence, somebody)


def _away(executors: Iterable[Executor]) -> str | None:
    return next((why for each in executors if (why := each.why_none()) is not None), None)


def _unsuited(executors: Sequence[Executor], planned: str | None) -> str | None:
    if planned is None:
        return None
    there = [each.why_not(planned) for each in executors if each.places]
    return next((why for why in there if why is not None), None)


def _offline(names: Sequence[str]) -> str | None:
    if not names:
        return None
    if len(names) == 1:
        return f"The worker “{names[0]}” is offline; start it, and the book goes on by itself."
    shown = ", ".join(f"“{name}”" for name in names[:3])
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"All workers are offline ({shown}{more}); start one, and the book goes on by itself."


def _able(planned: str | None) -> Callable[[Executor], bool]:
    """Tell of an executor whether it takes parts now, of a book planned for a model."""
    return lambda executor: bool(executor.places) and (planned is None or executor.why_not(planned) is None)


def _worker(executor: Executor, place: int) -> str:
    return f"{executor.name}/{place}"


def _remove(folder: Path, task: Task) -> None:
    with contextlib.suppress(OSError):
        (folder / f"{task.number}.flac").unlink(missing_ok=True)


def _without_audio(folder: Path, cut: Sequence[Task]) -> list[Task]:
    """Return the tasks whose cut audio is not on disk as it was written; removes what nobody names."""
    wanted = {f"{task.number}.flac": task for task in cut}
    for path in folder.glob("*") if folder.is_dir() else ():
        if path.name not in wanted:
            path.unlink(missing_ok=True)
    return [
        task
        for name, task in wanted.items()
        if not (folder / name).is_file() or (folder / name).stat().st_size != task.size
    ]
