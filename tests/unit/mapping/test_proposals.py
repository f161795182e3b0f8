"""Proposals come from evidence, in bounded time, and nothing on the way does harm."""

import os
import threading
import time
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from bridge_agent.mapping import proposals
from bridge_agent.mapping.proposals import Mount, Search, mount_table
from bridge_agent.mapping.views import Proposal
from tests.unit.mapping.trees import listed, plant, tree_hash

BOOK = {f"Andy Weir/Hail Mary/{n}.mp3": 10 + n for n in range(5)}


def search(tmp_path: Path, *mounts: str, kind: str = "ext4", limit_s: float = 10.0) -> Search:
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    return Search(lambda: [Mount(str(tmp_path / path), kind) for path in mounts], home, limit_s)


async def test_finds_the_library_under_a_mount_with_its_evidence(tmp_path: Path) -> None:
    plant(tmp_path / "nas/media/Audio", BOOK)
    before = tree_hash(tmp_path / "nas")
    found = await search(tmp_path, "nas").run(listed(BOOK))
    assert found == [Proposal(path=str(tmp_path / "nas/media/Audio"), matched=5, of=5)]
    assert tree_hash(tmp_path / "nas") == before


async def test_the_best_match_comes_first(tmp_path: Path) -> None:
    plant(tmp_path / "nas/old", {path: size for path, size in BOOK.items() if not path.endswith("4.mp3")})
    plant(tmp_path / "nas/deeper/new", BOOK)
    plant(tmp_path / "nas/other", {path: size + 1 for path, size in BOOK.items()})
    found = await search(tmp_path, "nas").run(listed(BOOK))
    assert [(Path(p.path).name, p.matched) for p in found] == [("new", 5), ("old", 4)]


async def test_finds_it_at_home_and_near_other_mappings(tmp_path: Path) -> None:
    plant(tmp_path / "home/Audiobooks", BOOK)
    plant(tmp_path / "vol/books", BOOK)
    found = await search(tmp_path).run(listed(BOOK), near=[tmp_path / "vol"])
    assert {p.path for p in found} == {str(tmp_path / "home/Audiobooks"), str(tmp_path / "vol/books")}


async def test_the_place_itself_may_be_the_library(tmp_path: Path) -> None:
    plant(tmp_path / "nas", BOOK)
    (found,) = await search(tmp_path, "nas").run(listed(BOOK))
    assert found.path == str(tmp_path / "nas")


async def test_names_in_another_unicode_form_are_evidence_too(tmp_path: Path) -> None:
    name = "Zoë/Café.mp3"
    plant(tmp_path / "nas/Books", {unicodedata.normalize("NFD", name): 9})
    (found,) = await search(tmp_path, "nas").run(listed({unicodedata.normalize("NFC", name): 9}))
    assert (found.matched, found.of) == (1, 1)


async def test_a_book_of_one_file_in_the_root_is_found(tmp_path: Path) -> None:
    plant(tmp_path / "nas/Books", {"One.m4b": 77})
    (found,) = await search(tmp_path, "nas").run(listed({"One.m4b": 77}))
    assert found.path == str(tmp_path / "nas/Books")


async def test_four_levels_are_looked_at_and_not_five(tmp_path: Path) -> None:
    plant(tmp_path / "nas/1/2/3/4", BOOK)
    plant(tmp_path / "nas/a/b/c/d/e", BOOK)
    found = await search(tmp_path, "nas").run(listed(BOOK))
    assert [p.path for p in found] == [str(tmp_path / "nas/1/2/3/4")]


@pytest.mark.parametrize("name", [".snapshot", ".zfs", "@eaDir", "#snapshot", "snapshots", "node_modules"])
async def test_snapshots_and_the_like_are_never_entered(tmp_path: Path, name: str) -> None:
    plant(tmp_path / "nas" / name / "x", BOOK)
    assert await search(tmp_path, "nas").run(listed(BOOK)) == []


