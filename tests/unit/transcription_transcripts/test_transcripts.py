"""Kept transcripts: files and rows together, found again by what they were made of, whole after any crash."""

import hashlib
import json
import shutil
import sys

import msgspec
import pytest

from bridge_agent.store.database import StoreFull
from bridge_agent.transcription.formats import CONTENT_TYPES, json_bytes
from bridge_agent.transcription.transcripts import TranscriptDamaged, open_transcripts, reuse_key
from tests.fakes.clock import FakeClock
from tests.unit.transcription_assembly.books import settings
from tests.unit.transcription_transcripts.rig import facts, made


def folders(tmp_path) -> list:
    return sorted(path for path in (tmp_path / "transcripts").iterdir())


async def test_a_kept_transcript_has_its_four_files_with_their_sums(transcripts, tmp_path):
    text = made("One two three.")
    kept = await transcripts.keep(text, facts(), "k1", server_id="s1")
    for artifact in kept.artifacts:
        file = await transcripts.artifact(kept.id, artifact.name)
        raw = file.path.read_bytes()
        assert (hashlib.sha256(raw).hexdigest(), len(raw)) == (artifact.sha256, artifact.size_bytes)
        assert file.content_type == CONTENT_TYPES[artifact.name]
    assert [artifact.name for artifact in kept.artifacts] == list(CONTENT_TYPES)
    assert await transcripts.load(kept.id) == text
    assert await transcripts.artifact(kept.id, "kept.json") is None
    assert await transcripts.artifact(kept.id, "../transcripts.sqlite3") is None
    assert await transcripts.artifact(99, "transcript.json") is None


async def test_the_list_shows_what_a_page_needs_in_the_wires_shape(transcripts):
    await transcripts.keep(made("One two three."), facts(warnings=("File 2 is short.",)), "k1", "s1")
    page = (await transcripts.list()).wire()
    shown = page["transcripts"][0]
    assert page["next_before"] is None
    assert {key: shown[key] for key in ("id", "title", "author", "language", "words", "segments")} == {
        "id": 1,
        "title": "Three Fables",
        "author": "Aesop",
        "language": "en",
        "words": 3,
        "segments": 1,
    }
    assert shown["engine"] == {"name": "scripted", "model": "base", "device": "cpu", "compute_type": "int8"}
    assert (shown["server_id"], shown["library_id"], shown["path"]) == ("s1", 1, "Aesop/Three Fables")
    assert shown["kept_at"] == "2026-01-01T00:00:00.000Z"
    assert shown["warnings"] == ("File 2 is short.",)
    json.dumps(shown)


async def test_the_list_is_paged_from_the_newest_and_searched_by_title_and_author(transcripts):
    for number in range(5):
        title = f"Été {number}" if number % 2 else f"Winter {number}"
        await transcripts.keep(made("One.", title=title), facts(f"p{number}"), f"k{number}")
    first = await transcripts.list(limit=2)
    rest = await transcripts.list(before=first.next_before, limit=10)
    assert [kept.title for kept in (*first.transcripts, *rest.transcripts)] == [
        "Winter 4",
        "Été 3",
        "Winter 2",
        "Été 1",
        "Winter 0",
    ]
    assert rest.next_before is None
    assert [k.title for k in (await transcripts.list("ete AESOP")).transcripts] == ["Été 3", "Été 1"]
    assert (await transcripts.list("nobody")).transcripts == ()


async def test_a_transcript_is_found_again_by_its_reuse_key_while_its_files_are_unharmed(transcripts):
    kept = await transcripts.keep(made("One two."), facts(), "k1")
    assert await transcripts.find("k1") == kept
    assert await transcripts.find("k2") is None
    file = await transcripts.artifact(kept.id, "transcript.vtt")
    raw = file.path.read_bytes()
    file.path.write_bytes(raw.replace(b"One", b"Two"))
    assert await transcripts.find("k1") is None


async def test_a_book_done_at_once_reports_the_kept_work_as_reused(transcripts):
    kept = await transcripts.keep(made("One two."), facts(parts=7, warnings=("w",)), "k1")
    found = await transcripts.reused(kept, 4, "New/Place")
    assert (found.library_id, found.path, found.parts, found.reused_parts) == (4, "New/Place", 7, 7)
    assert (found.seconds_spent, found.speed, found.warnings) == (0.0, 0.0, ("w",))
    assert found.artifacts == kept.artifacts


async def test_a_transcript_made_anew_takes_the_place_of_the_old_one(transcripts, tmp_path):
    first = await transcripts.keep(made("One."), facts(), "k1")
    again = await transcripts.keep(made("Two."), facts(), "k1")
    assert again.id == first.id
    assert len(folders(tmp_path)) == 1
    assert (await transcripts.load(again.id)).segments[0].text == "Two."


