"""Which files become one book: rows A-01 to A-32 of the folder rules.

Bettered against Audiobookshelf: A-10 (distinct long m4b files side by side are books of their own), A-11,
A-12 (a stray file never swallows the folders beside it; it is a book of its own), A-16, A-17, A-18, A-19,
A-22 (wider names of discs and parts are parts of one book, in order), A-26, A-27 (formats and copies are
versions, not more tracks), A-29 (audio with an odd header is a book, and noted, rather than none), A-30 (a
book with an empty file is incomplete), A-32 (`Audio` and `Ebook` side by side are one book). Not ours: A-04
and what A-32 says of ebooks (the index holds audio).
"""

import unicodedata

import pytest

from bridge_agent.home.library.facts import Tags
from bridge_agent.home.library.grouping import group
from bridge_agent.home.library.kinds import AUDIO, kind_of
from bridge_agent.home.library.parts import part_of
from bridge_agent.home.library.tags import BROKEN, EMPTY
from tests.unit.home_library.rules import HOUR, books, file, marks, one, tree

TREES = [
    pytest.param(["X.m4b"], {"X.m4b": ["X.m4b"]}, id="A-01 a root file is a book"),
    pytest.param(["R.mp3", "R.m4b"], {"R.m4b": ["R.m4b"], "R.mp3": ["R.mp3"]}, id="A-03 two root files"),
    pytest.param(["r.epub"], {}, id="A-04 an ebook is no audiobook"),
    pytest.param(
        ["X.mp3", "cover.jpg", "desc.txt"], {"X.mp3": ["X.mp3"]}, id="A-05 nothing else at the root"
    ),
    pytest.param(["T/a.mp3"], {"T": ["a.mp3"]}, id="A-06"),
    pytest.param(["Au/T/a.mp3"], {"Au/T": ["a.mp3"]}, id="A-07"),
    pytest.param(["Au/S/T/a.mp3"], {"Au/S/T": ["a.mp3"]}, id="A-08"),
    pytest.param(["A/B/C/D/E/F/x.mp3"], {"A/B/C/D/E/F": ["x.mp3"]}, id="A-09"),
    pytest.param(
        ["Au/B1.m4b", "Au/B2.m4b"], {"Au": ["B1.m4b", "B2.m4b"]}, id="A-10 short ones stay one book"
    ),
    pytest.param(
        ["Au/loose.mp3", "Au/Book/01.mp3"],
        {"Au/Book": ["01.mp3"], "Au/loose.mp3": ["Au/loose.mp3"]},
        id="A-11 a stray file swallows nothing",
    ),
    pytest.param(
        ["Au/S/loose.mp3", "Au/S/Book 1 - Y/a.mp3"],
        {"Au/S/Book 1 - Y": ["a.mp3"], "Au/S/loose.mp3": ["Au/S/loose.mp3"]},
        id="A-12",
    ),
    pytest.param(["Au/T/a.mp3", "Au/T/bonus/b.mp3"], {"Au/T": ["a.mp3", "bonus/b.mp3"]}, id="A-13 bonus"),
    pytest.param(["D/01.mp3", "D/Bonus/deep/x.mp3"], {"D": ["01.mp3", "Bonus/deep/x.mp3"]}, id="A-13 deep"),
    pytest.param(
        ["Au/T/01.mp3", "Au/T/02.mp3", "Au/T/scans/p.jpg"], {"Au/T": ["01.mp3", "02.mp3"]}, id="A-14"
    ),
    pytest.param(
        ["Au/T/CD1/01.mp3", "Au/T/CD1/02.mp3", "Au/T/CD2/01.mp3"],
        {"Au/T": ["CD1/01.mp3", "CD1/02.mp3", "CD2/01.mp3"]},
        id="A-15",
    ),
    pytest.param(
        ["Au/T/Part 1/a.mp3", "Au/T/Part 2/a.mp3"], {"Au/T": ["Part 1/a.mp3", "Part 2/a.mp3"]}, id="A-17"
    ),
    pytest.param(
        ["Au/S/Book 1 - X/Part 1/a.mp3", "Au/S/Book 1 - X/Part 2/a.mp3"],
        {"Au/S/Book 1 - X": ["Part 1/a.mp3", "Part 2/a.mp3"]},
        id="A-18",
    ),
    pytest.param(
        ["T/CD1/side a/01.mp3", "T/CD1/side b/01.mp3", "T/CD2/side a/01.mp3"],
        {"T": ["CD1/side a/01.mp3", "CD1/side b/01.mp3", "CD2/side a/01.mp3"]},
        id="A-19",
    ),
    pytest.param(
        ["T/Disc1/1.mp3", "T/Disc1/sub/2.mp3"], {"T": ["Disc1/1.mp3", "Disc1/sub/2.mp3"]}, id="A-20"
    ),
    pytest.param(
        ["T/CD1/a.mp3", "T/CD2/a.mp3", "T/Bonus/x.mp3"],
        {"T": ["CD1/a.mp3", "CD2/a.mp3", "Bonus/x.mp3"]},
        id="A-21 bonus last",
    ),
    pytest.param(
        ["T/intro.mp3", "T/CD1/01.mp3", "T/CD2/01.mp3"],
        {"T": ["intro.mp3", "CD1/01.mp3", "CD2/01.mp3"]},
        id="A-22 intro first, discs in order",
    ),
    pytest.param(["CD1/x.mp3"], {"CD1": ["x.mp3"]}, id="A-23"),
    pytest.param(["T/CD1/a.mp3", "T/CD2/a.mp3"], {"T": ["CD1/a.mp3", "CD2/a.mp3"]}, id="A-24"),
    pytest.param(["Au/S/Book 1 - D/CD 1/a.mp3"], {"Au/S/Book 1 - D": ["CD 1/a.mp3"]}, id="A-25"),
    pytest.param(["T/book.mp3", "T/book.m4b"], {"T": ["book.m4b"]}, id="A-26 a version, not a track"),
    pytest.param(
        ["Au1/Twin Title/a.mp3", "Au2/Twin Title/a.mp3", "Au1/twin title/a.mp3"],
        {"Au1/Twin Title": ["a.mp3"], "Au1/twin title": ["a.mp3"], "Au2/Twin Title": ["a.mp3"]},
        id="A-28",
    ),
    pytest.param(["Au/T/cover.jpg", "Au/T/desc.txt"], {}, id="A-29 a cover alone is no book"),
    pytest.param(
        ["X/Ebook/x.epub", "X/Audio/a.mp3"], {"X": ["Audio/a.mp3"]}, id="A-32 formats are no levels"
    ),
    pytest.param(
        ["Au/loose.mp3", *[f"Au/Book {i}/01.mp3" for i in range(7)]],
        {"Au/loose.mp3": ["Au/loose.mp3"], **{f"Au/Book {i}": ["01.mp3"] for i in range(7)}},
        id="A-104 seven books beside a stray file stay",
    ),
]


