"""Parts as FLAC: the very samples, the very bytes, and no further than asked for."""

import hashlib
import threading
from pathlib import Path

import numpy as np
import pytest

from bridge_agent.transcription.audio import cutter, decode, flac
from bridge_agent.transcription.audio.errors import AudioChanged, AudioUnreadable, NoRoom, Stopped
from bridge_agent.transcription.audio.source import asking
from bridge_agent.transcription.model import RATE, Part
from tests.benchmarks.bench_audio import write_long
from tests.fakes import odd_audio as odd


def part(number: int, start: int, end: int) -> Part:
    return Part(number=number, file=0, start=start, end=end, own_start=start, own_end=end)


def whole(path: Path):
    source, decoding = decode.decoding(path, threading.Event())
    with source:
        return np.concatenate(list(decoding.blocks()))


def cut(path: Path, parts, folder: Path, stop=None):
    return cutter.cut(path, parts, lambda p: folder / f"{p.number}.flac", stop or threading.Event())


@pytest.mark.parametrize("pcm", [odd.sound(3, RATE), odd.sound(3, RATE)[:1], np.zeros(0, np.int16),
                                 np.array([-32768, 32767] * 9000, np.int16)])  # fmt: skip
def test_samples_come_back_from_flac_as_they_were(tmp_path, pcm):
    made = flac.write(tmp_path / "a" / "x.flac", pcm)
    assert flac.read_pcm(made.path) == pcm.astype("<i2").tobytes()
    raw = made.path.read_bytes()
    assert (made.size, made.samples) == (len(raw), len(pcm))
    assert made.sha256 == hashlib.sha256(raw).hexdigest()


def test_identical_samples_give_identical_bytes():
    pcm = odd.sound(10, RATE)
    assert flac.encoded(pcm) == flac.encoded(pcm.copy())
    assert len(flac.encoded(pcm)) < len(pcm) * 2


def test_broken_flac_is_told_from_missing(tmp_path):
    (tmp_path / "x.flac").write_bytes(b"fLaC nonsense")
    with pytest.raises(AudioUnreadable):
        flac.read_pcm(tmp_path / "x.flac")
    with pytest.raises(FileNotFoundError):
        flac.read_pcm(tmp_path / "y.flac")


def test_a_disk_that_takes_no_more_is_named(tmp_path):
    (tmp_path / "no").write_bytes(b"a file where a folder should be")
    with pytest.raises(NoRoom, match="free some room"):
        flac.write(tmp_path / "no" / "x.flac", odd.sound(1, RATE))


def test_parts_hold_exactly_the_samples_of_their_stretch_also_where_they_overlap(tmp_path):
    path = odd.mp3(tmp_path / "a.mp3", 30)
    everything = whole(path)
    parts = [part(0, 0, 9 * RATE), part(1, 7 * RATE + 1, 20 * RATE), part(2, 20 * RATE, len(everything))]
    for one, made in cut(path, parts, tmp_path):
        assert flac.read_pcm(made.path) == everything[one.start : one.end].tobytes()


@pytest.mark.slow
def test_a_part_is_the_same_bytes_whichever_others_are_cut(tmp_path):
    path = odd.m4a(tmp_path / "a.m4a", 30)
    parts = [part(n, n * 5 * RATE, (n + 1) * 5 * RATE) for n in range(6)]
    every = [made.sha256 for _, made in cut(path, parts, tmp_path)]
    late = [made.sha256 for _, made in cut(path, parts[3:], tmp_path)]
    assert late == every[3:]


def test_nothing_is_cut_before_it_is_asked_for(tmp_path):
    path = odd.m4a(tmp_path / "a.m4a", 30)
    parts = [part(n, n * 5 * RATE, (n + 1) * 5 * RATE) for n in range(6)]
    cutting = cut(path, parts, tmp_path / "out")
    next(cutting)
    next(cutting)
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["0.flac", "1.flac"]


def test_a_file_that_became_shorter_is_noticed(tmp_path):
    path = odd.m4a(tmp_path / "a.m4a", 10)
    with pytest.raises(AudioChanged, match="shorter than when it was surveyed"):
        list(cut(path, [part(0, 0, 11 * RATE)], tmp_path))


@pytest.mark.slow
def test_a_stop_ends_a_cut(tmp_path):
    stop = threading.Event()
    cutting = cut(odd.m4a(tmp_path / "a.m4a", 60), [part(n, n * RATE, (n + 1) * RATE) for n in range(60)],
                  tmp_path, stop)  # fmt: skip
    next(cutting)
    stop.set()
    with pytest.raises(Stopped):
        list(cutting)


@pytest.mark.slow
def test_each_byte_of_a_file_is_read_about_once(tmp_path):
    path = tmp_path / "a.m4b"
    write_long(str(path), "aac", "0.5")
    before = asking.bytes_read
    whole(path)
    assert asking.bytes_read - before <= path.stat().st_size * 1.1
