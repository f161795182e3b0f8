"""Long MP4s without the library's index: the very same sound, and left to the library where it is unusual."""

import struct
import threading
from pathlib import Path

import numpy as np
import pytest

from bridge_agent.transcription.audio import decode, mp4_tables
from bridge_agent.transcription.model import RATE
from tests.fakes import odd_audio as odd

DEMO = Path(__file__).parents[3] / "bridge_agent/demo_library/Aesop/Three Fables/Three Fables.m4b"


def decoded(path: Path, monkeypatch: pytest.MonkeyPatch, least: int):
    monkeypatch.setattr(mp4_tables, "LEAST", least)
    source, decoding = decode.decoding(path, threading.Event())
    with source:
        return np.concatenate(list(decoding.blocks())), decoding.line.damage, decoding.container.chapters()


def found(path: Path, monkeypatch: pytest.MonkeyPatch) -> mp4_tables.Tables | None:
    monkeypatch.setattr(mp4_tables, "LEAST", 1)
    with path.open("rb") as file:
        return mp4_tables.find(file)


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda p: DEMO,
        lambda p: odd.m4a(p, 12),
        lambda p: odd.m4b_index_first(p, 12),
        lambda p: odd.m4a(p, 12, start=4.0),
        lambda p: odd.m4a(p, 12, chapters=[("a", 0, 6000), ("b", 6000, 12000)]),
        lambda p: odd.with_cover(odd.m4a(p, 12)),
        lambda p: odd.encode(p, odd.sound(12), "alac", bit_rate=None, form="mp4"),
        lambda p: odd.encode(p, odd.sound(12, 48_000), "libopus", rate=48_000, form="mp4"),
        lambda p: odd.encode(p, odd.sound(12), "aac", layout="5.1", bit_rate=192_000, form="mp4"),
        lambda p: odd.spoiled(odd.m4b_index_first(p, 12), 0.5, 3_000),
        lambda p: odd.zeroed(odd.m4b_index_first(p, 12), 0.6, 100_000),
        lambda p: odd.cut_short(odd.m4b_index_first(p, 12)),
    ],
)
def test_both_ways_of_reading_give_the_same_sound_damage_and_chapters(tmp_path, monkeypatch, make):
    path = make(tmp_path / "a.m4b")
    assert found(path, monkeypatch) is not None
    sound, damage, chapters = decoded(path, monkeypatch, 1)
    library = decoded(path, monkeypatch, 10**9)
    assert np.array_equal(sound, library[0])
    assert (damage, chapters) == library[1:]
    assert len(sound) > 5 * RATE


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda p: odd.mp3(p.with_suffix(".mp3"), 2),
        lambda p: odd.video_without_sound(p),
        lambda p: odd.encode(p, odd.sound(2), "pcm_s16le", bit_rate=None, form="mov"),
        lambda p: odd.m4a(p, 2, options={"movflags": "frag_keyframe+empty_moov"}),
        lambda p: odd.cut_short(odd.m4a(p, 2)),
        lambda p: _with_edits(odd.m4b_index_first(p, 2), (1000, 0, 0x20000)),
        lambda p: _with_edits(odd.m4b_index_first(p, 2), (1000, -1, 0x10000)),
    ],
)
def test_what_is_unusual_is_left_to_the_library(tmp_path, monkeypatch, make):
    path = make(tmp_path / "a.bin")
    assert found(path, monkeypatch) is None


def test_short_files_are_left_to_the_library(tmp_path):
    with odd.m4a(tmp_path / "a.m4a", 2).open("rb") as file:
        assert mp4_tables.find(file) is None


def test_the_tables_are_read_whatever_the_size_of_their_pages(tmp_path, monkeypatch):
    path = odd.m4a(tmp_path / "a.m4a", 8)
    whole = decoded(path, monkeypatch, 1)[0]
    monkeypatch.setattr(mp4_tables, "_PAGE", 7)
    monkeypatch.setattr(mp4_tables, "_READ_BYTES", 900)
    assert np.array_equal(decoded(path, monkeypatch, 1)[0], whole)


def test_a_delay_of_years_is_not_filled_with_silence(tmp_path, monkeypatch):
    path = odd.m4a(tmp_path / "a.m4a", 5, start=4.0)
    raw = bytearray(path.read_bytes())
    at = raw.index(b"elst") + 12
    raw[at : at + 4] = struct.pack(">I", 0xFFFF_FFF0)
    path.write_bytes(raw)
    for least in (1, 10**9):
        assert len(decoded(path, monkeypatch, least)[0]) == pytest.approx(5 * RATE, abs=RATE // 10)


def _with_edits(path: Path, edit: tuple[int, int, int]) -> Path:
    raw = bytearray(path.read_bytes())
    at = raw.index(b"elst") + 12
    raw[at : at + 12] = struct.pack(">Iii", *edit)
    path.write_bytes(raw)
    return path
