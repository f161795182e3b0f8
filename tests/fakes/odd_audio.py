"""Audio files that go wrong in every way met in libraries, made on the spot with PyAV or by hand.

Each maker writes one file and returns its path. The sound is made of tones that pause as speech does.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np

Sound = np.ndarray[Any, np.dtype[np.int16]]

NAMES = (
    "Käßchen, ümläuté & Co.m4a",
    "三体 第一章.m4a",
    "🎧 book “one” 'two' #3 100%.m4a",
)
PHRASE = 3.0
PAUSE = 0.4


def sound(seconds: float, rate: int = 44_100, seed: int = 1) -> Sound:
    """Return phrases of 2.6 s with 0.4 s of silence behind each."""
    chance = np.random.default_rng(seed)
    time = np.arange(round(seconds * rate)) / rate
    pitch = 120 + 60 * chance.random(1000)[(time / 0.2).astype(int) % 1000]
    phase = 2 * np.pi * np.cumsum(pitch) / rate
    voice = sum(np.sin(phase * n) / n for n in range(1, 8)) * (0.6 + 0.4 * np.sin(2 * np.pi * 4 * time))
    voice = np.where(time % PHRASE < PHRASE - PAUSE, voice, 0.0)
    return (voice * 6000).astype(np.int16)


def encode(
    path: Path,
    pcm: Sound,
    codec: str,
    *,
    rate: int = 44_100,
    layout: str = "mono",
    to_rate: int | None = None,
    bit_rate: int | None = 64_000,
    start: float = 0.0,
    form: str | None = None,
    sample_format: str | None = None,
    options: Mapping[str, str] | None = None,
    codec_options: Mapping[str, str] | None = None,
    tags: Mapping[str, str] | None = None,
    chapters: Iterable[tuple[str, int, int]] = (),
) -> Path:
    """Write mono samples with a codec; `start` in seconds, `chapters` as (title, start ms, end ms)."""
    to_rate = to_rate or rate
    with av.open(str(path), "w", format=form, options=dict(options or {})) as out:
        stream = out.add_stream(codec, rate=to_rate, layout=layout, options=dict(codec_options or {}))
        if bit_rate:
            stream.bit_rate = bit_rate
        if sample_format:
            stream.codec_context.format = av.AudioFormat(sample_format)
        out.metadata.update(tags or {})
        if chapters:
            out.set_chapters([_chapter(number, *each) for number, each in enumerate(chapters)])
        for packet in _packets(stream, pcm, rate, to_rate, layout):
            if start:
                offset = round(start / packet.time_base)
                packet.pts = (packet.pts or 0) + offset
                packet.dts = (packet.dts or 0) + offset
            out.mux(packet)
    return path


def _chapter(number: int, title: str, start: int, end: int) -> dict[str, Any]:
    base = Fraction(1, 1000)
    return {"id": number, "start": start, "end": end, "time_base": base, "metadata": {"title": title}}


def _packets(stream: Any, pcm: Sound, rate: int, to_rate: int, layout: str) -> Iterable[Any]:
    context = stream.codec_context
    context.open(strict=False)
    shape = av.AudioResampler(context.format, layout, to_rate, context.frame_size or 1024)
    for at in range(0, len(pcm), rate):
        frame = av.AudioFrame.from_ndarray(pcm[None, at : at + rate], "s16", "mono")
        frame.sample_rate, frame.pts, frame.time_base = rate, at, Fraction(1, rate)
        for shaped in shape.resample(frame):
            yield from stream.encode(shaped)
    for shaped in shape.resample(None):
        yield from stream.encode(shaped)
    yield from stream.encode(None)


def mp3(path: Path, seconds: float, **how: Any) -> Path:
    """An ordinary MP3 of constant bit rate with an Info header."""
    return encode(path, sound(seconds), "libmp3lame", **how)


def m4a(path: Path, seconds: float, **how: Any) -> Path:
    """An ordinary MP4 with its index behind the sound."""
    return encode(path, sound(seconds), "aac", form="mp4", **how)


def m4b_index_first(path: Path, seconds: float) -> Path:
    """An MP4 with its index before the sound."""
    return m4a(path, seconds, options={"movflags": "faststart"})


def spoiled(path: Path, share: float, count: int, seed: int = 7) -> Path:
    """Overwrite `count` bytes from that share of a file on with chance."""
    raw = bytearray(path.read_bytes())
    at = int(len(raw) * share)
    raw[at : at + count] = np.random.default_rng(seed).bytes(count)
    path.write_bytes(raw)
    return path


def zeroed(path: Path, share: float, count: int) -> Path:
    """Overwrite `count` bytes from that share of a file on with zeros, as a download with holes has."""
    raw = bytearray(path.read_bytes())
    at = int(len(raw) * share)
    raw[at : at + count] = bytes(len(raw[at : at + count]))
    path.write_bytes(raw)
    return path


def cut_short(path: Path, share: float = 0.5) -> Path:
    """Keep the first part of a file's bytes."""
    raw = path.read_bytes()
    path.write_bytes(raw[: int(len(raw) * share)])
    return path


def joined(path: Path, *others: Path) -> Path:
    """Write files one behind the other: chained Ogg, or an MP3 that changes its rate half way."""
    path.write_bytes(b"".join(other.read_bytes() for other in others))
    return path


