"""What a scan does when the disk changes: rows A-94 to A-109 of the folder rules.

Bettered against Audiobookshelf: A-94 (a renamed folder's new names count, since nothing is pinned), A-95,
A-96, A-97 (a book is known by its content, never by an inode), A-98 (swapped folders: each book follows its
content), A-99, A-100, A-104 (the books beside a stray file stay), A-107 (an empty or vanished root marks
nothing missing), A-108. A-102, A-103, A-105, A-106 are kept. Not ours: A-101 (a library has one root),
A-109 (there is no watcher).
"""

import asyncio
import os
import shutil
import threading
import unicodedata
from pathlib import Path

import pytest

from bridge_agent.base.tasks import Tasks
from bridge_agent.home.library import scan as scan_module
from bridge_agent.home.library import tags
from bridge_agent.home.library.index import LibraryIndex
from tests.fakes.clock import FakeClock
from tests.unit.home_library.audio import mp3, wav
from tests.unit.home_library.conftest import Shelves


def book(root: Path, path: str, tracks: int = 2, pitch: int = 0, **more: str) -> None:
    for i in range(1, tracks + 1):
        mp3(root / path / f"{i:02}.mp3", 20 + i, pitch=pitch + i, **more)


async def test_new_books_are_found(shelves: Shelves) -> None:
    book(shelves.root, "Au/T")
    scan = await shelves.scan()
    assert (scan.state, scan.done, scan.total, scan.error) == ("done", 2, 2, None)
    assert scan.finished_at == "2026-01-01T00:00:00.000Z"
    info = shelves.index.get(shelves.id)
    assert info is not None
    assert info.books == 1
    assert await shelves.states() == {"Au/T": "whole"}
    book(shelves.root, "Au/U", pitch=40)
    await shelves.scan()
    assert list(await shelves.states()) == ["Au/T", "Au/U"]
    assert info.books == 2
    assert shelves.moves == []


async def test_an_unchanged_file_is_never_read_again(
    shelves: Shelves, monkeypatch: pytest.MonkeyPatch
) -> None:
    book(shelves.root, "Au/T")
    await shelves.scan()
    read: list[str] = []
    monkeypatch.setattr(scan_module, "read_tags", lambda path: read.append(path) or tags.read_tags(path))
    await shelves.scan()
    assert read == []
    mp3(shelves.root / "Au/T/03.mp3", 5)
    await shelves.scan()
    assert [Path(path).name for path in read] == ["03.mp3"]
    assert await shelves.tracks("Au/T") == ["01.mp3", "02.mp3", "03.mp3"]


async def test_a_changed_file_is_read_again(shelves: Shelves) -> None:
    wav(shelves.root / "Au/T/a.wav", 1.0)
    await shelves.scan()
    wav(shelves.root / "Au/T/a.wav", 2.0)
    await shelves.scan()
    found = await shelves.index.book(shelves.id, "Au/T")
    assert found is not None
    assert (found.files[0].duration, found.files[0].size) == (2.0, 16044)
    assert await shelves.states() == {"Au/T": "whole"}


async def test_a_changed_sidecar_is_read_again(shelves: Shelves) -> None:
    book(shelves.root, "Au/T")
    (shelves.root / "Au/T/desc.txt").write_text("First.", encoding="utf-8")
    await shelves.scan()
    (shelves.root / "Au/T/desc.txt").write_text("Second one.", encoding="utf-8")
    await shelves.scan()
    details = await shelves.index.details(shelves.id, "Au/T")
    assert details is not None
    assert details.description == "Second one."
    (shelves.root / "Au/T/desc.txt").unlink()
    await shelves.scan()
    details = await shelves.index.details(shelves.id, "Au/T")
    assert details is not None
    assert details.description == ""


async def test_a_94_a_renamed_folder_is_the_same_book_with_the_new_names(shelves: Shelves) -> None:
    book(shelves.root, "Au/Old")
    await shelves.scan()
    before = await shelves.id_of("Au/Old")
    (shelves.root / "Au/Old").rename(shelves.root / "Au/New")
    await shelves.scan()
    assert await shelves.id_of("Au/New") == before
    assert shelves.moves == [("Au/Old", "Au/New")]
    page = await shelves.index.books(shelves.id)
    assert [(b.path, b.title, b.state) for b in page.books] == [("Au/New", "New", "whole")]
    assert await shelves.tracks("Au/New") == ["01.mp3", "02.mp3"]


