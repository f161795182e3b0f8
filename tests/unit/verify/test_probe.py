"""The probe file is private, of a name of its own, and gone whatever happens."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from bridge_agent.jobs.handlers.probe import PREFIX, probe
from tests.unit.mapping.trees import names_in


@pytest.mark.requirement("R-103")
def test_a_folder_that_takes_it_gives_no_reason_and_keeps_nothing(tmp_path: Path) -> None:
    assert probe(str(tmp_path)) is None
    assert names_in(tmp_path) == []


@pytest.mark.parametrize(
    ("number", "why"),
    [
        (errno.EACCES, "permission denied"),
        (errno.EROFS, "the file system is read-only"),
        (errno.ENOSPC, "the disk is full"),
        (errno.EIO, os.strerror(errno.EIO)),
    ],
)
def test_a_refusal_is_told_in_plain_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, why: str
) -> None:
    def refuse(*_: Any) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "open", refuse)
    assert probe(str(tmp_path)) == why


def test_a_folder_that_is_gone_is_told(tmp_path: Path) -> None:
    assert probe(str(tmp_path / "gone")) == "the folder is gone"


def test_a_probe_that_can_not_be_removed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted", path)

    monkeypatch.setattr(os, "unlink", refuse)
    said = probe(str(tmp_path))
    (left,) = names_in(tmp_path)
    assert said == f"the probe file {left} can’t be removed: permission denied"


def test_the_probe_is_removed_when_closing_it_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.close

    def close(handle: int) -> None:
        real(handle)
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "close", close)
    said = probe(str(tmp_path))
    monkeypatch.undo()
    assert said == os.strerror(errno.EIO)
    assert names_in(tmp_path) == []


def test_two_probes_at_once_do_not_meet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[str] = []
    real = os.open

    def opened(path: str, flags: int, mode: int) -> int:
        assert flags & os.O_EXCL
        assert mode == 0o600
        names.append(Path(path).name)
        return real(path, flags, mode)

    monkeypatch.setattr(os, "open", opened)
    assert probe(str(tmp_path)) is None
    assert probe(str(tmp_path)) is None
    assert len(set(names)) == 2
    assert all(name.startswith(PREFIX) for name in names)
