"""Reading a book: what its files hold, learnt once and remembered, and which language is spoken in it."""

import contextlib
import hashlib
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from bridge_agent.base.clock import Clock, to_text
from bridge_agent.base.threads import in_thread
from bridge_agent.store import Database
from bridge_agent.transcription.audio.cut_file import CutFile
from bridge_agent.transcription.audio.errors import (
    AudioAway,
    AudioChanged,
    AudioError,
    DecoderDied,
    DecoderUnavailable,
    NoRoom,
)
from bridge_agent.transcription.guards import language as guard
from bridge_agent.transcription.model import RATE, FileSurvey, Part, Span, Survey
from bridge_agent.transcription.pipeline import learnt, troubles
from bridge_agent.transcription.pipeline.executor import Executor
from bridge_agent.transcription.pipeline.learnt import Spoken
from bridge_agent.transcription.pipeline.order import SourceFile
from bridge_agent.transcription.planning import plan as planning

_DEATHS = 2
"""How often a decoder may be ended from outside on one file before that fails the book."""

_log = logging.getLogger(__name__)


class Decoder(Protocol):
    """What is asked of the audio decoder."""

    async def name(self) -> str:
        """Return its name with its versions; raises DecoderUnavailable."""
        ...

    async def stamp(self, path: Path) -> str:
        """Return the stamp that a survey of this file would have; raises AudioAway."""
        ...

    async def survey(
        self, path: Path, relative: str, progress: Callable[[int], None] | None = None
    ) -> FileSurvey:
        """Survey a file; raises AudioAway, DecoderDied."""
        ...

    def cut(
        self, path: Path, parts: Sequence[Part], target: Callable[[Part], Path], ahead: int = 1
    ) -> AsyncIterator[tuple[Part, CutFile]]:
        """Yield a file's parts as FLAC files, in order."""
        ...

    async def pcm(self, path: Path) -> bytes:
        """Return a cut part's samples."""
        ...


class SourceChanged(Exception):
    """A file is not any more the one that the plan was made of; the book is read and planned anew."""


class Reader:
    """Surveys books and listens for their language. What was learnt is kept by what it follows from."""

    def __init__(self, db: Database, clock: Clock, decoder: Decoder) -> None:
        self._db = db
        self._clock = clock
        self._decoder = decoder

    async def survey(self, files: Sequence[SourceFile], progress: Callable[[float], None]) -> Survey:
        """Survey a book's files in reading order; `progress` is told the seconds of the book done.

        Raises Trouble for files that are not seen, DecoderUnavailable, DecoderDied.
        """
        name = await self._decoder.name()
        found: list[FileSurvey] = []
        done = 0.0
        for file in files:
            before = done

            def moved(samples: int, before: float = before) -> None:
                progress(before + samples / RATE)

            try:
                found.append(await self._file(name, file, moved))
            except AudioAway as away:
                raise troubles.source_away([each.path for each in files], away.message) from away
            done += found[-1].samples / RATE
            progress(done)
        return Survey(files=tuple(found), decoder=name)

    async def reads(self) -> bool:
        """Tell whether there is a decoder."""
        try:
            await self._decoder.name()
        except DecoderUnavailable:
            return False
        return True

    async def marks(self, files: Sequence[SourceFile]) -> list[tuple[str, int, str]]:
        """Return each file's path in the book, its size, and a stamp of its content, without decoding it.

        Raises Trouble where one is not seen.
        """
        try:
            return [(each.relative, 0, await self._decoder.stamp(each.path)) for each in files]
        except AudioAway as away:
            raise troubles.source_away([each.path for each in files], away.message) from away

    async def language(
        self, survey: Survey, files: Sequence[SourceFile], listener: Executor, model: str, folder: Path
    ) -> Spoken:
        """Return the language that is spoken in a book, by votes of samples from all over it.

        None where no sample tells: each part is then heard in the language it seems to be in. Raises Trouble,
        SourceChanged, EngineError.
        """
        places = planning.language_places(survey)
        key = _digest([planning.RULES, model, [[survey.files[f].content, s] for f, s in places]])
        known = await self._db.read(lambda c: learnt.language(c, key))
        if known is not None:
            return known
        try:
            heard = await self._listen(places, files, listener, model, folder)
        except NoRoom as full:
            raise troubles.disk_full(folder, full.message) from full
        except AudioAway as away:
            raise troubles.source_away([each.path for each in files], away.message) from away
        except AudioChanged as changed:
            raise SourceChanged(changed.message) from changed
        except AudioError as error:
            _log.warning("The language could not be listened for: %s", error.message)
            return Spoken(None, sure=False)
        spoken = Spoken(None, sure=False)
        if any(heard):
            vote = guard.vote(heard)
            spoken = Spoken(vote.language, vote.sure)
        now = to_text(self._clock.now())
        await self._db.write(lambda c: learnt.keep_language(c, key, spoken, now))
        return spoken

    async def _file(self, name: str, file: SourceFile, progress: Callable[[int], None]) -> FileSurvey:
        stamp = await self._decoder.stamp(file.path)
        now = to_text(self._clock.now())
        key = _digest([name, file.relative, stamp])
        known = await self._db.write(lambda c: learnt.survey(c, key, now))
        if known is not None:
            return known
        found = await self._surveyed(file, progress)
        key = _digest([name, file.relative, found.stamp])
        await self._db.write(lambda c: learnt.keep_survey(c, key, found, now))
        return found

    async def _surveyed(self, file: SourceFile, progress: Callable[[int], None]) -> FileSurvey:
        for _ in range(_DEATHS):
            try:
                return await self._decoder.survey(file.path, file.relative, progress)
            except DecoderDied as died:
                _log.warning("%s was not read to its end: %s", file.relative, died.message)
        return await self._decoder.survey(file.path, file.relative, progress)

    async def _listen(
        self,
        places: Sequence[tuple[int, Span]],
        files: Sequence[SourceFile],
        listener: Executor,
        model: str,
        folder: Path,
    ) -> list[Mapping[str, float]]:
        heard: list[Mapping[str, float]] = []
        for file in sorted({file for file, _ in places}):
            parts = [_sample(number, file, span) for number, (at, span) in enumerate(places) if at == file]
            cuts = self._decoder.cut(files[file].path, parts, lambda p: folder / f"sample-{p.number}.flac", 0)
            async with contextlib.aclosing(cuts) as cutting:  # type: ignore[type-var]
                async for _, cut in cutting:
                    probabilities = await listener.detect_language(cut.path, model)
                    await in_thread(cut.path.unlink, True)
                    if probabilities is None:
                        return []
                    heard.append(probabilities)
        return heard


def _sample(number: int, file: int, span: Span) -> Part:
    return Part(
        number=number,
        file=file,
        start=span.start,
        end=span.end,
        own_start=span.start,
        own_end=span.end,
    )


def _digest(parts: list[object]) -> str:
    return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()