@pytest.mark.parametrize(("paths", "expected"), TREES)
def test_these_files_are_these_books(paths: list[str], expected: dict[str, list[str]]) -> None:
    assert tree(*paths) == expected


@pytest.mark.parametrize("name", ["CD1", "Disc 1", "disk01", "CD101", "cd1", "CD 7"])
def test_a_15_disc_names(name: str) -> None:
    assert part_of(name) is not None
    assert tree(f"Au/T/{name}/a.mp3") == {"Au/T": [f"{name}/a.mp3"]}


@pytest.mark.parametrize(
    "name",
    [
        "CD 1 - Extra", "Disc 1 of 2", "CD 01 (of 02)", "Disc-1", "CD_1", "Disc One", "CD1000", "Part 1",
        "Teil 1", "Part One", "Teil II", "Part 1 of 3", "(CD 2)", "Disc 1a", "Kassette 3", "Seite B",
        "Kapitel 4",
    ],
)  # fmt: skip
def test_a_16_wider_names_of_parts_are_parts_of_one_book(name: str) -> None:
    assert tree(f"Au/T/{name}/a.mp3") == {"Au/T": [f"{name}/a.mp3"]}


@pytest.mark.parametrize("name", ["Volume 1", "Part 17 - T", "Party", "Delv", "Discworld", "CDs", "Parti"])
def test_a_16_names_that_stay_books(name: str) -> None:
    assert part_of(name) is None
    assert tree(f"Au/S/{name}/a.mp3") == {f"Au/S/{name}": ["a.mp3"]}


