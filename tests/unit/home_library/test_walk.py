"""What a walk meets: rows A-80 to A-93 of the folder rules.

Bettered against Audiobookshelf: A-84 (sizes count audio alone), A-85 (recycle bins and `lost+found` are
passed over), A-87 (one track a real file), A-89 (a linked library is like any other). A-88: links are
followed inside the root alone. A-91: each library has its own books. Not ours: A-93 (nothing is written
into the library).
"""

import os
import sys
import unicodedata
from pathlib import Path

import pytest

from bridge_agent.home.library.walk import RootUnreadable, Stopped, Walk

no_links = pytest.mark.skipif(sys.platform == "win32", reason="links need a right of their own there")


def put(root: Path, *paths: str) -> None:
    for path in paths:
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(b"sound")


def walk(root: Path) -> list[str]:
    return sorted(Walk(str(root), lambda: False).run().files)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(".Hidden/a.mp3", id="A-80 folder"),
        pytest.param("T/._a.mp3", id="A-80 file"),
        pytest.param("@eaDir/a.mp3", id="A-81"),
        pytest.param("Foo @eaDir bar/a.mp3", id="A-81 anywhere"),
        pytest.param("T/a.mp3.part", id="A-83 part"),
        pytest.param("T/a.mp3.crdownload", id="A-83 download"),
        pytest.param("T/Thumbs.db", id="A-84"),
        pytest.param("#recycle/a.mp3", id="A-85"),
        pytest.param("lost+found/a.mp3", id="A-85 lost"),
        pytest.param("$RECYCLE.BIN/a.mp3", id="A-85 Windows"),
    ],
)
def test_passed_over(tmp_path: Path, path: str) -> None:
    put(tmp_path, path, "T/b.mp3")
    assert walk(tmp_path) == ["T/b.mp3"]


def test_a_82_an_ignore_file_hides_its_folder_and_all_below(tmp_path: Path) -> None:
    put(tmp_path, "Au/.ignore", "Au/T/a.mp3", "Bu/T/a.mp3", ".ignore")
    assert walk(tmp_path) == ["Bu/T/a.mp3"]


def test_a_86_paths_stay_byte_exact(tmp_path: Path) -> None:
    nfd = unicodedata.normalize("NFD", "J\u00f6rg")
    put(tmp_path, f"{nfd}/a.mp3", " edge /dots./b.mp3", "😀/'q'.mp3")
    assert walk(tmp_path) == sorted([f"{nfd}/a.mp3", " edge /dots./b.mp3", "😀/'q'.mp3"])


@no_links
def test_a_87_a_linked_folder_inside_doubles_nothing(tmp_path: Path) -> None:
    put(tmp_path, "Au/T/a.mp3")
    (tmp_path / "Link").symlink_to(tmp_path / "Au/T")
    (tmp_path / "Au/T/self").symlink_to(tmp_path)
    assert walk(tmp_path) == ["Au/T/a.mp3"]


@no_links
def test_a_87_a_link_brings_what_no_other_path_does_and_only_once(tmp_path: Path) -> None:
    put(tmp_path, ".store/T/a.mp3", ".store/T/sub/b.mp3")
    for name in ("B", "A"):
        (tmp_path / name).symlink_to(tmp_path / ".store/T")
    (tmp_path / ".store/T/sub/loop").symlink_to(tmp_path / ".store/T")
    assert walk(tmp_path) == ["A/a.mp3", "A/sub/b.mp3"]


@no_links
def test_a_88_links_out_of_the_root_are_not_followed(tmp_path: Path) -> None:
    put(tmp_path, "outside/Au/a.mp3", "root/T/b.mp3")
    (tmp_path / "root/Au").symlink_to(tmp_path / "outside/Au")
    (tmp_path / "root/T/c.mp3").symlink_to(tmp_path / "outside/Au/a.mp3")
    listing = Walk(str(tmp_path / "root"), lambda: False).run()
    assert sorted(listing.files) == ["T/b.mp3"]
    assert listing.dead_links == 2


@no_links
def test_a_89_a_linked_root_is_resolved_first(tmp_path: Path) -> None:
    put(tmp_path, "real/T/a.mp3")
    (tmp_path / "linked").symlink_to(tmp_path / "real")
    assert walk(tmp_path / "linked") == ["T/a.mp3"]


@no_links
def test_a_90_a_linked_file_counts_a_broken_link_does_not(tmp_path: Path) -> None:
    put(tmp_path, ".store/a.mp3", "T/b.mp3")
    (tmp_path / "T/a.mp3").symlink_to(tmp_path / ".store/a.mp3")
    (tmp_path / "T/again.mp3").symlink_to(tmp_path / "T/b.mp3")
    (tmp_path / "T/gone.mp3").symlink_to(tmp_path / "nowhere.mp3")
    assert walk(tmp_path) == ["T/a.mp3", "T/b.mp3"]


@no_links
def test_a_90_hard_links_are_files_of_their_own(tmp_path: Path) -> None:
    put(tmp_path, "A/a.mp3")
    (tmp_path / "B").mkdir()
    (tmp_path / "B/a.mp3").hardlink_to(tmp_path / "A/a.mp3")
    assert walk(tmp_path) == ["A/a.mp3", "B/a.mp3"]


@pytest.mark.skipif(sys.platform != "linux", reason="only there a name may be any bytes")
def test_a_name_that_is_no_unicode_is_passed_over_and_counted(tmp_path: Path) -> None:
    put(tmp_path, "T/a.mp3")
    Path(os.fsdecode(bytes(tmp_path / "T") + b"/\xff.mp3")).write_bytes(b"sound")
    listing = Walk(str(tmp_path), lambda: False).run()
    assert sorted(listing.files) == ["T/a.mp3"]
    assert listing.unnamable == 1


def test_a_missing_root_is_told(tmp_path: Path) -> None:
    with pytest.raises(RootUnreadable, match="check that its disk"):
        Walk(str(tmp_path / "gone"), lambda: False).run()


def test_a_walk_stops_when_told(tmp_path: Path) -> None:
    put(tmp_path, "T/a.mp3")
    with pytest.raises(Stopped):
        Walk(str(tmp_path), lambda: True).run()


def test_an_empty_root_is_known_from_one_without_books(tmp_path: Path) -> None:
    assert not Walk(str(tmp_path), lambda: False).run().anything
    put(tmp_path, ".stfolder")
    assert not Walk(str(tmp_path), lambda: False).run().anything
    put(tmp_path, "notes.txt")
    assert Walk(str(tmp_path), lambda: False).run().anything


def test_special_files_are_passed_over(tmp_path: Path) -> None:
    put(tmp_path, "T/a.mp3")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "T/pipe.mp3")
    assert walk(tmp_path) == ["T/a.mp3"]
