"""One streaming pass over an audio file: true length, pauses, damage, chapters. In a child only."""

import hashlib
import threading
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import msgspec

from bridge_agent.transcription.audio import fingerprint, marks, problems
from bridge_agent.transcription.audio.decode import Decoding, NoAudio, NoCodec, decoding
from bridge_agent.transcription.audio.errors import AudioAway, AudioUnreadable
from bridge_agent.transcription.audio.levels import LEVELS, Meter
from bridge_agent.transcription.audio.places import Places
from bridge_agent.transcription.audio.problems import Problem
from bridge_agent.transcription.audio.promise import promised
from bridge_agent.transcription.audio.quiet import PauseFinder
from bridge_agent.transcription.audio.resample import Pcm
from bridge_agent.transcription.audio.source import Source, asking
from bridge_agent.transcription.model import RATE, FileSurvey

_SILENT = LEVELS - 2 * 60
"""A file that stays below -60 decibels of full scale has nothing to hear."""
_SHORT = 0.5
"""Seconds by which a file may fall short of what its header says."""


def survey_file(
    path: Path,
    relative: str,
    progress: Callable[[int], None] | None,
    stop: threading.Event,
) -> FileSurvey:
    """Survey one file; what is wrong with it is in the answer. `progress` is told the samples done.

    Raises Stopped, and AudioAway where the file system does not answer.
    """
    try:
        with asking.now():
            size, stamp, content = _looked_at(path)
            problem = problems.look(path, relative)
    except OSError as error:
        raise _away(relative, error) from error
    unread = FileSurvey(path=relative, size=size, stamp=stamp, content=content, samples=0)
    if problem is not None:
        return _with(unread, problem)
    try:
        source, decode = decoding(path, stop)
    except NoAudio:
        return _with(unread, problems.no_audio(relative))
    except NoCodec:
        return _with(unread, problems.no_codec(relative, path.suffix.lstrip(".")))
    except AudioUnreadable:
        return _with(unread, problems.undecodable(relative))
    with source:
        return _Pass(path, unread, source, decode).run(progress)


class _Pass:
    """The pass itself, and what it gathers."""

    def __init__(self, path: Path, unread: FileSurvey, source: Source, decode: Decoding) -> None:
        self._path = path
        self._unread = unread
        self._source = source
        self._decode = decode
        self._digest = hashlib.sha256()
        self._meter = Meter()
        self._pauses = PauseFinder()
        self._places = Places()

    def run(self, progress: Callable[[int], None] | None) -> FileSurvey:
        """Read the file to its end."""
        for block in self._decode.blocks():
            self._hear(block)
            if progress is not None:
                progress(self._decode.line.samples)
        for loud in [*self._pauses.feed(self._meter.end()), *self._pauses.end()]:
            self._places.feed(loud)
        if not self._decode.decoded:
            return _with(self._unread, problems.undecodable(self._unread.path))
        return self._found(self._decode.line.samples)

    def _hear(self, block: Pcm) -> None:
        self._digest.update(block.astype("<i2", copy=False).tobytes())
        for loud in self._pauses.feed(self._meter.feed(block)):
            self._places.feed(loud)

    def _found(self, samples: int) -> FileSurvey:
        problem = self._problem(samples)
        chapters = marks.of_file(self._path, self._decode.container, samples, self._unread.path)
        found = FileSurvey(
            path=self._unread.path,
            size=self._unread.size,
            stamp=self._unread.stamp,
            content=self._digest.hexdigest(),
            samples=samples,
            pauses=tuple(self._pauses.pauses),
            damage=tuple(self._decode.line.damage),
            chapters=chapters,
            loud=self._places.found(samples),
        )
        return found if problem is None else _with(found, problem)

    def _problem(self, samples: int) -> Problem | None:
        name = self._unread.path
        line = self._decode.line
        promise = promised(self._path, self._decode.container.format.name, self._decode.declared)
        missing = 0.0 if promise.seconds is None else promise.seconds - samples / RATE
        refused = self._source.refused is not None
        if promise.cut or refused or (missing > _SHORT and promise.counted):
            line.ends_early()
            return problems.cut_off(name, samples, missing)
        damage = [d for d in line.damage if d.reason == "damaged"]
        if damage:
            lost = max(missing, sum(d.end - d.start for d in damage) / RATE)
            return problems.damaged(name, len(damage), lost)
        return problems.silent(name) if self._pauses.loudest < _SILENT else None


def _looked_at(path: Path) -> tuple[int, str, str]:
    return path.stat().st_size, fingerprint.stamp(path), fingerprint.content_bytes(path)


def _with(found: FileSurvey, problem: Problem) -> FileSurvey:
    return msgspec.structs.replace(found, problem=problem.code, sentence=problem.sentence)


def _away(relative: str, error: OSError) -> AudioAway:
    name = PurePosixPath(relative).name
    return AudioAway(
        f"“{name}” can't be read ({error.strerror or type(error).__name__}); "
        "check that its drive is connected and that the Bridge may read it."
    )
