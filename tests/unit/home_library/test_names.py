"""Names, tags and sidecars as metadata: rows A-01, A-02, A-06 to A-09 and A-55 to A-79 of the folder rules.

Bettered against Audiobookshelf: A-57 (labelled numbers of any length), A-59 (a number-only folder has a
title), A-60 (a title tag counts only where it is the book's, not a chapter's), A-68, A-70, A-72 (people's
names are split only where it is sure, and nothing of them is lost), A-73 (accents and Unicode forms do not
make two people), A-78 (natural order of pictures). A-62: subtitles stay in the title, as is the default
there. A-74: lists are by title here; a series number is kept as text. Not ours: A-63 (a setting there),
what A-77 says of writing metadata.json (we only read it).
"""

import pytest

from bridge_agent.home.library.covers import cover_of
from bridge_agent.home.library.facts import Sidecar
from bridge_agent.home.library.names import Names, read_names, tidy_sequence
from bridge_agent.home.library.people import split_people
from bridge_agent.home.library.text import fold, natural, sort_key, words
from tests.unit.home_library.rules import file, marks, one


def named(folder: str) -> Names:
    return read_names(["Au", "S", folder])


@pytest.mark.parametrize(
    ("path", "title", "author", "series"),
    [
        pytest.param("X.m4b", "X", "", "", id="A-01"),
        pytest.param("Author - Title.mp3", "Author - Title", "", "", id="A-02"),
        pytest.param(
            "Book 1 - T {N}.mp3", "Book 1 - T {N}", "", "", id="A-02 root files are never taken apart"
        ),
        pytest.param("T/a.mp3", "T", "", "", id="A-06"),
        pytest.param("Au/T/a.mp3", "T", "Au", "", id="A-07"),
        pytest.param("Au/S/T/a.mp3", "T", "Au", "S", id="A-08"),
        pytest.param("Genre/Deep Author/S/T/a.mp3", "T", "Deep Author", "S", id="A-09"),
        pytest.param("A/B/C/D/E/F/x.mp3", "F", "D", "E", id="A-09 deep"),
        pytest.param("Au/loose.mp3", "Au", "", "", id="A-06 a single file in a folder"),
    ],
)
def test_levels_are_metadata(path: str, title: str, author: str, series: str) -> None:
    book = one(path)
    assert (book.title, book.author, book.series) == (title, author, series)


def test_a_55_order_of_parsing() -> None:
    found = named("1994 - Book 2 - T {A. One; B. Two} [B00ABCDEF1]")
    assert found == Names("T", ("Au",), "S", "2", ("A. One", "B. Two"), "1994", "B00ABCDEF1")


@pytest.mark.parametrize(
    ("folder", "sequence"),
    [
        ("Book 1 - T", "1"), ("Vol 3 - T", "3"), ("Vol. 4 T", "4"), ("Volume 5. T", "5"), ("6 - T", "6"),
        ("7. T", "7"), ("08 - T", "8"), ("005 - T", "5"), ("BOOK 5 - T", "5"), ("Vol 22 T", "22"),
        ("T - Vol 11", "11"), ("T - 2.5", "2.5"), ("2.5. T", "2.5"), ("0.5 - T", "0.5"),
        ("Book 19.25 - T", "19.25"), ("Book 0 - T", "0"), ("102. T", "102"), ("Book 1000 - T", "1000"),
        ("Vol 12345 - T", "12345"),
    ],
)  # fmt: skip
def test_a_56_series_numbers(folder: str, sequence: str) -> None:
    assert (named(folder).sequence, named(folder).title) == (sequence, "T")


@pytest.mark.parametrize(
    "folder",
    [
        "101 Dalmations", "1984", "Part 17 - T", "#18 - T", "[21] T", "Bk 2 - T", "Bd. 24 - T", "Band 25 - T",
        "Book Two - T", "Book 20A - T", "Book 7: T", "Name, Book 3", "S 08 - T", "Vol.4 - T", "1-3 - Omnibus",
        "11–12 T",
    ],
)  # fmt: skip
def test_a_57_no_series_number(folder: str) -> None:
    assert (named(folder).sequence, named(folder).title) == ("", folder)


@pytest.mark.parametrize(
    ("folder", "year", "sequence", "title"),
    [
        ("1994 - Book 9 - T", "1994", "9", "T"),
        ("(1995) - T", "1995", "", "T"),
        ("2001 - Book 13 - T - Sub {A. One, B. Two}", "2001", "13", "T - Sub"),
        ("Yearlast (2004)", "", "", "Yearlast (2004)"),
        ("[2005] T", "", "", "[2005] T"),
        ("1999-Tight", "", "", "1999-Tight"),
        ("2000 - ", "", "", "2000"),
        ("1456 - T", "1456", "", "T"),
        ("Vol 1 - 1990 - T", "1990", "1", "T"),
    ],
)
def test_a_58_years(folder: str, year: str, sequence: str, title: str) -> None:
    found = named(folder)
    assert (found.year, found.sequence, found.title) == (year, sequence, title)


