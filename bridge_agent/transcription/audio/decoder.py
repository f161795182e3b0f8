"""The audio decoder as the rest of the Bridge uses it: child processes of low priority do the work."""

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import msgspec

from bridge_agent.base.clock import Clock
from bridge_agent.base.tasks import Tasks, cancel_and_wait
from bridge_agent.base.threads import files
from bridge_agent.transcription.audio import fingerprint, messages, problems
from bridge_agent.transcription.audio.cut_file import CutFile
from bridge_agent.transcription.audio.errors import (
    AudioAway,
    AudioFailed,
    AudioUnreadable,
    DecoderDied,
    DecoderUnavailable,
)
from bridge_agent.transcription.audio.process import Child, ChildGone, Fate, Limits, failure
from bridge_agent.transcription.model import FileSurvey, Part, Survey

_log = logging.getLogger(__name__)

_MOST_IDLE = 2
_FILES_SECONDS = 60.0


class Decoder:
    """Surveys, cuts and reads audio. A cancelled call kills its child; a file that breaks one costs itself.

    Each call runs in a child of its own, so that a cut that waits for its consumer holds nobody up; a child
    that is done is used again, and ends when nobody needs it for a while.
    """

    def __init__(self, clock: Clock, tasks: Tasks, limits: Limits | None = None) -> None:
        self._clock = clock
        self._tasks = tasks
        self._limits = limits or Limits()
        self._idle: dict[Child, asyncio.Task[None]] = {}
        self._busy: set[Child] = set()
        self._name = ""

    async def name(self) -> str:
        """Return the decoder's name with its versions, as it stands in surveys; raises DecoderUnavailable."""
        if not self._name:
            async with self._lent():
                pass
        return self._name

    async def stamp(self, path: Path) -> str:
        """Return the stamp that a survey of this file, as it is now, would have; raises AudioAway."""
        try:
            return await files.call(_FILES_SECONDS, fingerprint.stamp, path)
        except (OSError, TimeoutError) as error:
            why = getattr(error, "strerror", None) or "no answer"
            raise AudioAway(
                f"“{_shown(path)}” can't be read ({why}); check that its drive is connected."
            ) from error

    async def survey(
        self, path: Path, relative: str, progress: Callable[[int], None] | None = None
    ) -> FileSurvey:
        """Survey one file; `relative` is its path in the book. `progress` is told the samples done.

        What is wrong with the file is in the answer. Raises AudioAway, DecoderUnavailable, DecoderDied.
        """
        name = relative.encode("utf-8", "replace").decode()
        try:
            async with self._lent(progress) as child:
                await child.send(messages.Survey(path=os.fsencode(path), name=name))
                reply = await child.next()
                if not isinstance(reply, messages.Surveyed):
                    raise failure(reply)
        except ChildGone as gone:
            return await self._unread(path, relative, _blamed(gone, name))
        except (AudioFailed, AudioUnreadable) as error:
            # Something nobody thought of costs this file, and the log tells what it was.
            _log.warning("“%s” can't be surveyed: %s", name, error.message)
            return await self._unread(path, relative, problems.undecodable(name))
        return msgspec.structs.replace(reply.found, path=relative)

    async def survey_book(
        self, book: Sequence[tuple[Path, str]], progress: Callable[[int], None] | None = None
    ) -> Survey:
        """Survey a book's files in reading order; `progress` is told the samples of the whole book done."""
        found: list[FileSurvey] = []
        done = 0
        for path, relative in book:
            before = done

            def moved(samples: int, before: int = before) -> None:
                if progress is not None:
                    progress(before + samples)

            found.append(await self.survey(path, relative, moved))
            done += found[-1].samples
            moved(found[-1].samples)
        return Survey(files=tuple(found), decoder=await self.name())

    async def cut(
        self, path: Path, parts: Sequence[Part], target: Callable[[Part], Path], ahead: int = 1
    ) -> AsyncIterator[tuple[Part, CutFile]]:
        """Yield one file's parts as FLAC files, in order, decoding the file once.

        No more than `ahead` parts lie on disk beyond the one last taken. Close the iterator
        (`contextlib.aclosing`) to stop early. Raises AudioChanged, AudioUnreadable, AudioAway, NoRoom,
        DecoderUnavailable, DecoderDied.
        """
        if not parts:
            return
        ordered = tuple(sorted(parts, key=lambda part: (part.start, part.number)))
        targets = [target(part) for part in ordered]
        wanted = messages.Cut(
            path=os.fsencode(path),
            parts=ordered,
            targets=tuple(map(os.fsencode, targets)),
            ahead=1 + ahead,
        )
        try:
            async with self._lent() as child:
                await child.send(wanted)
                for part, place in zip(ordered, targets, strict=True):
                    done = await child.next()
                    if not isinstance(done, messages.CutPart):
                        raise failure(done)
                    yield part, CutFile(path=place, sha256=done.sha256, size=done.size, samples=done.samples)
                    await child.send(messages.More())
                if not isinstance(reply := await child.next(), messages.Ended):
                    raise failure(reply)
        except ChildGone as gone:
            raise AudioUnreadable(_blamed(gone, _shown(path)).sentence) from gone

    async def pcm(self, path: Path) -> bytes:
        """Return a cut part's samples, int16 little-endian; raises AudioUnreadable, DecoderDied."""
        try:
            async with self._lent() as child:
                await child.send(messages.Pcm(path=os.fsencode(path)))
                reply = await child.next()
                if not isinstance(reply, messages.Samples):
                    raise failure(reply)
                return reply.pcm
        except ChildGone as gone:
            raise DecoderDied from gone

    async def stop(self) -> None:
        """End all children at once."""
        sleepers, children = list(self._idle.values()), [*self._idle, *self._busy]
        self._idle.clear()
        self._busy.clear()
        await cancel_and_wait(*sleepers)
        for child in children:
            await child.kill()

    @contextlib.asynccontextmanager
    async def _lent(self, progress: Callable[[int], None] | None = None) -> AsyncIterator[Child]:
        """Lend a child; one that was not left in good order is killed."""
        child = await self._child()
        child.moved = progress
        try:
            yield child
        except BaseException:
            await self._end(child)
            raise
        child.moved = None
        self._rest(child)

    async def _child(self) -> Child:
        while self._idle:
            child, sleeper = self._idle.popitem()
            sleeper.cancel()
            if child.usable:
                self._busy.add(child)
                return child
        child = Child(self._clock, self._tasks, self._limits)
        self._busy.add(child)
        try:
            await child.start()
        except ChildGone as gone:
            self._busy.discard(child)
            raise DecoderUnavailable(
                "The audio decoder does not start; look at the log for why, and try again."
            ) from gone
        except BaseException:
            await self._end(child)
            raise
        self._name = child.decoder
        return child

    def _rest(self, child: Child) -> None:
        self._busy.discard(child)
        if child.usable:
            self._idle[child] = self._tasks.spawn(self._end_when_idle(child), "idle decoder child")

    async def _end_when_idle(self, child: Child) -> None:
        if len(self._idle) <= _MOST_IDLE:
            await self._clock.sleep(self._limits.idle)
        if self._idle.pop(child, None) is not None:
            await child.kill()

    async def _end(self, child: Child) -> None:
        self._busy.discard(child)
        await self._tasks.shielded(child.kill(), "ending a decoder child")

    async def _unread(self, path: Path, relative: str, problem: problems.Problem) -> FileSurvey:
        try:
            stat = await files.call(_FILES_SECONDS, path.stat)
            content = await files.call(_FILES_SECONDS, fingerprint.content_bytes, path)
        except (OSError, TimeoutError) as error:
            raise AudioAway(
                f"“{_shown(path)}” does not answer; check that its drive is connected."
            ) from error
        return FileSurvey(
            path=relative,
            size=stat.st_size,
            content=content,
            stamp=await self.stamp(path),
            samples=0,
            problem=problem.code,
            sentence=problem.sentence,
        )


def _blamed(gone: ChildGone, name: str) -> problems.Problem:
    """Return what is wrong with the file that a child ended on; raises where the file is not to blame."""
    match gone.fate:
        case Fate.CRASHED:
            return problems.crashed(name)
        case Fate.HUNG:
            return problems.hung(name)
        case Fate.WAITED:
            raise AudioAway(
                f"The drive with “{Path(name).name}” does not answer; check that it is connected."
            ) from gone
        case Fate.ENDED:
            raise DecoderDied from gone


def _shown(path: Path) -> str:
    return path.name.encode("utf-8", "replace").decode()