async def test_a_removed_transcript_leaves_nothing(transcripts, tmp_path):
    kept = await transcripts.keep(made("One."), facts(), "k1")
    assert await transcripts.remove(kept.id)
    assert not await transcripts.remove(kept.id)
    assert folders(tmp_path) == []
    assert await transcripts.get(kept.id) is None
    assert await transcripts.load(kept.id) is None


async def test_a_file_that_is_gone_is_said_in_words(transcripts):
    kept = await transcripts.keep(made("One."), facts(), "k1")
    (await transcripts.artifact(kept.id, "transcript.json")).path.unlink()
    with pytest.raises(TranscriptDamaged, match="transcribe the book again"):
        await transcripts.artifact(kept.id, "transcript.json")
    with pytest.raises(TranscriptDamaged):
        await transcripts.load(kept.id)


async def test_nothing_is_left_when_the_files_cannot_be_written(transcripts, tmp_path, monkeypatch):
    from bridge_agent.transcription.transcripts import folders as module

    def full(path, content):
        if path.name == "transcript.srt":
            raise OSError("disk full")
        path.write_bytes(content)

    monkeypatch.setattr(module, "write_private", full)
    with pytest.raises(OSError, match="disk full"):
        await transcripts.keep(made("One."), facts(), "k1")
    assert folders(tmp_path) == []
    assert (await transcripts.list()).transcripts == ()


async def test_nothing_is_left_when_the_store_is_full(transcripts, tmp_path, monkeypatch):
    async def full(unit):
        raise StoreFull

    monkeypatch.setattr(transcripts._db, "write", full)
    with pytest.raises(StoreFull):
        await transcripts.keep(made("One."), facts(), "k1")
    assert folders(tmp_path) == []


async def test_a_lost_store_is_made_again_from_the_folders(tmp_path):
    clock = FakeClock()
    opened = await open_transcripts(tmp_path, clock)
    kept = await opened.keep(made("The bridge."), facts(), "k1")
    await opened.close()
    for path in tmp_path.glob("transcripts.sqlite3*"):
        path.unlink()
    opened = await open_transcripts(tmp_path, clock)
    assert await opened.mend() == 1
    assert await opened.mend() == 0
    assert await opened.find("k1") == kept
    assert len((await opened.search("bridge")).hits) == 1
    await opened.close()


async def test_mending_ends_what_a_crash_left_half_done(transcripts, tmp_path):
    kept = await transcripts.keep(made("One."), facts(), "k1")
    gone = await transcripts.keep(made("Two."), facts(), "k2")
    root = tmp_path / "transcripts"
    file = await transcripts.artifact(gone.id, "transcript.json")
    # Half written, half removed, older than what took its place, and nothing of ours.
    (root / ".t-half").mkdir()
    file.path.parent.rename(root / ".t-removed")
    current = (await transcripts.artifact(kept.id, "transcript.json")).path.parent
    shutil.copytree(current, root / "t-older")
    (root / "t-strange").mkdir()
    await transcripts.mend()
    assert [path.name for path in folders(tmp_path)] == sorted([current.name, "t-strange"])
    assert [k.id for k in (await transcripts.list()).transcripts] == [kept.id]
    assert "t-strange" in transcripts.notes[0]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps files private by their folder")
async def test_a_transcript_is_private(transcripts, tmp_path):
    kept = await transcripts.keep(made("One."), facts(), "k1")
    file = await transcripts.artifact(kept.id, "transcript.txt")
    assert file.path.stat().st_mode & 0o077 == 0


def test_the_reuse_key_follows_from_files_settings_and_model_alone():
    files = [("a.mp3", 10, "x"), ("b.mp3", 20, "y")]
    key = reuse_key(files, settings(), "faster-whisper", "base")
    assert key == reuse_key(list(files), settings(), "faster-whisper", "base")
    others = [
        reuse_key(files[::-1], settings(), "faster-whisper", "base"),
        reuse_key([("a.mp3", 11, "x"), files[1]], settings(), "faster-whisper", "base"),
        reuse_key(files, settings(quality="accurate"), "faster-whisper", "base"),
        reuse_key(files, settings(prompt="Hare"), "faster-whisper", "base"),
        reuse_key(files, settings(), "faster-whisper", "small"),
        reuse_key(files, settings(), "openai", "base"),
    ]
    assert len({key, *others}) == 7


async def test_no_clock_and_no_place_is_in_the_files(transcripts, tmp_path):
    text = made("One two.")
    kept = await transcripts.keep(text, facts("Library/Secret"), "k1")
    for artifact in kept.artifacts:
        raw = (await transcripts.artifact(kept.id, artifact.name)).path.read_bytes()
        assert b"2026" not in raw
        assert b"Secret" not in raw
        assert str(tmp_path).encode() not in raw
    assert msgspec.json.decode(json_bytes(text))["version"] == 1
