"""Tiny real audio files, made without an encoder: WAV, MP3 frames, FLAC and MP4 heads of any length."""

import io
import struct
import wave
from pathlib import Path

from mutagen.flac import FLAC
from mutagen.id3 import ID3, TALB, TIT2, TPE1, TPOS, TRCK, TXXX
from mutagen.mp4 import MP4

_RATE = 8000


def wav(path: Path, seconds: float = 0.1, pitch: int = 0) -> Path:
    """Write a WAV; another `pitch` gives other bytes of the same length."""
    path.parent.mkdir(parents=True, exist_ok=True)
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(1)
        file.setframerate(_RATE)
        file.writeframes(bytes((pitch + i) % 256 for i in range(int(seconds * _RATE))))
    path.write_bytes(out.getvalue())
    return path


def mp3(path: Path, frames: int = 20, pitch: int = 0, **tags: str) -> Path:
    """Write MPEG frames of silence (26 ms each) with ID3 tags: title, album, artist, track, disc, or TXXX."""
    path.parent.mkdir(parents=True, exist_ok=True)
    frame = b"\xff\xfb\x90\x00" + bytes([pitch % 256]) * 413
    path.write_bytes(frame * frames)
    if tags:
        _tag_mp3(path, tags)
    return path


def _tag_mp3(path: Path, tags: dict[str, str]) -> None:
    frames = {"title": TIT2, "album": TALB, "artist": TPE1, "track": TRCK, "disc": TPOS}
    id3 = ID3()
    for name, text in tags.items():
        made = frames[name](encoding=3, text=[text]) if name in frames else None
        id3.add(made or TXXX(encoding=3, desc=name.upper().replace("_", "-"), text=[text]))
    id3.save(path)


def flac(path: Path, seconds: float = 60.0, pitch: int = 0, **tags: str) -> Path:
    """Write a FLAC head that claims a length, with Vorbis comments."""
    path.parent.mkdir(parents=True, exist_ok=True)
    samples = int(seconds * 44100)
    packed = (44100 << 44) | (0 << 41) | (15 << 36) | samples
    info = struct.pack(">HH", 4096, 4096) + bytes(6) + struct.pack(">Q", packed) + bytes(16)
    path.write_bytes(b"fLaC" + b"\x80" + len(info).to_bytes(3, "big") + info + bytes([pitch % 256]) * 400)
    if tags:
        file = FLAC(path)
        for name, text in tags.items():
            file[name] = text
        file.save()
    return path


def m4b(
    path: Path,
    seconds: float = 60.0,
    pitch: int = 0,
    chapters: list[tuple[float, str]] | None = None,
    **tags: str,
) -> Path:
    """Write an MP4 head that claims a length, with Nero chapters and tags."""
    path.parent.mkdir(parents=True, exist_ok=True)
    moov = _atom(b"moov", _mvhd(seconds), _sound(seconds), _udta(chapters or []))
    path.write_bytes(
        _atom(b"ftyp", b"M4B \0\0\0\0M4B mp42") + moov + _atom(b"mdat", bytes([pitch % 256]) * 600)
    )
    if tags:
        names = {"title": "©nam", "album": "©alb", "artist": "©ART", "composer": "©wrt", "date": "©day"}
        file = MP4(path)
        for name, text in tags.items():
            if name == "track":
                number, _, of = text.partition("/")
                file["trkn"] = [(int(number), int(of or 0))]
            elif name in names:
                file[names[name]] = [text]
            else:
                file[f"----:com.apple.iTunes:{name.upper().replace('_', '-')}"] = [text.encode()]
        file.save()
    return path


def with_chapter_track(path: Path, seconds: float, chapters: list[tuple[float, str]]) -> Path:
    """Write an MP4 whose chapters are a QuickTime text track, as Apple's tools write them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    samples = [struct.pack(">H", len(title.encode())) + title.encode() for _, title in chapters]
    ftyp = _atom(b"ftyp", b"M4B \0\0\0\0M4B mp42")
    mdat = _atom(b"mdat", b"".join(samples))
    ends = [*(start for start, _ in chapters[1:]), seconds]
    lengths = [round((end - start) * 1000) for (start, _), end in zip(chapters, ends, strict=True)]
    moov = _atom(
        b"moov",
        _mvhd(seconds),
        _sound(seconds, _atom(b"tref", _atom(b"chap", struct.pack(">I", 2)))),
        _text_track(seconds, [len(s) for s in samples], lengths, len(ftyp) + 8),
    )
    path.write_bytes(ftyp + mdat + moov)
    return path


def _atom(kind: bytes, *parts: bytes) -> bytes:
    body = b"".join(parts)
    return struct.pack(">I4s", len(body) + 8, kind) + body


def _full(kind: bytes, body: bytes) -> bytes:
    return _atom(kind, bytes(4), body)


def _mvhd(seconds: float) -> bytes:
    return _full(b"mvhd", struct.pack(">IIII", 0, 0, 1000, int(seconds * 1000)) + bytes(80))


def _head(number: int, seconds: float, handler: bytes) -> tuple[bytes, bytes, bytes]:
    length = int(seconds * 1000)
    return (
        _full(b"tkhd", struct.pack(">IIIII", 0, 0, number, 0, length) + bytes(60)),
        _full(b"mdhd", struct.pack(">IIII", 0, 0, 1000, length) + bytes(4)),
        _full(b"hdlr", bytes(4) + handler + bytes(13)),
    )


def _sound(seconds: float, *more: bytes) -> bytes:
    tkhd, mdhd, hdlr = _head(1, seconds, b"soun")
    return _atom(b"trak", tkhd, *more, _atom(b"mdia", mdhd, hdlr, _atom(b"minf", _atom(b"stbl"))))


def _text_track(seconds: float, sizes: list[int], lengths: list[int], place: int) -> bytes:
    tkhd, mdhd, hdlr = _head(2, seconds, b"text")
    stbl = _atom(
        b"stbl",
        _full(b"stts", struct.pack(">I", len(lengths)) + b"".join(struct.pack(">II", 1, n) for n in lengths)),
        _full(b"stsc", struct.pack(">IIII", 1, 1, len(sizes), 1)),
        _full(b"stsz", struct.pack(">II", 0, len(sizes)) + b"".join(struct.pack(">I", n) for n in sizes)),
        _full(b"stco", struct.pack(">II", 1, place)),
    )
    return _atom(b"trak", tkhd, _atom(b"mdia", mdhd, hdlr, _atom(b"minf", stbl)))


def _udta(chapters: list[tuple[float, str]]) -> bytes:
    if not chapters:
        return _atom(b"udta")
    entries = b"".join(
        struct.pack(">QB", int(start * 10_000_000), len(title.encode())) + title.encode()
        for start, title in chapters
    )
    return _atom(b"udta", _atom(b"chpl", b"\x01\0\0\0", bytes(4), bytes([len(chapters)]), entries))