def test_a_16_a_title_with_a_disc_number_is_a_part_of_that_title() -> None:
    assert tree("Au/Emma/Emma CD1/a.mp3", "Au/Emma/Emma CD2/a.mp3") == {
        "Au/Emma": ["Emma CD1/a.mp3", "Emma CD2/a.mp3"]
    }
    beside = books("Au/Emma CD1/a.mp3", "Au/Emma CD2/b.mp3", "Au/Persuasion/a.mp3")
    assert [(book.path, book.title, book.author, book.whole) for book in beside] == [
        ("Au/Emma CD1", "Emma", "Au", True),
        ("Au/Persuasion", "Persuasion", "Au", True),
    ]
    assert [track.path for track in beside[0].tracks] == ["Au/Emma CD1/a.mp3", "Au/Emma CD2/b.mp3"]


def test_a_10_distinct_long_m4b_files_in_an_author_folder_are_books_of_their_own() -> None:
    found = books(
        file("Au/Emma.m4b", duration=9 * HOUR), file("Au/Persuasion.m4b", duration=8 * HOUR), "Au/cover.jpg"
    )
    assert [(book.path, book.title, book.author) for book in found] == [
        ("Au/Emma.m4b", "Emma", "Au"),
        ("Au/Persuasion.m4b", "Persuasion", "Au"),
    ]
    numbered = books(file("Au/B1.m4b", duration=9 * HOUR), file("Au/B2.m4b", duration=8 * HOUR))
    assert [book.path for book in numbered] == ["Au/B1.m4b", "Au/B2.m4b"]


def test_a_10_in_a_series_folder_the_file_names_carry_the_numbers() -> None:
    found = books(
        file("Au/S/Book 1 - One.m4b", duration=9 * HOUR), file("Au/S/Book 2 - Two.m4b", duration=9.5 * HOUR)
    )
    assert [(book.title, book.series, book.sequence) for book in found] == [
        ("One", "S", "1"),
        ("Two", "S", "2"),
    ]


def test_a_10_tags_part_files_of_any_length_in_book_containers() -> None:
    found = books(file("Au/a.m4b", album="Emma"), file("Au/b.m4b", album="Persuasion"))
    assert [(book.path, book.title) for book in found] == [("Au/a.m4b", "Emma"), ("Au/b.m4b", "Persuasion")]


@pytest.mark.parametrize(
    "names",
    [
        ["Emma - Part 1", "Emma - Part 2"],
        ["Emma 01", "Emma 02"],
        ["1", "2"],
        ["Part 1", "Part 2", "Epilogue"],
        ["01 - Arrival", "02 - Departure"],
    ],
)
def test_a_10_long_parts_of_one_book_stay_together(names: list[str]) -> None:
    found = books(*(file(f"Au/Emma/{name}.m4b", duration=HOUR) for name in names))
    assert [(book.path, len(book.tracks)) for book in found] == [("Au/Emma", len(names))]


def test_a_10_one_album_holds_long_files_together() -> None:
    album = {"duration": 5 * HOUR, "album": "Emma"}
    assert list(tree(file("Au/Emma/First.m4b", **album), file("Au/Emma/Second.m4b", **album))) == ["Au/Emma"]