@pytest.mark.parametrize("kind", ["proc", "sysfs", "tmpfs", "devpts", "squashfs", "autofs"])
async def test_pseudo_file_systems_are_no_place_to_begin(tmp_path: Path, kind: str) -> None:
    plant(tmp_path / "nas", BOOK)
    assert await search(tmp_path, "nas", kind=kind).run(listed(BOOK)) == []


async def test_another_mount_below_is_left_to_its_own_turn(tmp_path: Path) -> None:
    plant(tmp_path / "nas/inner/Books", BOOK)
    found = Search(
        lambda: [Mount(str(tmp_path / "nas"), "ext4"), Mount(str(tmp_path / "nas/inner"), "proc")],
        tmp_path / "h",
    )
    assert await found.run(listed(BOOK)) == []


async def test_links_in_circles_do_no_harm(tmp_path: Path) -> None:
    plant(tmp_path / "nas/Books", BOOK)
    (tmp_path / "nas/loop").symlink_to(tmp_path / "nas")
    (tmp_path / "nas/Books/up").symlink_to("..")
    found = await search(tmp_path, "nas").run(listed(BOOK))
    assert [p.path for p in found] == [str(tmp_path / "nas/Books")]


async def test_one_folder_under_two_names_is_one_proposal(tmp_path: Path) -> None:
    plant(tmp_path / "nas/Books", BOOK)
    (tmp_path / "alias").symlink_to(tmp_path / "nas")
    found = await search(tmp_path, "nas", "alias").run(listed(BOOK))
    assert len(found) == 1


async def test_folders_that_may_not_be_read_are_passed_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(tmp_path / "nas/b", BOOK)
    (tmp_path / "nas/a").mkdir()
    real = os.scandir

    def scandir(path: Any) -> Any:
        if str(path).endswith("/a"):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert len(await search(tmp_path, "nas").run(listed(BOOK))) == 1


async def test_a_dead_mount_costs_its_own_answer_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(tmp_path / "nas/Books", BOOK)
    (tmp_path / "dead").mkdir()
    back, real = threading.Event(), os.scandir

    def scandir(path: Any) -> Any:
        if str(path).endswith("/dead"):
            back.wait(10)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    began = time.monotonic()
    try:
        found = await search(tmp_path, "dead", "nas", limit_s=0.8).run(listed(BOOK))
    finally:
        back.set()
    assert [p.path for p in found] == [str(tmp_path / "nas/Books")]
    assert time.monotonic() - began < 8


async def test_a_mount_table_that_can_not_be_read_leaves_the_home_folder(tmp_path: Path) -> None:
    plant(tmp_path / "home/Books", BOOK)

    def broken() -> list[Mount]:
        raise OSError("no table")

    assert len(await Search(broken, tmp_path / "home").run(listed(BOOK))) == 1


async def test_the_walk_ends_at_its_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(1200):
        (tmp_path / f"nas/{n}").mkdir(parents=True)
    real = os.scandir

    def scandir(path: Any) -> Any:
        time.sleep(0.01)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    began = time.monotonic()
    assert await search(tmp_path, "nas", limit_s=0.2).run(listed(BOOK)) == []
    assert time.monotonic() - began < 8


async def test_a_folder_of_very_many_names_is_left_after_so_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proposals, "_MOST_NAMES", 10)
    plant(tmp_path / "nas", {f"{n:03}.txt": 0 for n in range(40)})
    plant(tmp_path / "nas/zz/deep/er", BOOK)
    assert await search(tmp_path, "nas").run(listed(BOOK)) == []


async def test_without_files_there_is_no_evidence_to_look_for(tmp_path: Path) -> None:
    assert await search(tmp_path, "nas").run([]) == []


def test_the_systems_own_mount_table_is_read() -> None:
    table = mount_table()
    assert table
    assert all(os.path.isabs(mount.path) for mount in table)  # noqa: PTH117 - text as the system gives it