async def test_a_94_a_renamed_author_moves_all_books(shelves: Shelves) -> None:
    for i in range(5):
        book(shelves.root, f"Au/T{i}", pitch=i * 10)
    await shelves.scan()
    (shelves.root / "Au").rename(shelves.root / "Another")
    await shelves.scan()
    assert sorted(shelves.moves) == [(f"Au/T{i}", f"Another/T{i}") for i in range(5)]
    assert set((await shelves.states()).values()) == {"whole"}


async def test_a_95_a_copy_whose_original_is_gone_is_the_same_book(shelves: Shelves) -> None:
    book(shelves.root, "Au/T")
    await shelves.scan()
    shutil.copytree(shelves.root / "Au/T", shelves.root / "Else/T")
    shutil.rmtree(shelves.root / "Au/T")
    await shelves.scan()
    assert shelves.moves == [("Au/T", "Else/T")]
    assert await shelves.states() == {"Else/T": "whole"}


async def test_a_95_a_copy_beside_its_original_is_another_book(shelves: Shelves) -> None:
    book(shelves.root, "Au/T")
    await shelves.scan()
    shutil.copytree(shelves.root / "Au/T", shelves.root / "Else/T")
    await shelves.scan()
    assert shelves.moves == []
    assert await shelves.states() == {"Au/T": "whole", "Else/T": "whole"}


async def test_a_96_files_moved_into_a_new_folder_are_the_same_book(shelves: Shelves) -> None:
    book(shelves.root, "Au/T", tracks=4)
    await shelves.scan()
    (shelves.root / "Au/S/Book 1 - T").mkdir(parents=True)
    for i in range(1, 5):
        (shelves.root / f"Au/T/{i:02}.mp3").rename(shelves.root / f"Au/S/Book 1 - T/{i}.mp3")
    (shelves.root / "Au/T").rmdir()
    await shelves.scan()
    assert shelves.moves == [("Au/T", "Au/S/Book 1 - T")]
    assert await shelves.tracks("Au/S/Book 1 - T") == ["1.mp3", "2.mp3", "3.mp3", "4.mp3"]


async def test_a_96_a_book_that_lost_a_track_on_the_way_is_still_the_same(shelves: Shelves) -> None:
    book(shelves.root, "Au/T", tracks=5)
    await shelves.scan()
    (shelves.root / "Au/T").rename(shelves.root / "Au/U")
    (shelves.root / "Au/U/05.mp3").unlink()
    await shelves.scan()
    assert shelves.moves == [("Au/T", "Au/U")]


async def test_a_97_another_book_never_takes_over_one_that_is_gone(shelves: Shelves) -> None:
    book(shelves.root, "Au/One")
    book(shelves.root, "Au/Keep", pitch=50)
    await shelves.scan()
    before = await shelves.id_of("Au/One")
    shutil.rmtree(shelves.root / "Au/One")
    book(shelves.root, "Au/Two", pitch=90)
    await shelves.scan()
    assert await shelves.states() == {"Au/Keep": "whole", "Au/One": "missing", "Au/Two": "whole"}
    assert await shelves.id_of("Au/Two") != before
    assert shelves.moves == []


async def test_a_98_swapped_folders_follow_their_content(shelves: Shelves) -> None:
    book(shelves.root, "Au/A", pitch=10)
    book(shelves.root, "Au/B", pitch=60, tracks=3)
    await shelves.scan()
    a, b = await shelves.id_of("Au/A"), await shelves.id_of("Au/B")
    (shelves.root / "Au/A").rename(shelves.root / "Au/x")
    (shelves.root / "Au/B").rename(shelves.root / "Au/A")
    (shelves.root / "Au/x").rename(shelves.root / "Au/B")
    await shelves.scan()
    assert (await shelves.id_of("Au/B"), await shelves.id_of("Au/A")) == (a, b)
    assert len(await shelves.tracks("Au/A")) == 3
    jobs = {"of a": "Au/A", "of b": "Au/B"}
    for old, new in shelves.moves:
        jobs = {job: new if path == old else path for job, path in jobs.items()}
    assert jobs == {"of a": "Au/B", "of b": "Au/A"}


async def test_a_99_a_root_file_put_into_a_folder_is_the_same_book(shelves: Shelves) -> None:
    mp3(shelves.root / "T.mp3", 30)
    await shelves.scan()
    (shelves.root / "T").mkdir()
    (shelves.root / "T.mp3").rename(shelves.root / "T/T.mp3")
    await shelves.scan()
    assert shelves.moves == [("T.mp3", "T")]
    assert await shelves.states() == {"T": "whole"}


