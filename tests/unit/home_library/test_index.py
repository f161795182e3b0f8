"""Lists, searches, pages and lookups of the index."""

import sqlite3
import sys
from pathlib import Path

import pytest

from bridge_agent.base.tasks import Tasks
from bridge_agent.home.library import catalog
from bridge_agent.home.library.index import FILE, LibraryIndex, NoSuchFolder
from bridge_agent.home.library.model import BadCursor
from bridge_agent.store import migrations
from bridge_agent.store.database import configure
from tests.fakes.clock import FakeClock
from tests.unit.home_library.audio import m4b, mp3
from tests.unit.home_library.conftest import Shelves

DEMO = Path(__file__).resolve().parents[3] / "bridge_agent" / "demo_library"


async def titles(shelves: Shelves, q: str = "") -> list[str]:
    return [book.title for book in (await shelves.index.books(shelves.id, q)).books]


async def fill(shelves: Shelves, *paths: str) -> None:
    for number, path in enumerate(paths):
        mp3(shelves.root / path / "a.mp3", 3, pitch=number)
    await shelves.scan()


async def test_the_sample_library(tmp_path: Path, clock: FakeClock) -> None:
    index = await LibraryIndex.open(tmp_path, clock, Tasks("test"))
    added = await index.add("Samples", DEMO)
    index.request_scan(added.id)
    await index.settled()
    page = await index.books(added.id)
    assert [(b.path, b.author, b.files, b.state) for b in page.books] == [
        ("Folk Tales/Stone Soup", "Folk Tales", 2, "whole"),
        ("Aesop/Three Fables", "Aesop", 1, "whole"),
    ]
    details = await index.details(added.id, "Aesop/Three Fables")
    assert details is not None
    assert details.wire()["cover"] == "Aesop/Three Fables/Three Fables.m4b/cover"
    assert details.wire()["chapters"][0]["title"] == "The Tortoise and the Hare"
    await index.close()


async def test_pages_by_title_meet_every_book_once(shelves: Shelves) -> None:
    await fill(shelves, *(f"Au/{name}" for name in ("b", "A", "É", "z", "Book 10", "Book 2", "“quoted”")))
    seen, after = [], None
    while True:
        page = await shelves.index.books(shelves.id, after=after, limit=2)
        seen += [book.title for book in page.books]
        after = page.next_after
        if after is None:
            break
    assert seen == ["A", "b", "Book 2", "Book 10", "É", "“quoted”", "z"]
    assert await titles(shelves) == seen


async def test_a_cursor_holds_while_books_come_and_go(shelves: Shelves) -> None:
    await fill(shelves, "Au/a", "Au/b", "Au/d")
    page = await shelves.index.books(shelves.id, limit=2)
    await fill(shelves, "Au/a", "Au/b", "Au/c", "Au/d")
    rest = await shelves.index.books(shelves.id, after=page.next_after)
    assert [book.title for book in rest.books] == ["c", "d"]


async def test_equal_titles_are_paged_too(shelves: Shelves) -> None:
    await fill(shelves, "A/Same", "B/Same", "C/Same")
    page = await shelves.index.books(shelves.id, limit=1)
    rest = await shelves.index.books(shelves.id, after=page.next_after)
    assert [b.path for b in (*page.books, *rest.books)] == ["A/Same", "B/Same", "C/Same"]


@pytest.mark.parametrize("after", ["x", "!!!", "e30", "WzFd", "\0", "ä"])
async def test_a_strange_cursor_is_refused(shelves: Shelves, after: str) -> None:
    with pytest.raises(BadCursor):
        await shelves.index.books(shelves.id, after=after)


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        ("emma", ["Emma"]),
        ("EMM", ["Emma"]),
        ("austen", ["Emma", "Sense and Sensibility"]),
        ("jane sens", ["Sense and Sensibility"]),
        ("sensibil", ["Sense and Sensibility"]),
        ("sensibilitäten", []),
        ("strasse", ["Die Straße"]),
        ("jorg", ["Die Straße"]),
        ("JÖRG", ["Die Straße"]),
        ("saga", ["Third"]),
        ("reader", ["Third"]),
        ("三体", ["三体问题"]),
        ("体问", ["三体问题"]),
        ("体", ["三体问题"]),
        ("emma austen jane", ["Emma"]),
        ("emma zebra", []),
        ('"; DROP TABLE books; --', []),
        ('" OR "', []),
        ("*", []),
        ("the", []),
        ("   ", ["Die Straße", "Emma", "Sense and Sensibility", "Third", "三体问题"]),
    ],
)
async def test_search(shelves: Shelves, q: str, expected: list[str]) -> None:
    await fill(
        shelves,
        "Jane Austen/Emma",
        "Jane Austen/Sense and Sensibility",
        "Jörg Müller/Die Straße",
        "Au/Saga/Book 3 - Third {A Reader}",
        "刘慈欣/三体问题",
    )
    assert await titles(shelves, q) == expected


