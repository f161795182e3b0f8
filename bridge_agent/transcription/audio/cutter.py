"""A file's parts, cut in one sequential decode, each when it is asked for. In a decoder child only."""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from bridge_agent.transcription.audio import flac
from bridge_agent.transcription.audio.cut_file import CutFile
from bridge_agent.transcription.audio.decode import decoding
from bridge_agent.transcription.audio.errors import AudioChanged
from bridge_agent.transcription.audio.resample import Pcm
from bridge_agent.transcription.model import Part


def cut(
    path: Path, parts: Sequence[Part], target: Callable[[Part], Path], stop: threading.Event
) -> Iterator[tuple[Part, CutFile]]:
    """Yield one file's parts in order as FLAC files, decoding no further than the part asked for.

    Raises AudioChanged when the file ends before a part does, NoRoom, Stopped, AudioAway, AudioUnreadable.
    """
    if not parts:
        return
    source, decode = decoding(path, stop)
    with source:
        window = _Window(decode.blocks())
        for part in sorted(parts, key=lambda p: (p.start, p.number)):
            yield part, flac.write(target(part), window.take(part.start, part.end, path.name))


class _Window:
    """The stretch of a running decode that is still wanted."""

    def __init__(self, blocks: Iterator[Pcm]) -> None:
        self._blocks = blocks
        self._kept: deque[Pcm] = deque()
        self._start = 0
        self._end = 0

    def take(self, start: int, end: int, name: str) -> Pcm:
        """Return samples `start` to `end`; later calls never ask for earlier starts."""
        while self._end < end:
            block = next(self._blocks, None)
            if block is None:
                shown = name.encode("utf-8", "replace").decode()
                raise AudioChanged(
                    f"“{shown}” is shorter than when it was surveyed; start the transcription again."
                )
            self._kept.append(block)
            self._end += len(block)
            self._drop(start)
        self._drop(start)
        joined = np.concatenate(self._kept) if self._kept else np.zeros(0, np.int16)
        return joined[start - self._start : end - self._start]

    def _drop(self, start: int) -> None:
        while self._kept and self._start + len(self._kept[0]) <= start:
            self._start += len(self._kept.popleft())