@pytest.mark.parametrize(
    ("folder", "sequence", "title"),
    [
        ("15", "15", "15"),
        ("Book 16", "16", "Book 16"),
        ("Volume 1", "1", "Volume 1"),
        ("Vol 9 - {N}", "9", "Vol 9"),
    ],
)
def test_a_59_a_number_alone_is_a_title_too(folder: str, sequence: str, title: str) -> None:
    assert (named(folder).sequence, named(folder).title) == (sequence, title)


def test_a_60_tags_of_the_first_track_go_over_folders() -> None:
    tags = {"album": "Album", "artist": "Artist", "composer": "Nar", "date": "2011-05-01"}
    book = one(file("Au/S/1994 - T/01.mp3", **tags), file("Au/S/1994 - T/02.mp3", album="Other"))
    assert (book.title, book.author, book.narrator, book.details.year) == ("Album", "Artist", "Nar", "2011")
    assert book.series == "S"


def test_a_60_a_title_tag_counts_where_it_is_the_books() -> None:
    assert one(file("T/a.m4b", title="Single")).title == "Single"
    assert one(file("T/01.mp3", title="Same"), file("T/02.mp3", title="Same")).title == "Same"
    assert one(file("T/01.mp3", title="Chapter 1"), file("T/02.mp3", title="Chapter 2")).title == "T"
    assert one(file("T/01.mp3", album_artist="Only")).author == "Only"


def test_a_60_albums_named_after_discs_name_the_book() -> None:
    files = [file(f"Au/T/CD{disc}/01.mp3", album=f"Emma (CD {disc})") for disc in (1, 2)]
    assert one(*files).title == "Emma"
    assert one(file("Au/T/01.mp3", album="Emma CD1")).title == "Emma CD1"


def test_a_61_series_from_tags() -> None:
    tagged = one(file("Au/S/T/01.mp3", series="Saga", series_part="04"))
    assert (tagged.series, tagged.sequence) == ("Saga", "4")
    grouped = one(file("Au/S/T/01.mp3", grouping="A #4; B #1a"))
    assert grouped.details.series == [["A", "4"], ["B", "1a"]]
    assert one(file("Au/S/T/01.mp3", grouping="no number")).series == "S"


@pytest.mark.parametrize(
    ("text", "tidy"), [("007", "7"), ("2.50", "2.5"), ("2b", "2b"), ("1.2.3", "1.2.3"), ("", "")]
)
def test_a_61_series_numbers_are_free_text(text: str, tidy: str) -> None:
    assert tidy_sequence(text) == tidy


def test_a_62_a_subtitle_stays_in_the_title() -> None:
    assert read_names(["Au", "Title, The - Sub - More"]).title == "Title, The - Sub - More"


def test_a_64_without_a_series_level_there_is_no_number() -> None:
    found = read_names(["Au", "Book 3 - X"])
    assert (found.title, found.sequence) == ("Book 3 - X", "")


@pytest.mark.parametrize(
    ("folder", "narrators", "title"),
    [
        ("Title {N1; N2}", ("N1", "N2"), "Title"),
        ("Title {N1 and N2}", ("N1", "N2"), "Title"),
        ("Title {A, B}", ("A", "B"), "Title"),
        ("Title {Nar} [B00ABCDEF1]", ("Nar",), "Title"),
        ("Title {Nar} (2001)", (), "Title {Nar} (2001)"),
        ("[B00ABCDEF1] Title", (), "Title"),
    ],
)
def test_a_65_narrators(folder: str, narrators: tuple[str, ...], title: str) -> None:
    found = read_names(["Au", folder])
    assert (set(found.narrators), found.title) == (set(narrators), title)


def test_a_66_remarks_stay_in_the_title() -> None:
    assert read_names(["Au", "T_ Sub (Unabridged)"]).title == "T_ Sub (Unabridged)"


