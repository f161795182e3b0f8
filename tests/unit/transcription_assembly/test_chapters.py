"""Chapters are mended until they cover the book."""

from bridge_agent.transcription.assembly.chapters import chapters
from bridge_agent.transcription.model import RATE
from tests.unit.transcription_assembly.books import chapter, plan


def seen(found) -> list[tuple[str, float, float, str]]:
    return [(c.title, c.start / RATE, c.end / RATE, c.source) for c in found]


def test_chapters_out_of_order_with_holes_and_no_length_are_mended():
    book = plan(
        100,
        chapters=[
            chapter("Late", 60, 200, "tags"),
            chapter("Empty", 30, 30),
            chapter("First", 5, 20),
            chapter("Past the end", 100, 120),
            chapter("  ", 40, 50),
        ],
    )
    assert seen(chapters(book, "Book")) == [
        ("First", 0.0, 40.0, "file"),
        ("Chapter 2", 40.0, 60.0, "file"),
        ("Late", 60.0, 100.0, "tags"),
    ]


def test_a_book_without_chapters_has_one_a_file_named_after_it():
    assert seen(chapters(plan(10, 0, 5), "Book")) == [
        ("01 File", 0.0, 10.0, "folder"),
        ("03 File", 10.0, 15.0, "folder"),
    ]


def test_a_single_file_without_chapters_is_named_like_the_book():
    assert seen(chapters(plan(10), "Book")) == [("Book", 0.0, 10.0, "folder")]


def test_a_book_without_sound_has_no_chapters():
    assert chapters(plan(0), "Book") == []
