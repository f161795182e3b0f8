"""A path from the server is found inside the library's root, and nowhere else."""

import errno
import os
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge_agent.mapping.resolve import DENIED, NOT_HERE, Finder, NotHere, Seen
from tests.unit.mapping.trees import plant

COMPOSED = unicodedata.normalize("NFC", "Les Écorchés")
DECOMPOSED = unicodedata.normalize("NFD", "Les Écorchés")


def test_finds_an_ordinary_file_and_its_size(tmp_path: Path) -> None:
    plant(tmp_path, {"Andy Weir/Project Hail Mary/01.m4b": 321})
    assert Finder(tmp_path).look("Andy Weir/Project Hail Mary/01.m4b") == Seen(321)


def test_finds_files_when_the_root_itself_is_a_link(tmp_path: Path) -> None:
    plant(tmp_path / "real", {"A/1.mp3": 5})
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert Finder(tmp_path / "link").look("A/1.mp3") == Seen(5)


def test_finds_files_below_the_root_of_the_file_system(tmp_path: Path) -> None:
    plant(tmp_path, {"1.mp3": 5})
    assert Finder("/").look(str(tmp_path / "1.mp3").lstrip("/")) == Seen(5)


@pytest.mark.parametrize(
    "path",
    [
        "../outside.mp3",
        "A/../../outside.mp3",
        "A/../1.mp3",
        "/1.mp3",
        "//1.mp3",
        "A//1.mp3",
        "./1.mp3",
        "A/.",
        "A/..",
        "",
        "/",
        "A/",
        "1.mp3\0",
        "A\0/1.mp3",
        "\udcff\ud800/1.mp3",
        "x/" * 5000 + "1.mp3",
        "n" * 5000,
        "1.mp3/1.mp3",
    ],
)
def test_what_leads_elsewhere_or_nowhere_is_not_found(tmp_path: Path, path: str) -> None:
    root = tmp_path / "root"
    plant(root, {"1.mp3": 1, "A/1.mp3": 1})
    plant(tmp_path, {"outside.mp3": 1})
    assert Finder(root).look(path).error == NOT_HERE


def test_an_absolute_path_of_a_file_that_exists_is_not_found(tmp_path: Path) -> None:
    plant(tmp_path, {"root/1.mp3": 1, "outside.mp3": 1})
    assert Finder(tmp_path / "root").look(str(tmp_path / "outside.mp3")).error == NOT_HERE


def test_a_folder_is_no_file_and_a_file_no_folder(tmp_path: Path) -> None:
    plant(tmp_path, {"A/1.mp3": 1})
    finder = Finder(tmp_path)
    assert finder.look("A").error == NOT_HERE
    with pytest.raises(NotHere):
        finder.folder("A/1.mp3")


@pytest.mark.parametrize("target", ["outside", "outside/1.mp3"])
def test_a_link_out_of_the_library_is_not_found(tmp_path: Path, target: str) -> None:
    plant(tmp_path, {"outside/1.mp3": 1, "root/keep.mp3": 1})
    (tmp_path / "root" / "link").symlink_to(tmp_path / target)
    finder = Finder(tmp_path / "root")
    assert finder.look("link").error == NOT_HERE
    assert finder.look("link/1.mp3").error == NOT_HERE
    with pytest.raises(NotHere):
        finder.folder("link")


def test_a_link_to_a_folder_whose_name_begins_like_the_roots_is_out_of_it(tmp_path: Path) -> None:
    plant(tmp_path, {"root2/1.mp3": 1, "root/keep.mp3": 1})
    (tmp_path / "root" / "link").symlink_to(tmp_path / "root2")
    assert Finder(tmp_path / "root").look("link/1.mp3").error == NOT_HERE


def test_links_that_stay_inside_are_followed(tmp_path: Path) -> None:
    plant(tmp_path, {"A/1.mp3": 7})
    (tmp_path / "B").symlink_to("A")
    (tmp_path / "one.mp3").symlink_to("B/1.mp3")
    finder = Finder(tmp_path)
    assert finder.look("B/1.mp3") == Seen(7)
    assert finder.look("one.mp3") == Seen(7)


