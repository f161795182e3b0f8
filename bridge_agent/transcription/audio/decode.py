"""The decoder: packet by packet, so that a bad one costs itself alone. Loaded in the decoder child only."""

import threading
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, cast

import av
import av.error
import numpy as np

from bridge_agent.transcription.audio import mp4_tables, resample
from bridge_agent.transcription.audio.errors import AudioUnreadable
from bridge_agent.transcription.audio.resample import Pcm, Resampler
from bridge_agent.transcription.audio.source import Source
from bridge_agent.transcription.audio.timeline import TimeLine
from bridge_agent.transcription.model import RATE

if TYPE_CHECKING:
    from av.audio.frame import AudioFrame
    from av.audio.stream import AudioStream
    from av.container import InputContainer
    from av.packet import Packet

_LOOP = "1"
"""Counted up when this loop gives other samples for the same file."""


def _version(library: str) -> str:
    return ".".join(map(str, av.library_versions[library]))


DECODER = (
    f"bridge-{_LOOP} pyav-{av.__version__} "
    f"avformat-{_version('libavformat')} avcodec-{_version('libavcodec')} "
    f"swresample-{_version('libswresample')}"
)
"""What turned files into samples: with another decoder, another plan."""

_READ_BYTES = 256 * 1024
_BLOCK = RATE * 2
_MOST_ERRORS = 200
"""So many errors of the container in a row, without a packet between, are its end."""
_SILENCE = RATE * 10

# Their time line begins at zero, whatever the first timestamp is: a late start is heard late.
_ABSOLUTE = frozenset({"mov", "matroska", "webm"})
_STAMPED = _ABSOLUTE | {"ogg", "flac"}
_EXACT = frozenset({"mov"})


class NoAudio(AudioUnreadable):
    """The file has no audio track; take it out of the book's folder."""


class NoCodec(AudioUnreadable):
    """The file's kind of audio is unknown here; convert it to m4b or mp3."""


class Decoding:
    """One sequential decode of one file to 16 kHz mono. After the last block it knows the true length."""

    def __init__(self, source: Source) -> None:
        """Open the container; raises NoAudio, NoCodec, AudioUnreadable, Stopped, AudioAway."""
        self._source = source
        self._tables = mp4_tables.find(source)
        source.hidden = () if self._tables is None else self._tables.hidden
        try:
            source.seek(0)
            self.container = _opened(source)
        except av.FFmpegError as error:
            source.check()
            raise AudioUnreadable from error
        finally:
            source.hidden = ()
        self._stream = _audio(self.container)
        names = set(self.container.format.name.split(","))
        self._origin = 0.0 if names & _ABSOLUTE else _seconds(self._stream.start_time, self._stream)
        if self._tables is not None:
            self._origin = self._tables.skip / self._tables.timescale - self._tables.delay
        self.line = TimeLine(
            absolute=bool(names & _ABSOLUTE), stamped=bool(names & _STAMPED), exact=bool(names & _EXACT)
        )
        self._resampler = Resampler()
        self.decoded = 0
        """Samples that came out of the decoder, filled holes not among them."""

    @property
    def declared(self) -> float | None:
        """The length in seconds that the header tells, or None where it tells none."""
        if self._stream.duration is not None:
            return _seconds(self._stream.duration, self._stream)
        return None if self.container.duration is None else self.container.duration / 1_000_000

    @property
    def codec(self) -> str:
        """The codec's name."""
        return str(self._stream.codec_context.name)

    def blocks(self) -> Iterator[Pcm]:
        """Yield the file's samples in blocks of some seconds; raises Stopped, AudioAway."""
        kept: list[Pcm] = []
        count = 0
        for piece in self._pieces():
            kept.append(piece)
            count += len(piece)
            if count >= _BLOCK:
                self._source.check()
                yield np.concatenate(kept)
                kept, count = [], 0
        self._source.check()
        if kept:
            yield np.concatenate(kept)

    def _pieces(self) -> Iterator[Pcm]:
        for packet in self._packets():
            try:
                frames = packet.decode()
            except av.FFmpegError:
                self.line.bad_packet(_end(packet, self._origin))
                continue
            for frame in frames:
                yield from self._frame(frame)
        yield from self._put(self._resampler.flush())
        yield from self._hole(self.line.tail())

    def _packets(self) -> Iterator["Packet[AudioStream]"]:
        if self._tables is None:
            return _packets(self.container, self._stream, self.line)
        return _from_tables(self._tables, self._source, self._stream, self.line)

    def _frame(self, frame: "AudioFrame") -> Iterator[Pcm]:
        if frame.samples <= 0 or frame.sample_rate <= 0:
            return
        start = None
        if frame.pts is not None and frame.time_base is not None:
            start = frame.pts * float(frame.time_base) - self._origin
        if self._tables is not None and start is not None and start < self._tables.delay:
            # What the encoder put before the sound; the library trims it by its own index.
            early = round((self._tables.delay - start) * frame.sample_rate)
            if early >= frame.samples:
                return
            frame, start = resample.trimmed(frame, early), start + early / frame.sample_rate
        hole = self.line.hole(start, frame.samples / frame.sample_rate)
        if hole or self.line.broken:
            yield from self._put(self._resampler.flush())
            yield from self._hole(hole)
        yield from self._put(self._resampler.resample(frame))

    def _put(self, pieces: list[Pcm]) -> Iterator[Pcm]:
        for piece in pieces:
            self.line.put(len(piece))
            self.decoded += len(piece)
            yield piece

    def _hole(self, samples: int) -> Iterator[Pcm]:
        self.line.fill(samples)
        while samples > 0:
            yield resample.silence(min(samples, _SILENCE))
            samples -= _SILENCE


