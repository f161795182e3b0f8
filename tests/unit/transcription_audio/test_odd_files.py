"""Every odd file: its length, what is said of it, what of it is used."""

import msgspec
import pytest

from bridge_agent.transcription.model import RATE
from tests.fakes import odd_audio as odd
from tests.unit.transcription_audio.files import seconds, surveyed

pytestmark = pytest.mark.slow


def damaged(found) -> float:
    return sum(d.end - d.start for d in found.damage) / RATE


def test_garbage_in_an_mp3_costs_what_it_overwrote_and_not_what_follows(tmp_path):
    found = surveyed(odd.spoiled(odd.mp3(tmp_path / "a.mp3", 60), 0.5, 60_000))
    # 60,000 bytes are 7.5 s; its own false frames may be heard as some tenths of a second.
    assert 52.4 <= seconds(found) <= 53.2
    assert found.problem == "damaged"
    assert "“a.mp3” is damaged in one place (about 7 s is missing)" in found.sentence
    assert [d.reason for d in found.damage] == ["damaged"]
    assert 29 <= found.damage[0].start / RATE <= 31


def test_garbage_in_an_m4b_leaves_a_gap_of_its_own_length_and_all_times_behind_it_right(tmp_path):
    found = surveyed(odd.spoiled(odd.m4b_index_first(tmp_path / "a.m4b", 60), 0.5, 3_000))
    assert seconds(found) == pytest.approx(60, abs=0.03)
    assert 0.2 <= damaged(found) <= 0.6
    last = found.pauses[-2]
    assert last.start / RATE % odd.PHRASE == pytest.approx(odd.PHRASE - odd.PAUSE, abs=0.08)


@pytest.mark.parametrize(("share", "lost"), [(0.5, 13.4), (0.8, 12.7)])
def test_a_download_with_a_hole_keeps_the_time_line(tmp_path, share, lost):
    whole = odd.m4b_index_first(tmp_path / "a.m4b", 60)
    found = surveyed(odd.zeroed(whole, share, 100_000))
    assert seconds(found) == pytest.approx(60, abs=0.05)
    assert damaged(found) == pytest.approx(lost, abs=1.5)


def test_an_mp3_that_changes_rate_and_channels_is_read_to_its_end(tmp_path):
    found = surveyed(odd.mp3_that_changes(tmp_path / "a.mp3"))
    assert seconds(found) == pytest.approx(40.07, abs=0.1)
    assert found.problem is None


@pytest.mark.parametrize(
    ("make", "read"),
    [
        (lambda p: odd.mp3(p / "a.mp3", 60), 30.0),
        (lambda p: odd.m4b_index_first(p / "a.m4b", 60), 29.0),
        (lambda p: odd.wav(p / "a.wav", odd.sound(60, 16_000)), 30.0),
        (lambda p: odd.encode(p / "a.flac", odd.sound(60), "flac", bit_rate=None), 29.5),
    ],
)
def test_a_file_cut_in_half_is_used_as_far_as_it_goes(tmp_path, make, read):
    found = surveyed(odd.cut_short(make(tmp_path)))
    assert seconds(found) == pytest.approx(read, abs=1.1)
    assert found.problem == "truncated"
    assert "breaks off after" in found.sentence
    assert "of 1:00; copy it again" in found.sentence
    assert found.damage[-1].reason == "truncated"
    assert found.damage[-1].end == found.samples


def test_an_mp4_cut_before_its_index_says_that_nothing_can_be_read(tmp_path):
    found = surveyed(odd.cut_short(odd.m4a(tmp_path / "a.m4b", 20)))
    assert (found.samples, found.problem) == (0, "truncated")
    assert found.sentence == "“a.m4b” breaks off before its index, so none of it can be read; copy it again."


def test_a_start_offset_is_kept(tmp_path):
    found = surveyed(odd.m4a(tmp_path / "a.m4a", 26, start=4.0))
    assert seconds(found) == pytest.approx(30, abs=0.03)
    assert found.pauses[0].start == 0
    assert found.pauses[0].end / RATE == pytest.approx(4.0, abs=0.05)
    assert found.damage == ()


def test_chained_opus_is_read_to_its_end(tmp_path):
    found = surveyed(odd.chained_opus(tmp_path / "a.opus"))
    assert seconds(found) == pytest.approx(40, abs=0.05)
    assert found.problem is None


def test_lost_pages_of_an_opus_file_are_filled(tmp_path):
    whole = odd.encode(tmp_path / "a.opus", odd.sound(30, 48_000), "libopus", rate=48_000, form="ogg")
    found = surveyed(odd.spoiled(whole, 0.5, 5_000))
    assert seconds(found) == pytest.approx(30, abs=0.05)
    assert 0.5 < damaged(found) < 4


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.m4b", b"", "is empty; copy or download it again."),
        ("a.m4b", "Es war einmal ein König. ".encode() * 300, "holds text and no audio"),
        ("a.mp3", b"<!DOCTYPE html><title>Sign in</title>", "holds text and no audio"),
        ("a.mp3", bytes(200_000), "holds nothing but zeros"),
        ("a.mp3", bytes(range(256)) * 400, "can't be decoded"),
    ],
)
def test_what_is_no_audio_is_named(tmp_path, name, content, said):
    path = tmp_path / name
    path.write_bytes(content)
    found = surveyed(path)
    assert (found.samples, found.problem) == (0, "unreadable")
    assert said in found.sentence
    assert found.sentence.startswith(f"“{name}” ")