def mp3_that_changes(path: Path) -> Path:
    """20 s of 22.05 kHz mono, then 20 s of 44.1 kHz stereo, without a header that counts frames."""
    plain = {"write_xing": "0", "id3v2_version": "0"}
    first = encode(
        path.with_suffix(".1.mp3"),
        sound(20, 22_050),
        "libmp3lame",
        rate=22_050,
        bit_rate=32_000,
        options=plain,
    )
    second = encode(
        path.with_suffix(".2.mp3"), sound(20), "libmp3lame", layout="stereo", bit_rate=128_000, options=plain
    )
    joined(path, first, second)
    first.unlink()
    second.unlink()
    return path


def mp3_vbr_without_count(path: Path, seconds: float) -> Path:
    """A variable bit rate that nothing in the header tells of; its first half is silence."""
    pcm = sound(seconds)
    pcm[: len(pcm) // 2] = 0
    return encode(
        path,
        pcm,
        "libmp3lame",
        bit_rate=None,
        layout="stereo",
        options={"write_xing": "0"},
        codec_options={"q": "2"},
    )


def chained_opus(path: Path) -> Path:
    """Two Opus streams of 20 s in one Ogg file, whose timestamps begin anew."""
    parts = [
        encode(path.with_suffix(f".{n}.opus"), sound(20, 48_000, n), "libopus", rate=48_000, form="ogg")
        for n in (1, 2)
    ]
    joined(path, *parts)
    for part in parts:
        part.unlink()
    return path


def video_without_sound(path: Path) -> Path:
    """Two seconds of pictures only."""
    with av.open(str(path), "w", format="mp4") as out:
        stream = out.add_stream("mpeg4", rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 64, "yuv420p"
        for _ in range(20):
            frame = av.VideoFrame.from_ndarray(np.zeros((64, 64, 3), np.uint8), "rgb24")
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    return path


def wav(path: Path, pcm: Sound, rate: int = 16_000) -> Path:
    """PCM in a RIFF file."""
    return encode(path, pcm, "pcm_s16le", rate=rate, bit_rate=None, form="wav")


def many_channels(path: Path, channels: int, seconds: float, rate: int = 16_000) -> Path:
    """A WAV whose channels have no names: the same sound in each."""
    pcm = np.repeat(sound(seconds, rate)[:, None], channels, axis=1).astype("<i2").tobytes()
    block = channels * 2
    head = b"WAVEfmt " + (16).to_bytes(4, "little")
    head += (1).to_bytes(2, "little") + channels.to_bytes(2, "little") + rate.to_bytes(4, "little")
    head += (rate * block).to_bytes(4, "little") + block.to_bytes(2, "little") + (16).to_bytes(2, "little")
    head += b"data" + len(pcm).to_bytes(4, "little")
    path.write_bytes(b"RIFF" + (len(head) + len(pcm)).to_bytes(4, "little") + head + pcm)
    return path


def with_cover(path: Path) -> Path:
    """Put a picture into an MP3's or MP4's tags, which shows as a video track."""
    from mutagen.id3 import APIC, ID3
    from mutagen.mp4 import MP4, MP4Cover

    picture = _jpeg()
    if path.suffix == ".mp3":
        tags = ID3(path)
        tags.add(APIC(encoding=3, mime="image/jpeg", type=3, desc="", data=picture))
        tags.save(path)
    else:
        book = MP4(path)
        book["covr"] = [MP4Cover(picture, MP4Cover.FORMAT_JPEG)]
        book.save()
    return path


def with_id3_chapters(path: Path, marks: Iterable[tuple[str, int, int]]) -> Path:
    """Put CHAP frames into an MP3; (title, start ms, end ms)."""
    from mutagen.id3 import CHAP, CTOC, ID3, TIT2, CTOCFlags

    tags = ID3(path)
    names = []
    for number, (title, start, end) in enumerate(marks):
        names.append(f"ch{number}")
        tags.add(CHAP(names[-1], start, end, sub_frames=[TIT2(encoding=3, text=[title])]))
    flags = CTOCFlags.TOP_LEVEL | CTOCFlags.ORDERED
    tags.add(CTOC("toc", flags, names, sub_frames=[TIT2(encoding=3, text=["Contents"])]))
    tags.save(path)
    return path


def sealed(path: Path, seconds: float, *, entry: bytes = b"aavd", brand: bytes | None = b"aax ") -> Path:
    """An MP4 that says it is protected: its sample entry, and its brand as Audible writes it."""
    raw = bytearray(m4b_index_first(path, seconds).read_bytes())
    at = raw.index(b"mp4a", raw.index(b"stsd"))
    raw[at : at + 4] = entry
    if brand is not None:
        raw[8:12] = brand
    path.write_bytes(raw)
    return path


def _jpeg() -> bytes:
    import io

    out = io.BytesIO()
    with av.open(out, "w", format="image2pipe") as container:
        stream = container.add_stream("mjpeg", rate=1)
        stream.width, stream.height, stream.pix_fmt = 64, 64, "yuvj420p"
        frame = av.VideoFrame.from_ndarray(np.full((64, 64, 3), 90, np.uint8), "rgb24")
        container.mux(stream.encode(frame.reformat(format="yuvj420p")))
        container.mux(stream.encode(None))
    return out.getvalue()
