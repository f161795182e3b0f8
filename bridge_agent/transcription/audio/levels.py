"""How loud a file is, 20 ms at a time, in whole numbers: every machine finds the same levels."""

import numpy as np
import numpy.typing as npt

from bridge_agent.transcription.audio.resample import Pcm
from bridge_agent.transcription.model import RATE

FRAME = RATE // 50
LEVELS = 200
"""A level is half a decibel: 0 is silence, `LEVELS` full scale."""

Levels = npt.NDArray[np.uint8]

_FULL = FRAME * 32768 * 32768
_BOUNDS = np.array([round(_FULL * 10 ** ((n - LEVELS) / 20)) for n in range(1, LEVELS + 1)], np.int64)


class Meter:
    """Turns blocks of samples of any size into levels of whole frames."""

    def __init__(self) -> None:
        self._rest: Pcm = np.zeros(0, np.int16)

    def feed(self, block: Pcm) -> Levels:
        """Return the levels of the frames that this block completes."""
        joined = np.concatenate((self._rest, block)) if len(self._rest) else block
        whole = len(joined) // FRAME * FRAME
        self._rest = joined[whole:].copy()
        return _levels(joined[:whole])

    def end(self) -> Levels:
        """Return the level of the last frame, which may be a short one."""
        rest = self._rest
        if not len(rest):
            return np.zeros(0, np.uint8)
        return _levels(np.concatenate((rest, np.zeros(FRAME - len(rest), np.int16))))


def decibels(level: int) -> float:
    """Return a level in decibels of full scale."""
    return (level - LEVELS) / 2


def _levels(samples: Pcm) -> Levels:
    wide = samples.astype(np.int32)
    power = (wide * wide).reshape(-1, FRAME).sum(axis=1, dtype=np.int64)
    levels: Levels = np.searchsorted(_BOUNDS, power, side="right").astype(np.uint8)
    return levels
