"""Parts on disk: 16 kHz mono FLAC, identical bytes for identical samples. In a decoder child only."""

import hashlib
import io
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

from bridge_agent.base.files import write_private
from bridge_agent.transcription.audio.cut_file import CutFile
from bridge_agent.transcription.audio.errors import AudioUnreadable, NoRoom
from bridge_agent.transcription.audio.resample import Pcm
from bridge_agent.transcription.model import RATE

_BLOCK = 4096


def write(target: Path, samples: Pcm) -> CutFile:
    """Write samples to `target` whole or not at all; raises NoRoom."""
    content = encoded(samples)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_private(target, content)
    except OSError as error:
        raise NoRoom(
            f"The cut audio can't be written ({error.strerror or type(error).__name__}); "
            "free some room on the disk of the Bridge's data folder."
        ) from error
    return CutFile(
        path=target, sha256=hashlib.sha256(content).hexdigest(), size=len(content), samples=len(samples)
    )


def encoded(samples: Pcm) -> bytes:
    """Return samples as the bytes of a FLAC file."""
    out = io.BytesIO()
    with av.open(out, "w", format="flac", options={"fflags": "+bitexact"}) as container:
        stream = container.add_stream("flac", rate=RATE, layout="mono", options={"compression_level": "5"})
        stream.codec_context.format = av.AudioFormat("s16")
        stream.codec_context.flags |= av.codec.context.Flags.bitexact
        for start in range(0, len(samples), _BLOCK):
            frame = av.AudioFrame.from_ndarray(samples[None, start : start + _BLOCK], "s16", "mono")
            frame.sample_rate = RATE
            frame.pts = start
            frame.time_base = Fraction(1, RATE)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return out.getvalue()


def read_pcm(path: Path) -> bytes:
    """Return a part's samples as int16 little-endian; raises AudioUnreadable, FileNotFoundError."""
    pieces = []
    try:
        with av.open(io.BytesIO(path.read_bytes()), mode="r", format="flac") as container:
            pieces = [frame.to_ndarray().reshape(-1) for frame in container.decode(audio=0)]
    except av.FFmpegError as error:
        raise AudioUnreadable(
            f"The cut audio {path.name} is broken; start the transcription again."
        ) from error
    samples = np.concatenate(pieces) if pieces else np.zeros(0, np.int16)
    return samples.astype("<i2", copy=False).tobytes()