async def test_a_search_that_very_many_books_match_goes_by_title_as_well(
    shelves: Shelves, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(shelves, *(f"Common Author/Book {number}" for number in range(1, 13)))
    few = [await shelves.index.books(shelves.id, "common book", limit=5)]
    monkeypatch.setattr(catalog, "_FEW", 3)
    many = [await shelves.index.books(shelves.id, "common book", limit=5)]
    assert many == few
    rest = await shelves.index.books(shelves.id, "common book", many[0].next_after, 500)
    assert [book.title for book in rest.books] == [f"Book {number}" for number in range(6, 13)]
    assert (await shelves.index.books(shelves.id, "commonplace")).books == []


async def test_a_search_keeps_to_its_library(shelves: Shelves, tmp_path: Path) -> None:
    await fill(shelves, "Au/Emma")
    mp3(tmp_path / "other/Bu/Emma/a.mp3")
    other = await shelves.index.add("Other", tmp_path / "other")
    shelves.index.request_scan(other.id)
    await shelves.index.settled()
    assert [b.path for b in (await shelves.index.books(other.id, "emma")).books] == ["Bu/Emma"]


async def test_a_book_that_changed_its_name_is_found_by_the_new_one_alone(shelves: Shelves) -> None:
    await fill(shelves, "Au/Emma")
    (shelves.root / "Au/Emma").rename(shelves.root / "Au/Persuasion")
    await shelves.scan()
    assert await titles(shelves, "emma") == []
    assert await titles(shelves, "persuasion") == ["Persuasion"]


@pytest.mark.requirement("R-097")
async def test_the_sample_is_the_first_whole_book_among_the_first_five(shelves: Shelves) -> None:
    assert await shelves.index.sample_book(shelves.id) is None
    for letter in "abcdef":
        for track in (1, 3) if letter < "c" else (1, 2):
            mp3(shelves.root / letter / f"{track:02}.mp3", 20 + track, pitch=ord(letter))
    await shelves.scan()
    sample = await shelves.index.sample_book(shelves.id)
    assert sample is not None
    assert sample.path == "c"
    for letter in "cde":
        (shelves.root / letter / "01.mp3").unlink()
    await shelves.scan()
    assert await shelves.index.sample_book(shelves.id) is None


async def test_the_bridge_is_given_files_in_reading_order(shelves: Shelves) -> None:
    for disc in (1, 2, 10):
        mp3(shelves.root / f"Au/T/CD{disc}/01.mp3", disc, pitch=disc)
    await shelves.scan()
    book = await shelves.index.book(shelves.id, "Au/T")
    assert book is not None
    assert [file.path for file in book.files] == [f"Au/T/CD{disc}/01.mp3" for disc in (1, 2, 10)]
    assert [file.size for file in book.files] == [417, 834, 4170]
    assert await shelves.index.book(shelves.id, "Au") is None
    assert not await shelves.index.has_book(shelves.id, "Au/T/")
    assert await shelves.index.has_book(shelves.id, "Au/T")


async def test_details_hold_what_a_page_shows(shelves: Shelves) -> None:
    m4b(shelves.root / "Au/S/1999 - Book 2 - T {N}/a.m4b", 100, chapters=[(0, "One"), (50, "Two")])
    mp3(shelves.root / "Au/S/1999 - Book 2 - T {N}/a.mp3")
    (shelves.root / "Au/S/1999 - Book 2 - T {N}/desc.txt").write_text("About.", encoding="utf-8")
    (shelves.root / "Au/S/1999 - Book 2 - T {N}/cover.jpg").write_bytes(b"\xff\xd8\xff")
    await shelves.scan()
    found = await shelves.index.details(shelves.id, "Au/S/1999 - Book 2 - T {N}")
    assert found is not None
    wire = found.wire()
    assert (wire["title"], wire["series"], wire["sequence"], wire["year"]) == ("T", "S", "2", "1999")
    assert (wire["narrator"], wire["description"]) == ("N", "About.")
    assert wire["cover"] == "Au/S/1999 - Book 2 - T {N}/cover.jpg"
    assert wire["versions"] == ["Au/S/1999 - Book 2 - T {N}/a.mp3"]
    assert [chapter["title"] for chapter in wire["chapters"]] == ["One", "Two"]
    assert await shelves.index.details(shelves.id, "nothing") is None


async def test_libraries_outlive_a_restart_and_ids_are_never_used_again(
    tmp_path: Path, clock: FakeClock
) -> None:
    mp3(tmp_path / "books/T/a.mp3")
    index = await LibraryIndex.open(tmp_path, clock, Tasks("test"))
    one = await index.add("One", f"{tmp_path / 'books'}/")
    assert one.root == str(tmp_path / "books")
    index.request_due_scans()
    await index.settled()
    two = await index.add("Two", tmp_path)
    assert await index.remove(two.id)
    assert not await index.remove(two.id)
    await index.close()

    index = await LibraryIndex.open(tmp_path, clock, Tasks("test"))
    assert [library.wire() for library in index.libraries()] == [one.wire()]
    assert index.get(two.id) is None
    assert (await index.add("Three", tmp_path)).id == two.id + 1
    assert [b.path for b in (await index.books(one.id)).books] == ["T"]
    index.request_scan(99)
    await index.close()


async def test_removing_a_library_forgets_its_books(shelves: Shelves) -> None:
    await fill(shelves, "Au/Emma")
    assert await shelves.index.remove(shelves.id)
    assert (await shelves.index.books(shelves.id)).books == []
    assert (await shelves.index.books(shelves.id, "emma")).books == []
    assert (shelves.root / "Au/Emma/a.mp3").exists()
    assert await shelves.index.media_file(shelves.id, "Au/Emma/a.mp3") is None


@pytest.mark.parametrize("root", ["", "books", "./x", "a\0b"])
async def test_a_root_must_be_an_absolute_path(shelves: Shelves, root: str) -> None:
    with pytest.raises(NoSuchFolder):
        await shelves.index.add("X", root)


async def test_a_damaged_index_is_set_aside_and_said_so(tmp_path: Path, clock: FakeClock) -> None:
    (tmp_path / FILE).write_bytes(b"no database at all" * 100)
    index = await LibraryIndex.open(tmp_path, clock, Tasks("test"))
    assert index.libraries() == []
    assert "was damaged" in index.notes[0]
    await index.close()


@pytest.mark.parametrize(
    ("name", "index", "sorts"),
    [
        ("list_books", "books_by_title", False),
        ("list_matching", "books_by_title", True),
        ("list_found", "INTEGER PRIMARY KEY", True),
        ("book_at", "sqlite_autoindex_books_1", False),
        ("book_at_key", "books_by_key", True),
        ("sample", "books_by_title", True),
        ("tracks_of", "files_by_book", False),
        ("media_at", "PRIMARY KEY", False),
        ("media_at_key", "files_by_key", True),
        ("count_books", "books_there", False),
    ],
)
def test_questions_go_by_their_index(name: str, index: str, sorts: bool) -> None:
    connection = sqlite3.connect(":memory:")
    configure(connection, "NORMAL", writing=True)
    migrations.apply(connection, "bridge_agent.home.library.schema")
    given = {f"w{i}": "" for i in range(6)} | {
        "library_id": 1, "after_key": "", "after_path": "", "limit": 5, "ids": "[1]", "path": "x",
        "path_key": "x", "book_id": 1, "missing": 0,
    }  # fmt: skip
    rows = connection.execute(f"EXPLAIN QUERY PLAN {catalog.SQL[name]}", given).fetchall()
    connection.close()
    plan = "\n".join(row["detail"] for row in rows)
    assert index in plan
    assert "SCAN books" not in plan
    assert "SCAN files" not in plan
    assert sorts or "TEMP B-TREE" not in plan


async def test_the_index_imports_no_tag_reader_until_it_reads(tmp_path: Path) -> None:
    code = "import bridge_agent.home.library.index, sys; sys.exit('mutagen' in sys.modules)"
    import asyncio

    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code)
    assert await process.wait() == 0