def test_a_13_a_folder_of_the_same_album_joins_the_book_above_it() -> None:
    same = {"album": "T"}
    found = tree(file("Au/T/01.mp3", **same), file("Au/T/more/02.mp3", **same))
    assert found == {"Au/T": ["01.mp3", "more/02.mp3"]}


def test_a_26_whole_sets_of_formats_are_versions() -> None:
    book = one(*[f"T/{i:02}.mp3" for i in range(1, 4)], *[f"T/{i:02}.flac" for i in range(1, 4)])
    assert [track.name for track in book.tracks] == ["01.mp3", "02.mp3", "03.mp3"]
    assert book.details.versions == ["T/01.flac", "T/02.flac", "T/03.flac"]
    assert book.duration == 180.0
    assert book.size == 3000


def test_a_26_folders_named_after_formats_hold_versions() -> None:
    book = one("Au/T/MP3/01.mp3", "Au/T/MP3/02.mp3", "Au/T/FLAC/01.flac", "Au/T/FLAC/02.flac")
    assert (book.path, book.title) == ("Au/T", "T")
    assert [track.path for track in book.tracks] == ["Au/T/MP3/01.mp3", "Au/T/MP3/02.mp3"]


def test_a_26_a_file_that_plays_as_long_as_all_others_is_a_version() -> None:
    parts = [file(f"T/{i}.mp3", duration=HOUR) for i in range(1, 4)]
    book = one(*parts, file("T/whole.m4b", duration=3 * HOUR + 20))
    assert [track.name for track in book.tracks] == ["whole.m4b"]


def test_a_26_formats_of_different_parts_are_all_tracks() -> None:
    assert tree("T/01.mp3", "T/02.mp3", "T/03.m4b") == {"T": ["01.mp3", "02.mp3", "03.m4b"]}


def test_a_26_a_format_that_can_be_read_goes_before_a_broken_better_one() -> None:
    book = one(file("T/book.m4b", broken=BROKEN, duration=None), "T/book.mp3")
    assert [track.name for track in book.tracks] == ["book.mp3"]


def test_a_27_a_second_file_with_the_same_chapters_is_a_version() -> None:
    same = marks("One", "Two")
    book = one(file("T/a.m4b", marks=same), file("T/b.m4b", marks=same))
    assert [track.name for track in book.tracks] == ["a.m4b"]
    assert [title for title, _, _ in book.details.chapters] == ["One", "Two"]


@pytest.mark.parametrize(
    ("files", "tracks"),
    [
        pytest.param({"CD1.mp3": 4400, "CD2.flac": 4410}, 2, id="two discs in two formats are two tracks"),
        pytest.param({"Emma (Unabridged).mp3": 4400, "Emma.m4b": 4410}, 1, id="one book in two formats"),
        pytest.param({"a1.mp3": 700, "a2.mp3": 900, "b1.ogg": 701, "b2.ogg": 901}, 2, id="file by file"),
        pytest.param(
            {"a1.mp3": 700, "a2.mp3": 900, "b1.ogg": 100, "b2.ogg": 1500}, 4, id="only as long in all"
        ),
        pytest.param({"a.mp3": 5, "b.ogg": 5}, 2, id="too short to tell"),
    ],
)
def test_a_26_versions_by_length(files: dict[str, float], tracks: int) -> None:
    book = one(*(file(f"T/{name}", duration=float(length)) for name, length in files.items()))
    assert len(book.tracks) == tracks


def test_a_27_parts_whose_chapters_have_no_names_are_not_copies() -> None:
    first = marks("Chapter 1", "Chapter 2", each=10.0)
    second = marks("Chapter 1", "Chapter 2", each=25.0)
    assert len(one(file("T/Part 1.m4b", marks=first), file("T/Part 2.m4b", marks=second)).tracks) == 2
    assert len(one(file("T/a.m4b", marks=first), file("T/b.m4b", marks=first)).tracks) == 1


