"""Pauses out of levels, as they stream by: what is quiet is judged by the minutes around it."""

from collections import deque
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from bridge_agent.transcription.audio.levels import FRAME, LEVELS, Levels
from bridge_agent.transcription.model import Span

LEAST_FRAMES = 10
"""A pause lasts at least 0.2 s."""
SILENCE = LEVELS - 2 * 70
"""Below -70 decibels of full scale nobody hears anything."""

_BLOCK = 3000
"""Frames judged by one threshold: a minute."""
_AROUND = 2
"""Minutes before and after that count for it."""
_BELOW_LOUD_LEAST = 2 * 18
_BELOW_LOUD_MOST = 2 * 34
_ABOVE_FLOOR = 2 * 6

_Counts = npt.NDArray[np.int64]


def threshold(counts: _Counts) -> int:
    """Return the level below which a frame is quiet: a little over the floor, well below the loud (95 %)."""
    total = np.cumsum(counts)
    loud = int(np.searchsorted(total, total[-1] * 0.95))
    floor = int(np.searchsorted(total, total[-1] * 0.05))
    wanted = min(max(floor + _ABOVE_FLOOR, loud - _BELOW_LOUD_MOST), loud - _BELOW_LOUD_LEAST)
    return max(wanted, SILENCE)


class PauseFinder:
    """Takes levels, gives pauses and which frames are loud; holds some minutes, never the whole file."""

    def __init__(self) -> None:
        self._pending = np.zeros(0, np.uint8)
        self._blocks: deque[tuple[Levels, _Counts]] = deque()
        self._judged = 0
        """How many of the blocks held are judged already and kept for their neighbours' sake."""
        self._frame = 0
        self._quiet_from: int | None = None
        self._levels = np.zeros(LEVELS + 1, np.int64)
        self.pauses: list[Span] = []

    def feed(self, levels: Levels) -> list[npt.NDArray[np.bool_]]:
        """Return, block after block, which frames are loud, as far as that is decided."""
        self._pending = np.concatenate((self._pending, levels))
        decided = []
        while len(self._pending) >= _BLOCK:
            self._add(self._pending[:_BLOCK])
            self._pending = self._pending[_BLOCK:]
            if len(self._blocks) - self._judged > _AROUND:
                decided.append(self._judge())
        return decided

    def end(self) -> list[npt.NDArray[np.bool_]]:
        """Return which of the remaining frames are loud, and close the last pause."""
        if len(self._pending):
            self._add(self._pending)
        decided = []
        while self._judged < len(self._blocks):
            decided.append(self._judge())
        self._close(self._frame)
        return decided

    @property
    def loudest(self) -> int:
        """The level that all but one frame in a thousand stay below."""
        total = np.cumsum(self._levels)
        return int(np.searchsorted(total, total[-1] * 0.999))

    def _add(self, levels: Levels) -> None:
        counts = np.bincount(levels, minlength=LEVELS + 1).astype(np.int64)
        self._levels += counts
        self._blocks.append((levels, counts))

    def _judge(self) -> npt.NDArray[np.bool_]:
        nearby = list(self._blocks)[max(0, self._judged - _AROUND) : self._judged + _AROUND + 1]
        limit = threshold(np.sum([counts for _, counts in nearby], axis=0))
        loud = self._blocks[self._judged][0] >= limit
        self._note(loud)
        self._judged += 1
        while self._judged > _AROUND:
            self._blocks.popleft()
            self._judged -= 1
        return np.asarray(loud)

    def _note(self, loud: npt.NDArray[np.bool_]) -> None:
        edges = np.flatnonzero(np.diff(loud.astype(np.int8))) + 1
        starts: Sequence[int] = [0, *edges.tolist()]
        for start in starts:
            if loud[start]:
                self._close(self._frame + start)
            elif self._quiet_from is None:
                self._quiet_from = self._frame + start
        self._frame += len(loud)

    def _close(self, frame: int) -> None:
        start, self._quiet_from = self._quiet_from, None
        if start is not None and frame - start >= LEAST_FRAMES:
            self.pauses.append(Span(start=start * FRAME, end=frame * FRAME))
