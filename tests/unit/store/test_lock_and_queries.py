"""One process a data folder; named statements out of .sql files."""

import os

import pytest

from bridge_agent.store.lock import FolderInUse, FolderLock


def test_a_second_holder_is_told_who_has_the_folder(tmp_path):
    first = FolderLock(tmp_path / "data", "bridge")
    first.acquire()
    with pytest.raises(FolderInUse, match=rf"process {os.getpid()}; stop that one first"):
        FolderLock(tmp_path / "data", "bridge").acquire()
    first.release()
    second = FolderLock(tmp_path / "data", "bridge")
    second.acquire()
    second.release()
    second.release()


def test_the_folder_is_made_private(tmp_path):
    lock = FolderLock(tmp_path / "data", "bridge")
    lock.acquire()
    assert (tmp_path / "data").stat().st_mode & 0o077 == 0
    lock.release()