async def test_a_99_a_second_long_book_beside_the_first_parts_the_folder(shelves: Shelves) -> None:
    mp3(shelves.root / "Au/one.mp3", 30, title="One")
    await shelves.scan()
    book(shelves.root, "Au/Two")
    await shelves.scan()
    assert await shelves.states() == {"Au/one.mp3": "whole", "Au/Two": "whole"}
    assert shelves.moves == [("Au", "Au/one.mp3")]


async def test_a_102_an_added_track_makes_no_new_book(shelves: Shelves) -> None:
    book(shelves.root, "Au/T")
    await shelves.scan()
    before = await shelves.id_of("Au/T")
    mp3(shelves.root / "Au/T/03.mp3", 9)
    await shelves.scan()
    assert await shelves.id_of("Au/T") == before
    details = await shelves.index.details(shelves.id, "Au/T")
    assert details is not None
    assert len(details.chapters) == 3


async def test_a_102_a_track_that_vanished_is_told_until_it_is_back(shelves: Shelves) -> None:
    book(shelves.root, "Au/T", tracks=3)
    await shelves.scan()
    kept = (shelves.root / "Au/T/03.mp3").read_bytes()
    (shelves.root / "Au/T/03.mp3").unlink()
    await shelves.scan()
    assert await shelves.states() == {"Au/T": "incomplete"}
    assert await shelves.notes("Au/T") == ["“03.mp3” was there at an earlier scan and is gone."]
    assert await shelves.tracks("Au/T") == ["01.mp3", "02.mp3"]
    await shelves.scan()
    assert await shelves.states() == {"Au/T": "incomplete"}
    (shelves.root / "Au/T/03.mp3").write_bytes(kept)
    await shelves.scan()
    assert await shelves.states() == {"Au/T": "whole"}
    assert await shelves.notes("Au/T") == []


async def test_a_102_a_hole_in_the_numbers_makes_a_book_incomplete(shelves: Shelves) -> None:
    book(shelves.root, "Au/T", tracks=3)
    (shelves.root / "Au/T/02.mp3").unlink()
    await shelves.scan()
    assert await shelves.states() == {"Au/T": "incomplete"}
    assert await shelves.notes("Au/T") == ["Track 2 is missing."]


async def test_a_103_renamed_tracks_are_the_same_tracks(shelves: Shelves) -> None:
    book(shelves.root, "Au/T", tracks=3)
    await shelves.scan()
    (shelves.root / "Au/T/03.mp3").rename(shelves.root / "Au/T/03 - The End.mp3")
    await shelves.scan()
    assert await shelves.states() == {"Au/T": "whole"}
    assert await shelves.tracks("Au/T") == ["01.mp3", "02.mp3", "03 - The End.mp3"]


async def test_a_103_a_book_encoded_anew_has_lost_nothing(shelves: Shelves) -> None:
    for i in (1, 2, 3):
        wav(shelves.root / f"Au/T/{i}.wav", 1.0, pitch=i)
    await shelves.scan()
    for i in (2, 3):
        (shelves.root / f"Au/T/{i}.wav").unlink()
    wav(shelves.root / "Au/T/2.wav", 2.0, pitch=9)
    await shelves.scan()
    assert await shelves.states() == {"Au/T": "whole"}


async def test_a_104_a_stray_file_in_an_author_folder_leaves_the_books_alone(shelves: Shelves) -> None:
    for i in range(7):
        book(shelves.root, f"Au/T{i}", pitch=i * 10)
    await shelves.scan()
    mp3(shelves.root / "Au/stray.mp3", 7, pitch=99)
    await shelves.scan()
    states = await shelves.states()
    assert len(states) == 8
    assert set(states.values()) == {"whole"}
    assert shelves.moves == []


async def test_a_105_a_deleted_book_is_missing_and_comes_back_as_the_same(shelves: Shelves) -> None:
    book(shelves.root, "Au/T")
    book(shelves.root, "Bu/U", pitch=50)
    await shelves.scan()
    before = await shelves.id_of("Au/T")
    shutil.rmtree(shelves.root / "Au/T")
    scan = await shelves.scan()
    assert scan.state == "done"
    assert await shelves.states() == {"Au/T": "missing", "Bu/U": "whole"}
    assert len(await shelves.tracks("Au/T")) == 2
    info = shelves.index.get(shelves.id)
    assert info is not None
    assert info.books == 1
    book(shelves.root, "Au/T", pitch=77)
    await shelves.scan()
    assert await shelves.states() == {"Au/T": "whole", "Bu/U": "whole"}
    assert await shelves.id_of("Au/T") == before
    assert info.books == 2


