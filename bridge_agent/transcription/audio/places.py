"""Places to listen for the language: half a minute each, likely speech, spread over the file."""

import numpy as np
import numpy.typing as npt

from bridge_agent.transcription.audio.levels import FRAME
from bridge_agent.transcription.model import RATE, Span

_CELL = 10 * RATE
_CELLS = 3
_SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
_LEAST_LOUD = 0.2
_SPEECH = (0.45, 0.93)
"""Speech pauses: a stretch that is loud all the time is music or noise."""


class Places:
    """Counts loud frames in cells of 10 s: one byte's worth for each, also in a book of 60 hours."""

    def __init__(self) -> None:
        self._cells = bytearray()
        self._loud = 0
        self._frames = 0

    def feed(self, loud: npt.NDArray[np.bool_]) -> None:
        """Count a stretch of frames."""
        a_cell = _CELL // FRAME
        while len(loud):
            room = a_cell - self._frames
            self._loud += int(np.count_nonzero(loud[:room]))
            self._frames += len(loud[:room])
            loud = loud[room:]
            if self._frames == a_cell:
                self._end_cell()

    def found(self, samples: int) -> tuple[Span, ...]:
        """Return the places, in order; none where nothing is loud."""
        if self._frames:
            self._end_cell()
        spans = {self._nearest(int(samples * share)) for share in _SHARES} - {None}
        return tuple(
            Span(start=cell * _CELL, end=min(samples, (cell + _CELLS) * _CELL))
            for cell in sorted(c for c in spans if c is not None)
        )

    def _end_cell(self) -> None:
        self._cells.append(round(100 * self._loud / self._frames))
        self._loud = self._frames = 0

    def _nearest(self, wanted: int) -> int | None:
        """Return the first cell of the place that sounds most like speech, near ones first."""
        best: tuple[int, int, int] | None = None
        middle = wanted // _CELL
        reach = max(_CELLS, len(self._cells) // 10)
        last = max(0, len(self._cells) - _CELLS)
        for cell in range(max(0, middle - reach), min(last, middle + reach) + 1):
            rank = (-self._likeness(cell), abs(cell + _CELLS // 2 - middle), cell)
            best = rank if best is None else min(best, rank)
        return None if best is None or not best[0] else best[2]

    def _likeness(self, cell: int) -> int:
        """Return 0 for nothing to hear, 1 for sound, 2 for sound that pauses as speech does."""
        window = self._cells[cell : cell + _CELLS]
        share = sum(window) / (100 * len(window))
        if share < _LEAST_LOUD:
            return 0
        return 2 if _SPEECH[0] <= share <= _SPEECH[1] else 1
