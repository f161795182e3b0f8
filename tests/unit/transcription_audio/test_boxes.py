"""Boxes of files that lie about their lengths."""

import io
import struct

import pytest

from bridge_agent.transcription.audio import boxes, mp3, riff


def box(kind: bytes, body: bytes = b"", length: int | None = None) -> bytes:
    return struct.pack(">I4s", 8 + len(body) if length is None else length, kind) + body


FTYP = box(b"ftyp", b"M4B \0\0\0\0isom")


def look(raw: bytes) -> boxes.Look:
    return boxes.look(io.BytesIO(raw))


def test_a_whole_file_lacks_nothing():
    assert look(FTYP + box(b"moov") + box(b"mdat", b"x" * 50)) == boxes.Look(is_mp4=True, has_index=True)


def test_bytes_missing_at_the_end_are_counted():
    assert look(FTYP + box(b"moov") + box(b"mdat", b"x" * 50, 100)).missing == 42
    assert not look(FTYP + box(b"mdat", b"x", 50) + box(b"moov")).has_index


@pytest.mark.parametrize("length", [2, 7])
def test_a_length_that_leads_nowhere_ends_the_walk(length):
    assert look(FTYP + box(b"moov", b"", length)) == boxes.Look(is_mp4=True)


def test_a_length_beyond_all_files_is_no_place_to_look_at():
    huge = struct.pack(">I4sQ", 1, b"moov", 2**64 - 1) + box(b"trak", b"", 0) + b"trak" * 4
    assert look(FTYP + huge).is_mp4


def test_what_is_no_mp4_is_told():
    assert look(b"ID3\4" + bytes(100)) == boxes.Look(is_mp4=False)
    assert look(b"") == boxes.Look(is_mp4=False)


def test_a_wav_promises_what_its_data_chunk_says():
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, 16_000, 32_000, 2, 16)

    def wav(length: int) -> bytes:
        return b"RIFF\0\0\0\0WAVE" + form + struct.pack("<4sI", b"data", length)

    assert riff.seconds(io.BytesIO(wav(64_000))) == 2
    assert riff.seconds(io.BytesIO(wav(0xFFFF_FFFF))) is None
    assert riff.seconds(io.BytesIO(wav(0))) is None
    assert riff.seconds(io.BytesIO(b"RIFF")) is None
    assert riff.seconds(io.BytesIO(b"RIFF\0\0\0\0WAVE" + b"junk\xff\xff\xff\x7f")) is None


def test_an_mp3_promises_what_its_count_of_frames_says():
    head = b"\xff\xfb\x90\x00" + bytes(32)
    count = struct.pack(">4sIII", b"Xing", 3, 100, 50_000)
    found = mp3.promise(io.BytesIO(head + count + bytes(50_000)))
    assert found == mp3.Promise(100 * 1152 / 44_100, cut=False)
    assert mp3.promise(io.BytesIO(head + count + bytes(20_000))).cut
    assert mp3.promise(io.BytesIO(head + bytes(1000))) is None
    assert mp3.promise(io.BytesIO(b"ID3\4\0\0\0\0\1\0" + bytes(128) + head + count + bytes(50_000))) == found
    assert mp3.promise(io.BytesIO(b"")) is None
