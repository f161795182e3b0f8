"""A root is seen, or a sentence says what is there instead."""

import errno
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from bridge_agent.base.threads import ThreadCalls
from bridge_agent.mapping import sight
from bridge_agent.mapping.sight import look, look_at
from tests.unit.mapping.trees import plant, tree_hash


def test_a_folder_with_a_book_is_seen(tmp_path: Path) -> None:
    plant(tmp_path, {"A/1.mp3": 1})
    before = tree_hash(tmp_path)
    found = look_at(tmp_path)
    assert (found.seen, found.readable, found.writable) == (True, True, True)
    assert found.deepest_existing == str(tmp_path)
    assert tree_hash(tmp_path) == before


def test_an_empty_folder_is_not_seen_but_exists(tmp_path: Path) -> None:
    (tmp_path / ".stfolder").mkdir()
    (tmp_path / "@eaDir").mkdir()
    found = look_at(tmp_path)
    assert found.why == f"the folder {tmp_path} is empty"
    assert found.deepest_existing == str(tmp_path)


def test_a_missing_folder_names_the_deepest_part_that_exists(tmp_path: Path) -> None:
    (tmp_path / "media").mkdir()
    found = look_at(tmp_path / "media" / "nas" / "books")
    assert found.why == f"there is no folder {tmp_path / 'media' / 'nas' / 'books'}"
    assert found.deepest_existing == str(tmp_path / "media")
    assert found.hint is None


@pytest.mark.parametrize("here", ["audiobooks", "Audiobook", "AudioBooks", "Audio books"])
def test_a_near_miss_is_told(tmp_path: Path, here: str) -> None:
    (tmp_path / here / "de").mkdir(parents=True)
    (tmp_path / "Music").mkdir()
    found = look_at(tmp_path / "Audiobooks" / "de")
    assert found.hint == f"Did you mean {tmp_path / here / 'de'}?"


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    plant(tmp_path, {"x": 1})
    assert look_at(tmp_path / "x").why == f"{tmp_path / 'x'} is not a folder"


@pytest.mark.parametrize("path", ["Z:\\Books", "books", "."])
def test_what_is_no_full_path_is_never_looked_at(path: str) -> None:
    assert look_at(Path(path)).why == f"{path} is not a folder’s full path on this machine"


def test_a_path_with_a_nul_is_told_and_not_raised() -> None:
    assert not look_at(Path("/a\0b")).seen


def test_a_share_whose_server_went_away_is_told_with_the_systems_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def scandir(path: Any) -> Any:
        raise OSError(errno.ENOTCONN, "Transport endpoint is not connected", path)

    monkeypatch.setattr(os, "scandir", scandir)
    found = look_at(tmp_path)
    assert found.why == f"the folder {tmp_path} can’t be looked at ({os.strerror(errno.ENOTCONN)})"


@pytest.mark.parametrize("enterable", [True, False])
def test_a_folder_that_may_not_be_listed_is_told_from_one_that_may_not_be_entered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, enterable: bool
) -> None:
    def scandir(path: Any) -> Any:
        raise PermissionError(errno.EACCES, "Permission denied", path)

    monkeypatch.setattr(os, "scandir", scandir)
    monkeypatch.setattr(os, "access", lambda path, mode: enterable and mode == os.X_OK)
    found = look_at(tmp_path)
    assert found.seen is enterable
    assert (found.readable, found.writable) == (False, False)


async def test_a_root_that_does_not_answer_ends_in_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    back = threading.Event()
    monkeypatch.setattr(os, "scandir", lambda path: back.wait(10))
    try:
        found = await look(tmp_path, 0.05)
    finally:
        back.set()
    assert found.why == f"the folder {tmp_path} did not answer within 0.05 s"


async def test_too_many_dead_calls_are_told_and_not_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sight, "disk", ThreadCalls("none", most_stuck=0))
    assert "have not come back" in ((await look(tmp_path)).why or "")
