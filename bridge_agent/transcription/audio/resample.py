"""Frames of any shape to 16 kHz mono: the resampler is built anew whenever the shape changes."""

from typing import TYPE_CHECKING

import av
import numpy as np
import numpy.typing as npt

from bridge_agent.transcription.model import RATE

if TYPE_CHECKING:
    from av.audio.frame import AudioFrame
    from av.audio.resampler import AudioResampler

Pcm = npt.NDArray[np.int16]

_FULL_SCALE = {"u8": 128.0, "s16": 32768.0, "s32": 2147483648.0}


class Resampler:
    """Takes frames one by one; what a change of format, rate or channels holds back is put out first."""

    def __init__(self) -> None:
        self._shape: tuple[str, str, int] | None = None
        self._resampler: AudioResampler | None = None
        self._mix = False

    def resample(self, frame: "AudioFrame") -> list[Pcm]:
        """Return the samples that are ready after this frame."""
        shape = (frame.format.name, frame.layout.name, frame.sample_rate)
        ready: list[Pcm] = []
        if shape != self._shape:
            ready = self.flush()
            self._shape = shape
            self._mix = not _known(shape[1])
        # The time line is kept outside; timestamps that jump must not reach the filter.
        frame.pts = None
        if self._resampler is None:
            self._resampler = av.AudioResampler("s16", "mono", RATE)
        return ready + _samples(self._resampler.resample(_mixed(frame) if self._mix else frame))

    def flush(self) -> list[Pcm]:
        """Return what the resampler still holds, and forget it."""
        if self._resampler is None:
            return []
        try:
            return _samples(self._resampler.resample(None))
        finally:
            self._resampler, self._shape = None, None


def trimmed(frame: "AudioFrame", samples: int) -> "AudioFrame":
    """Return a frame without its first samples."""
    if not samples:
        return frame
    data = frame.to_ndarray()
    wide = 1 if frame.format.is_planar else frame.layout.nb_channels
    rest = np.ascontiguousarray(data[:, samples * wide :])
    short = av.AudioFrame.from_ndarray(
        rest,  # type: ignore[arg-type]
        format=frame.format.name,
        layout=frame.layout.name,
    )
    short.sample_rate = frame.sample_rate
    return short


def silence(samples: int) -> Pcm:
    """Return that many samples of nothing."""
    return np.zeros(samples, np.int16)


def _samples(frames: "list[AudioFrame]") -> list[Pcm]:
    return [np.frombuffer(bytes(f.planes[0])[: f.samples * 2], np.int16) for f in frames if f.samples]


def _known(layout: str) -> bool:
    """Tell whether a layout names its channels; `7 channels` does not, and can't be mixed by name."""
    return "channels" not in layout


def _mixed(frame: "AudioFrame") -> "AudioFrame":
    """Mix channels without names to their mean."""
    channels = frame.layout.nb_channels
    data = frame.to_ndarray()
    flat = data if frame.format.is_planar else data.reshape(-1, channels).T
    full = _FULL_SCALE.get(frame.format.packed.name, 1.0)
    middle = full if frame.format.packed.name == "u8" else 0.0
    mean = ((flat.mean(axis=0, dtype=np.float64) - middle) / full).astype(np.float32)[None, :]
    mixed = av.AudioFrame.from_ndarray(np.ascontiguousarray(mean), format="fltp", layout="mono")
    mixed.sample_rate = frame.sample_rate
    return mixed