def decoding(path: Path, stop: threading.Event) -> tuple[Source, Decoding]:
    """Open a file for one decode; the caller closes the source. Raises as Source and Decoding do."""
    source = Source(path, stop)
    try:
        return source, Decoding(source)
    except BaseException:
        source.__exit__(None, None, None)
        raise


def _opened(source: Source) -> "InputContainer":
    return av.open(source, mode="r", buffer_size=_READ_BYTES, metadata_errors="replace")


def _audio(container: "InputContainer") -> "AudioStream":
    """Return the first track of sound that can be decoded; pictures and cover art are not looked at."""
    tracks = container.streams.audio
    if not tracks:
        raise NoAudio
    for track in tracks:
        if track.codec_context is not None:
            # More threads change nothing for audio but the order in which things happen.
            track.codec_context.thread_count = 1
            return track
    raise NoCodec


def _packets(
    container: "InputContainer", stream: "AudioStream", line: TimeLine
) -> Iterator["Packet[AudioStream]"]:
    """Yield packets, the last one empty; goes on behind errors of the container."""
    errors = 0
    while errors < _MOST_ERRORS:
        try:
            for packet in container.demux(stream):
                if packet.size or packet.dts is not None:
                    errors = 0
                yield packet
        except av.EOFError:
            return
        except av.FFmpegError:
            errors += 1
            line.bad_packet(None)
        else:
            return


def _from_tables(
    tables: mp4_tables.Tables, source: Source, stream: "AudioStream", line: TimeLine
) -> Iterator["Packet[AudioStream]"]:
    """Yield a long MP4's packets without the library's index, then an empty one."""
    unit = Fraction(1, tables.timescale)
    for sample in tables.samples(source):
        end = sample.start + sample.duration
        if sample.raw is None:
            line.bad_packet((end - tables.skip) / tables.timescale + tables.delay)
            continue
        packet = _packet(sample.raw, stream)
        packet.pts = packet.dts = sample.start
        packet.duration, packet.time_base = sample.duration, unit
        yield packet
    yield _packet(b"", stream)


def _packet(raw: bytes, stream: "AudioStream") -> "Packet[AudioStream]":
    packet = cast("Packet[AudioStream]", av.Packet(raw))
    packet.stream = stream
    return packet


def _end(packet: "Packet[AudioStream]", origin: float) -> float | None:
    if packet.pts is None or packet.time_base is None:
        return None
    return (packet.pts + (packet.duration or 0)) * float(packet.time_base) - origin


def _seconds(count: int | None, stream: "AudioStream") -> float:
    return 0.0 if count is None or stream.time_base is None else count * float(stream.time_base)