def test_a_10_long_files_of_any_format_without_a_number_are_books() -> None:
    long = {"duration": 5 * HOUR}
    assert len(books(file("Au/Emma.mp3", **long), file("Au/Persuasion.mp3", **long))) == 2
    assert len(books(file("Au/Emma 1.mp3", **long), file("Au/Emma 2.mp3", **long))) == 1
    assert len(books(file("Au/01 Emma.mp3", **long), file("Au/02 Harriet.mp3", **long))) == 1


def test_a_29_empty_audio_is_no_book_and_audio_with_an_odd_header_is_noted() -> None:
    assert books(file("Au/T/a.mp3", size=0, broken=EMPTY, duration=None)) == []
    book = one(file("Au/T/a.mp3", broken=BROKEN, duration=None))
    assert (book.whole, book.duration, book.details.notes) == (True, None, [f"“a.mp3”: {BROKEN}"])


def test_a_30_a_book_with_an_empty_file_is_incomplete_and_does_without_it() -> None:
    book = one(file("Au/T/01.mp3", size=0, broken=EMPTY, duration=None), "Au/T/02.mp3")
    assert [track.name for track in book.tracks] == ["02.mp3"]
    assert not book.whole


@pytest.mark.parametrize("extension", [*AUDIO, ".MP3", ".M4B"])
def test_a_31_audio_extensions(extension: str) -> None:
    assert tree(f"T/a{extension}") == {"T": [f"a{extension}"]}


@pytest.mark.parametrize("name", ["a.aax", "a.m3u", "a.wv", "a.ape", "a.epub", "a.pdf", "mp3", ".mp3"])
def test_a_31_not_audio(name: str) -> None:
    assert kind_of(name) != "audio"


def test_two_unicode_forms_of_one_folder_are_one_folder() -> None:
    nfc, nfd = "J\u00f6rg", unicodedata.normalize("NFD", "J\u00f6rg")
    found = books(f"{nfc}/T/01.mp3", f"{nfd}/T/02.mp3")
    assert [(book.path_key, len(book.tracks), book.author) for book in found] == [(f"{nfc}/T", 2, nfc)]
    assert {track.path for track in found[0].tracks} == {f"{nfc}/T/01.mp3", f"{nfd}/T/02.mp3"}


def test_twins_of_one_track_in_two_unicode_forms_are_one_track() -> None:
    name = "\u00e4.mp3"
    found = one(f"T/{name}", f"T/{unicodedata.normalize('NFD', name)}")
    assert len(found.tracks) == 1


def test_grouping_does_not_depend_on_the_order_in_which_files_come() -> None:
    paths = ["Au/loose.mp3", "Au/B/CD2/1.mp3", "Au/B/CD1/1.mp3", "Au/C/x.mp3", "r.mp3"]
    files = [file(path) for path in paths]
    assert group(files) == group(list(reversed(files)))


def test_files_without_tags_are_grouped_too() -> None:
    assert file("T/a.mp3").said.duration == 60.0
    assert Tags().duration is None


def test_a_set_of_loose_files_beside_a_book_is_one_book() -> None:
    loose = [f"Au/S/{i:02}.mp3" for i in range(1, 5)]
    assert tree(*loose, "Au/S/Book 2/01.mp3") == {
        "Au/S": ["01.mp3", "02.mp3", "03.mp3", "04.mp3"],
        "Au/S/Book 2": ["01.mp3"],
    }


def test_number_only_folders_of_one_album_are_discs() -> None:
    album = {"album": "T"}
    found = tree(file("Au/T/1/a.mp3", **album), file("Au/T/2/a.mp3", **album))
    assert found == {"Au/T": ["1/a.mp3", "2/a.mp3"]}
    assert list(tree("Au/S/1/a.mp3", "Au/S/2/a.mp3")) == ["Au/S/1", "Au/S/2"]