def test_a_video_without_sound_is_named(tmp_path):
    found = surveyed(odd.video_without_sound(tmp_path / "a.mp4"))
    assert (found.samples, found.problem) == (0, "unreadable")
    assert "has no audio track" in found.sentence


@pytest.mark.parametrize(
    ("entry", "brand", "seller"),
    [(b"aavd", b"aax ", "Audible"), (b"mp4a", b"aaxc", "Audible"), (b"drms", None, "Apple"),
     (b"enca", None, "its seller")],
)  # fmt: skip
def test_protected_files_are_named_and_not_decoded(tmp_path, entry, brand, seller):
    found = surveyed(odd.sealed(tmp_path / "a.m4b", 2, entry=entry, brand=brand))
    assert (found.samples, found.problem) == (0, "drm")
    assert f"protected against copying by {seller}; use a copy that plays in any player." in found.sentence


def test_a_silent_file_is_said_to_be_silent(tmp_path):
    found = surveyed(odd.wav(tmp_path / "a.wav", odd.sound(10, 16_000) * 0))
    assert (seconds(found), found.problem, found.loud) == (10, "silent", ())


@pytest.mark.parametrize(
    ("make", "length"),
    [
        (lambda p: odd.mp3(p / "a.mp3", 0.05), 0.05),
        (lambda p: odd.wav(p / "a.wav", odd.sound(0.01, 16_000)), 0.01),
        (lambda p: odd.encode(p / "a.m4a", odd.sound(10, 48_000), "aac", rate=48_000, layout="5.1",
                              bit_rate=192_000, form="mp4"), 10),
        (lambda p: odd.encode(p / "a.flac", odd.sound(10, 96_000), "flac", rate=96_000, bit_rate=None,
                              sample_format="s32"), 10),
        (lambda p: odd.many_channels(p / "a.wav", 7, 10), 10),
        (lambda p: odd.many_channels(p / "a.wav", 9, 10), 10),
        (lambda p: odd.encode(p / "a.aac", odd.sound(10), "aac", form="adts"), 10),
        (lambda p: odd.encode(p / "a.ogg", odd.sound(10), "vorbis", layout="stereo", form="ogg",
                              codec_options={"strict": "-2"}), 10),
        (lambda p: odd.encode(p / "a.mka", odd.sound(10), "libopus", to_rate=48_000, form="matroska"), 10),
        (lambda p: odd.encode(p / "a.m4a", odd.sound(10), "alac", bit_rate=None, form="mp4"), 10),
        (lambda p: odd.mp3_vbr_without_count(p / "a.mp3", 60), 60),
        (lambda p: odd.with_cover(odd.mp3(p / "a.mp3", 10)), 10),
        (lambda p: odd.with_cover(odd.m4a(p / "a.m4a", 10)), 10),
    ],
)  # fmt: skip
def test_unusual_but_sound_files_have_their_true_length(tmp_path, make, length):
    found = surveyed(make(tmp_path))
    assert seconds(found) == pytest.approx(length, abs=0.05)
    assert (found.problem, found.sentence, found.damage) == (None, None, ())


@pytest.mark.parametrize("name", odd.NAMES)
def test_names_in_any_script_are_read(tmp_path, name):
    found = surveyed(odd.m4a(tmp_path / name, 5))
    assert seconds(found) == pytest.approx(5, abs=0.05)
    assert found.chapters[0].title == name.removesuffix(".m4a")


MARKS = [("One", 0, 10_000), ("Zwei", 10_000, 20_000), ("三", 20_000, 30_000)]


@pytest.mark.parametrize(
    ("make", "source"),
    [
        (lambda p: odd.m4a(p / "a.m4b", 30, chapters=MARKS, tags={"title": "Book"}), "file"),
        (lambda p: odd.with_id3_chapters(odd.mp3(p / "a.mp3", 30), MARKS), "tags"),
    ],
)
def test_chapters_of_containers_and_tags_are_found(tmp_path, make, source):
    found = surveyed(make(tmp_path))
    assert [(c.title, round(c.start / RATE, 1), c.source) for c in found.chapters] == [
        ("One", 0.0, source), ("Zwei", 10.0, source), ("三", 20.0, source),
    ]  # fmt: skip
    assert found.chapters[-1].end == found.samples


def test_chapters_of_a_cue_sheet_beside_the_file_are_found(tmp_path):
    sheet = 'FILE "x.mp3" MP3\n' + "".join(
        f'TRACK {n:02} AUDIO\nTITLE "Part {n}"\nINDEX 01 00:{(n - 1) * 10:02}:00\n' for n in (1, 2, 3)
    )
    path = odd.mp3(tmp_path / "a.mp3", 30)
    (tmp_path / "a.cue").write_text(sheet)
    found = surveyed(path)
    assert [(c.title, c.start / RATE, c.source) for c in found.chapters] == [
        ("Part 1", 0, "file"), ("Part 2", 10, "file"), ("Part 3", 20, "file"),
    ]  # fmt: skip


def test_changed_tags_leave_the_content_as_it_is_and_change_the_stamp(tmp_path):
    path = odd.mp3(tmp_path / "a.mp3", 5)
    before = surveyed(path)
    after = surveyed(odd.with_cover(path))
    assert after.content == before.content
    assert after.stamp != before.stamp
    assert after.size != before.size


def test_the_same_file_gives_the_same_survey_again(tmp_path):
    path = odd.spoiled(odd.m4b_index_first(tmp_path / "a.m4b", 30), 0.4, 2_000)
    assert msgspec.json.encode(surveyed(path)) == msgspec.json.encode(surveyed(path))
