"""Chapters of a book: rows A-27 and A-51 to A-54 of the folder rules.

Bettered against Audiobookshelf: A-53 (the chapters of every file count, wherever it stands).
"""

from bridge_agent.home.library.chapters import chapters_of
from bridge_agent.home.library.facts import File, Mark
from tests.unit.home_library.rules import file, marks


def titles(files: list[File], book: str = "T") -> list[str]:
    return [title for title, _, _ in chapters_of(files, book)]


def test_a_51_a_single_file_has_its_own_chapters_or_none() -> None:
    assert chapters_of([file("T/a.m4b", marks=marks("One", "Two"))], "T") == [("One", 0, 10), ("Two", 10, 20)]
    assert chapters_of([file("T/a.m4b")], "T") == []


def test_a_52_without_marks_each_file_is_a_chapter() -> None:
    files = [file("T/01 - Start.mp3"), file("T/02 - End.mp3")]
    assert chapters_of(files, "T") == [("01 - Start", 0.0, 60.0), ("02 - End", 60.0, 120.0)]


def test_a_52_distinct_title_tags_name_the_chapters() -> None:
    assert titles([file("T/01.mp3", title="Start"), file("T/02.mp3", title="End")]) == ["Start", "End"]
    assert titles([file("T/01.mp3", title="Same"), file("T/02.mp3", title="Same")]) == ["01", "02"]
    assert titles([file("T/01.mp3", title="T"), file("T/02.mp3", title="End")]) == ["01", "02"]
    assert titles([file("T/01.mp3", title="Start"), file("T/02.mp3")]) == ["01", "02"]


def test_a_53_a_chaptered_file_keeps_its_chapters_behind_one_without() -> None:
    files = [file("T/intro.mp3"), file("T/book.m4b", marks=marks("One", "Two"))]
    assert chapters_of(files, "T") == [("intro", 0.0, 60.0), ("One", 60.0, 70.0), ("Two", 70.0, 80.0)]


def test_a_54_chapters_of_several_files_follow_each_other() -> None:
    files = [file("T/1.m4b", marks=marks("One", "Two")), file("T/2.m4b", marks=marks("Three", "Four"))]
    assert [(t, start) for t, start, _ in chapters_of(files, "T")] == [
        ("One", 0.0), ("Two", 10.0), ("Three", 60.0), ("Four", 70.0),
    ]  # fmt: skip


def test_without_the_length_of_a_file_nothing_on_the_line_is_sure() -> None:
    assert chapters_of([file("T/1.mp3", duration=None), file("T/2.mp3")], "T") == []


def test_a_sidecars_chapters_are_the_books() -> None:
    given = (Mark("One", 0.0, 0.0), Mark("", 30.0, 30.0))
    assert chapters_of([file("T/1.mp3")], "T", given) == [("One", 0.0, 30.0), ("Chapter 2", 30.0, 60.0)]