def test_links_in_a_circle_and_into_nothing_are_not_found(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    (tmp_path / "gone").symlink_to("nothing")
    finder = Finder(tmp_path)
    for path in ("a", "a/1.mp3", "gone", "gone/1.mp3"):
        assert finder.look(path).error == NOT_HERE


def test_a_link_to_its_own_folder_costs_no_memory_without_end(tmp_path: Path) -> None:
    (tmp_path / "self").symlink_to(".")
    assert Finder(tmp_path).look("self/" * 60_000 + "1.mp3").error == NOT_HERE


def test_a_fifo_is_no_audio_file_and_is_never_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.mp3")
    assert Finder(tmp_path).look("pipe.mp3", fresh=True).error == NOT_HERE


@pytest.mark.parametrize(("asked", "here"), [(COMPOSED, DECOMPOSED), (DECOMPOSED, COMPOSED)])
def test_a_name_in_another_unicode_form_is_found_and_told(tmp_path: Path, asked: str, here: str) -> None:
    plant(tmp_path, {f"{here}/{here}.mp3": 9, f"{here}/plain.mp3": 4})
    finder = Finder(tmp_path)
    assert finder.look(f"{asked}/{asked}.mp3") == Seen(9, None, other_form=True)
    assert finder.look(f"{asked}/plain.mp3") == Seen(4, None, other_form=True)
    assert finder.folder(asked).path == str(tmp_path / here)


def test_the_same_bytes_win_over_another_form_beside_them(tmp_path: Path) -> None:
    plant(tmp_path, {f"{COMPOSED}.mp3": 1, f"{DECOMPOSED}.mp3": 2})
    finder = Finder(tmp_path)
    assert finder.look(f"{COMPOSED}.mp3") == Seen(1)
    assert finder.look(f"{DECOMPOSED}.mp3") == Seen(2)


def test_two_names_that_could_be_meant_are_not_found_but_ambiguous(tmp_path: Path) -> None:
    # Composed, half decomposed and decomposed: three spellings of one name.
    half = "e\u0301\u00e9.mp3"
    plant(tmp_path, {half: 1, "\u00e9e\u0301.mp3": 1})
    seen = Finder(tmp_path).look("\u00e9\u00e9.mp3")
    assert (seen.error, seen.ambiguous) == (NOT_HERE, True)


def test_another_case_is_never_taken_for_the_same_name(tmp_path: Path) -> None:
    plant(tmp_path, {"écho.mp3": 1})
    if (tmp_path / "ÉCHO.mp3").exists():
        pytest.fail("this file system folds case; the rule can't be seen on it")
    assert Finder(tmp_path).look("Écho.mp3").error == NOT_HERE


def test_an_emoji_is_a_name_like_any(tmp_path: Path) -> None:
    plant(tmp_path, {"Author/🎧 Book 👩‍🚀/🎵.mp3": 3})
    assert Finder(tmp_path).look("Author/🎧 Book 👩‍🚀/🎵.mp3") == Seen(3)


@pytest.mark.requirement("R-107")
def test_permission_denied_is_told_from_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path, {"A/1.mp3": 1, "A/2.mp3": 1})
    real = os.lstat

    def lstat(path: str) -> os.stat_result:
        if str(path).endswith("1.mp3"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "lstat", lstat)
    finder = Finder(tmp_path)
    assert finder.look("A/1.mp3").error == DENIED
    assert finder.look("A/2.mp3").error is None


def test_a_file_that_may_not_be_read_is_denied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path, {"1.mp3": 6})
    (tmp_path / "1.mp3").chmod(0o000)
    # The super-user may read all: the system's answer for anybody else.
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert Finder(tmp_path).look("1.mp3") == Seen(6, DENIED)


def test_a_share_that_went_away_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path, {"A/1.mp3": 1})

    def lstat(path: str) -> os.stat_result:
        raise OSError(errno.ESTALE, "Stale file handle", path)

    finder = Finder(tmp_path)
    monkeypatch.setattr(os, "lstat", lstat)
    seen = finder.look("A/1.mp3")
    assert seen.gone
    assert seen.error is not None
    assert seen.error.startswith("cannot be looked at: ")


def test_a_missing_folder_is_asked_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finder = Finder(tmp_path)
    asked: list[str] = []
    real = os.lstat

    def lstat(path: str) -> os.stat_result:
        asked.append(path)
        return real(path)

    monkeypatch.setattr(os, "lstat", lstat)
    assert {finder.look(f"Gone/Book/{n}.mp3").error for n in range(50)} == {NOT_HERE}
    assert len(asked) == 1


@given(path=st.text(alphabet=st.sampled_from("a./\\:\0é ~"), max_size=12))
def test_no_text_at_all_leads_outside(tmp_path_factory: pytest.TempPathFactory, path: str) -> None:
    base = tmp_path_factory.getbasetemp() / "outside-check"
    root = base / "root"
    if not root.exists():
        plant(base, {"a": 1, "root/inside/keep": 2})
    seen = Finder(root).look(path)
    assert seen.error == NOT_HERE