async def test_a_105_a_missing_book_found_elsewhere_later_is_the_same(
    shelves: Shelves, tmp_path: Path
) -> None:
    book(shelves.root, "Au/T")
    book(shelves.root, "Bu/U", pitch=50)
    await shelves.scan()
    (shelves.root / "Au/T").rename(tmp_path / "away")
    await shelves.scan()
    (shelves.root / "New").mkdir()
    (tmp_path / "away").rename(shelves.root / "New/T")
    await shelves.scan()
    assert await shelves.states() == {"Bu/U": "whole", "New/T": "whole"}
    assert shelves.moves == [("Au/T", "New/T")]


async def test_a_105_the_only_book_comes_back_with_other_files(shelves: Shelves) -> None:
    (shelves.root / "notes.txt").touch()
    book(shelves.root, "Au/T")
    await shelves.scan()
    shutil.rmtree(shelves.root / "Au")
    await shelves.scan()
    assert await shelves.states() == {"Au/T": "missing"}
    book(shelves.root, "Au/T", tracks=1, pitch=99)
    await shelves.scan()
    assert await shelves.states() == {"Au/T": "whole"}
    assert await shelves.tracks("Au/T") == ["01.mp3"]


async def test_a_library_removed_in_the_middle_of_its_scan_leaves_nothing(
    shelves: Shelves, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    book(shelves.root, "Au/T")
    begun = threading.Event()

    def reading(path: str) -> tags.Tags:
        begun.set()
        return tags.read_tags(path)

    monkeypatch.setattr(scan_module, "read_tags", reading)
    shelves.index.request_scan(shelves.id)
    while not begun.is_set():
        await asyncio.sleep(0.001)
    await shelves.index.remove(shelves.id)
    await shelves.index.settled()
    assert (await shelves.index.books(shelves.id)).books == []
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


async def test_a_106_a_book_that_is_ignored_now_is_missing(shelves: Shelves) -> None:
    book(shelves.root, "Au/T")
    book(shelves.root, "Bu/U", pitch=50)
    await shelves.scan()
    (shelves.root / "Au/.ignore").touch()
    await shelves.scan()
    assert await shelves.states() == {"Au/T": "missing", "Bu/U": "whole"}


async def test_a_107_an_empty_root_marks_nothing_missing(shelves: Shelves) -> None:
    book(shelves.root, "Au/T")
    await shelves.scan()
    shutil.rmtree(shelves.root / "Au")
    scan = await shelves.scan()
    assert scan.state == "failed"
    assert scan.error is not None
    assert "nothing was marked missing" in scan.error
    assert await shelves.states() == {"Au/T": "whole"}
    book(shelves.root, "Au/T")
    assert (await shelves.scan()).state == "done"
    assert await shelves.states() == {"Au/T": "whole"}


async def test_a_107_a_vanished_root_marks_nothing_missing(shelves: Shelves) -> None:
    book(shelves.root, "Au/T")
    await shelves.scan()
    shelves.root.rename(shelves.root.with_name("elsewhere"))
    scan = await shelves.scan()
    assert (scan.state, await shelves.states()) == ("failed", {"Au/T": "whole"})
    assert scan.error is not None
    assert "is not there" in scan.error


async def test_a_107_a_wave_of_missing_books_is_believed_only_when_it_is_asked_for_again(
    shelves: Shelves,
) -> None:
    for i in range(24):
        book(shelves.root, f"Au{i % 3}/T{i}", tracks=1, pitch=i * 10)
    await shelves.scan()
    shutil.rmtree(shelves.root / "Au0")
    shutil.rmtree(shelves.root / "Au1")
    book(shelves.root, "Au2/new", tracks=1, pitch=250)
    for i in range(2, 24, 3):
        assert f"Au{i % 3}/T{i}" in await shelves.states()
    shutil.rmtree(shelves.root / "Au2")
    book(shelves.root, "Bu/other", tracks=1, pitch=252)
    scan = await shelves.scan()
    assert scan.state == "failed"
    assert "24 of 25 books are gone at once" in str(scan.error)
    assert (await shelves.scan(asked=False)).state == "failed"
    assert list((await shelves.states()).values()).count("missing") == 0
    assert (await shelves.scan()).state == "done"
    assert list((await shelves.states()).values()).count("missing") == 24


async def test_a_108_a_name_in_another_unicode_form_is_the_same_book(shelves: Shelves) -> None:
    nfc, nfd = "J\u00f6rg/T", unicodedata.normalize("NFD", "J\u00f6rg/T")
    book(shelves.root, nfc)
    await shelves.scan()
    before = await shelves.id_of(nfc)
    (shelves.root / "J\u00f6rg").rename(shelves.root / unicodedata.normalize("NFD", "J\u00f6rg"))
    await shelves.scan()
    assert await shelves.id_of(nfd) == before
    assert shelves.moves == [(nfc, nfd)]
    found = await shelves.index.book(shelves.id, nfc)
    assert found is not None
    assert found.path == nfd
    assert await shelves.index.has_book(shelves.id, nfc)


async def test_a_folder_that_answers_with_an_error_keeps_its_books(
    shelves: Shelves, monkeypatch: pytest.MonkeyPatch
) -> None:
    book(shelves.root, "Au/T")
    book(shelves.root, "Bu/U", pitch=50)
    await shelves.scan()
    scandir = os.scandir

    def broken(path: str) -> object:
        if str(path).endswith("Au"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", broken)
    scan = await shelves.scan()
    assert (scan.state, await shelves.states()) == ("done", {"Au/T": "whole", "Bu/U": "whole"})
    assert "“Au” could not be read" in str(scan.error)


async def test_a_file_that_could_not_be_opened_is_tried_again(
    shelves: Shelves, monkeypatch: pytest.MonkeyPatch
) -> None:
    book(shelves.root, "Au/T")
    closed = tags.Tags(broken=tags.UNREADABLE)
    monkeypatch.setattr(
        scan_module, "read_tags", lambda path: closed if path.endswith("02.mp3") else tags.read_tags(path)
    )
    await shelves.scan()
    assert await shelves.states() == {"Au/T": "incomplete"}
    assert await shelves.notes("Au/T") == ["“02.mp3”: The file can't be opened."]
    assert await shelves.tracks("Au/T") == ["01.mp3", "02.mp3"]
    monkeypatch.setattr(scan_module, "read_tags", tags.read_tags)
    await shelves.scan()
    assert await shelves.states() == {"Au/T": "whole"}


async def test_a_disk_that_goes_silent_ends_the_scan_and_not_the_server(
    shelves: Shelves, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    book(shelves.root, "Au/T")
    await shelves.scan()
    back = threading.Event()
    scandir = os.scandir

    def hanging(path: str) -> object:
        if str(path).endswith("Au"):
            back.wait(30)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", hanging)
    shelves.index.request_scan(shelves.id)
    info = shelves.index.get(shelves.id)
    assert info is not None
    for _ in range(700):
        if clock.sleepers:
            await clock.advance(0.5)
        else:
            await asyncio.sleep(0.001)
        if info.scan.state != "running":
            break
    back.set()
    await shelves.index.settled()
    assert (info.scan.state, await shelves.states()) == ("failed", {"Au/T": "whole"})
    assert "does not answer" in str(info.scan.error)


async def test_broken_and_empty_files_never_fail_a_scan(shelves: Shelves) -> None:
    (shelves.root / "Au/Empty").mkdir(parents=True)
    (shelves.root / "Au/Empty/01.mp3").touch()
    book(shelves.root, "Au/Part")
    (shelves.root / "Au/Part/03.mp3").write_bytes(b"not sound at all")
    (shelves.root / "Au/Broken").mkdir()
    (shelves.root / "Au/Broken/a.m4b").write_bytes(b"\0\0\0\x08moov" * 9)
    for name in ("desc.txt", "metadata.json", "x.opf", "a.cue", "cover.jpg"):
        (shelves.root / "Au/Part" / name).write_bytes(b"\xff\xfe\x00{[<")
    scan = await shelves.scan()
    assert scan.state == "done"
    assert await shelves.states() == {"Au/Broken": "whole", "Au/Part": "whole"}
    assert len(await shelves.notes("Au/Part")) == 1


async def test_a_stopped_scan_keeps_what_it_read_and_is_made_up_for(
    tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, data = tmp_path / "library", tmp_path / "data"
    data.mkdir()
    for i in range(6):
        book(root, f"Au/T{i}", pitch=i * 10)
    monkeypatch.setattr(scan_module, "_READ_FILES", 4)
    read: list[str] = []
    index = await LibraryIndex.open(data, clock, Tasks("test"))

    def reading(path: str) -> tags.Tags:
        read.append(path)
        if len(read) == 7:
            assert index._scan is not None
            index._scan.stop()
        return tags.read_tags(path)

    monkeypatch.setattr(scan_module, "read_tags", reading)
    added = await index.add("Books", root)
    index.request_scan(added.id)
    await index.settled()
    assert added.scan.state != "done"
    await index.close()
    assert len(read) == 7

    index = await LibraryIndex.open(data, clock, Tasks("test"))
    index.request_due_scans()
    await index.settled()
    found = index.get(added.id)
    assert found is not None
    assert (found.scan.state, found.books) == ("done", 6)
    # The four of the first batch were written down; three of the second were read once more.
    assert len(read) == 7 + 8
    await index.close()


async def test_closing_in_the_middle_of_a_scan_is_quick(
    tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "library"
    for i in range(120):
        (root / f"Au/T{i}").mkdir(parents=True)
        (root / f"Au/T{i}/a.mp3").write_bytes(b"x")
    index = await LibraryIndex.open(tmp_path, clock, Tasks("test"))
    added = await index.add("Books", root)
    index.request_scan(added.id)
    while added.scan.done == 0 and added.scan.state == "running":
        await index.books(added.id)
    await index.close()
    assert added.scan.state == "running"


async def test_moves_are_told_again_until_they_are_taken(shelves: Shelves) -> None:
    book(shelves.root, "Au/Old")
    await shelves.scan()
    told: list[tuple[str, str]] = []

    async def crash(library_id: int, old: str, new: str) -> None:
        told.append((old, new))
        raise RuntimeError("the jobs' store is busy")

    shelves.index.on_moved = crash
    (shelves.root / "Au/Old").rename(shelves.root / "Au/New")
    assert (await shelves.scan()).state == "done"
    shelves.index.on_moved = shelves._moved
    await shelves.index.tell_moves()
    await shelves.index.tell_moves()
    assert told == [("Au/Old", "Au/New")]
    assert shelves.moves == [("Au/Old", "Au/New")]


async def test_a_scan_asked_for_while_one_runs_follows_it(shelves: Shelves) -> None:
    book(shelves.root, "Au/T")
    shelves.index.request_scan(shelves.id)
    info = shelves.index.get(shelves.id)
    assert info is not None
    assert info.scan.state == "running"
    shelves.index.request_scan(shelves.id)
    await shelves.index.settled()
    assert info.scan.state == "done"
    assert shelves.changes >= 3


async def test_new_rules_sort_all_shelves_anew_without_reading(
    shelves: Shelves, monkeypatch: pytest.MonkeyPatch
) -> None:
    book(shelves.root, "Au/T")
    await shelves.scan()
    await shelves.index._database.write(lambda c: c.execute("UPDATE books SET title = 'old', digest = ''"))
    monkeypatch.setattr(scan_module, "read_tags", lambda path: pytest.fail(f"{path} was read again"))
    await shelves.scan()
    assert [b.title for b in (await shelves.index.books(shelves.id)).books] == ["old"]
    monkeypatch.setattr(scan_module, "RULES", 99)
    await shelves.scan()
    assert [b.title for b in (await shelves.index.books(shelves.id)).books] == ["T"]


async def test_two_libraries_over_one_folder_each_have_its_books(shelves: Shelves) -> None:
    book(shelves.root, "A/B")
    inner = await shelves.index.add("Inner", shelves.root / "A")
    shelves.index.request_all_scans()
    await shelves.index.settled()
    assert list(await shelves.states()) == ["A/B"]
    assert [b.path for b in (await shelves.index.books(inner.id)).books] == ["B"]


async def test_nothing_in_the_library_is_changed(shelves: Shelves) -> None:
    book(shelves.root, "Au/T")
    (shelves.root / "Au/T/cover.jpg").write_bytes(b"\xff\xd8\xff")

    def look() -> list[tuple[str, int, int]]:
        paths = sorted(shelves.root.rglob("*"))
        return [(str(p), p.stat().st_mtime_ns, p.stat().st_size) for p in paths]

    before = look()
    await shelves.scan()
    await shelves.scan()
    assert look() == before