@pytest.mark.parametrize(
    ("text", "people"),
    [
        pytest.param("King, Stephen", ["Stephen King"], id="A-67"),
        pytest.param("A & B", ["A", "B"], id="A-68 &"),
        pytest.param("A and B", ["A", "B"], id="A-68 and"),
        pytest.param("A; B", ["A", "B"], id="A-68 ;"),
        pytest.param("Ann Author, Ben Writer", ["Ann Author", "Ben Writer"], id="A-68 comma"),
        pytest.param("John and Jane Doe", ["John and Jane Doe"], id="A-68 a shared surname is not torn off"),
        pytest.param("Smith, Jon, Smith, Jane", ["Jon Smith", "Jane Smith"], id="A-69"),
        pytest.param("Friedman, Milton & Friedman, Rose", ["Milton Friedman", "Rose Friedman"], id="A-69 &"),
        pytest.param("Dr. Seuss", ["Dr. Seuss"], id="A-70"),
        pytest.param("Ann  Author", ["Ann Author"], id="A-70 spaces"),
        pytest.param("刘慈欣", ["刘慈欣"], id="A-71"),
        pytest.param("Madonna, Cher, Prince", ["Madonna, Cher, Prince"], id="A-72 nobody is lost"),
        pytest.param("Martin Luther King, Jr.", ["Martin Luther King, Jr."], id="#907"),
        pytest.param("Jörg; JÖRG; Jorg", ["Jörg"], id="A-73"),
        pytest.param("", [], id="nobody"),
    ],
)
def test_people(text: str, people: list[str]) -> None:
    assert split_people(text) == people


def test_a_73_one_name_in_every_spelling() -> None:
    spellings = ["Jörg", "JÖRG", "jo\u0308rg", "Jorg"]
    assert len({fold(name) for name in spellings}) == 1
    assert fold("Straße Łódź Ærø") == "strasse lodz aero"


def test_a_74_natural_order_of_titles() -> None:
    titles = ["Saga 1", "Saga 1.5", "Saga 2", "Saga 10", "saga 11"]
    assert sorted(reversed(titles), key=sort_key) == titles
    assert natural("Teil 007") == natural("teil 7")
    assert sort_key("“Émile”") == sort_key("emile”")


def test_words_of_cjk_titles_are_characters() -> None:
    assert words("三体 II: Ärger") == ["三", "体", "ii", "arger"]


def test_a_75_to_a_77_sidecars_go_over_tags_and_over_each_other() -> None:
    audio = file("Au/T/01.mp3", album="Tag", artist="Tag Author", composer="Tag Reader")
    reader = file("Au/T/reader.txt", sidecar=Sidecar(narrators=("Text Reader",)))
    opf = file("Au/T/x.opf", sidecar=Sidecar(title="Opf", year="1999", series=(("S", "3.0"),)))
    written = file("Au/T/metadata.json", sidecar=Sidecar(title="Written"))
    assert one(audio, reader).narrator == "Text Reader"
    assert (one(audio, opf).title, one(audio, opf).sequence) == ("Opf", "3.0")
    everything = one(audio, reader, opf, written)
    assert (everything.title, everything.author, everything.details.year) == ("Written", "Tag Author", "1999")


def test_a_cue_sheet_gives_chapters_where_the_file_has_none() -> None:
    cue = file("T/a.cue", sidecar=Sidecar(marks=marks("One", "Two", each=20.0)))
    assert [title for title, _, _ in one("T/a.mp3", cue).details.chapters] == ["One", "Two"]
    assert [
        title for title, _, _ in one(file("T/a.m4b", marks=marks("Own", "Marks")), cue).details.chapters
    ] == [
        "Own",
        "Marks",
    ]


@pytest.mark.parametrize(
    ("pictures", "cover"),
    [
        (["T/back.jpg", "T/cover.jpg"], "T/cover.jpg"),
        (["T/folder.jpg", "T/back.jpg"], "T/back.jpg"),
        (["T/art/cover.JPG", "T/back.jpg"], "T/art/cover.JPG"),
        ([], None),
    ],
)
def test_a_78_covers(pictures: list[str], cover: str | None) -> None:
    assert cover_of([file(path) for path in pictures], [file("T/a.mp3")]) == cover


def test_a_78_without_a_picture_the_embedded_one_is_the_cover() -> None:
    assert one(file("T/a.mp3", art=True)).details.cover == "T/a.mp3/cover"


def test_a_79_an_authors_picture_is_no_books_cover() -> None:
    assert one("Au/cover.jpg", "Au/T/a.mp3").details.cover is None


def test_a_86_spaces_at_the_edges_belong_to_the_path_alone() -> None:
    book = one(" Au / T . /a.mp3")
    assert (book.path, book.title, book.author) == (" Au / T . ", "T .", "Au")


def test_a_86_odd_names() -> None:
    book = one('😀/What? "Now": it\'s/a.mp3')
    assert (book.title, book.author) == ('What? "Now": it\'s', "😀")
