"""Tags, lengths, chapters and sidecars as they are read out of real files."""

from pathlib import Path

import pytest
from mutagen.id3 import APIC, CHAP, ID3, TIT2, TXXX
from mutagen.mp4 import MP4, MP4Cover

from bridge_agent.home.library.cue import read_cue
from bridge_agent.home.library.facts import Mark, Sidecar
from bridge_agent.home.library.quicktime import read_chapter_track
from bridge_agent.home.library.sidecars import read_sidecar
from bridge_agent.home.library.tags import BROKEN, EMPTY, UNREADABLE, read_art, read_tags
from tests.unit.home_library.audio import flac, m4b, mp3, wav, with_chapter_track

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
DEMO = Path(__file__).resolve().parents[3] / "bridge_agent" / "demo_library"


def test_the_sample_librarys_files() -> None:
    book = read_tags(str(DEMO / "Aesop/Three Fables/Three Fables.m4b"))
    assert (book.title, book.album, book.artist, book.date, book.art) == (
        "Three Fables", "Three Fables", "Aesop", "2026", True,
    )  # fmt: skip
    assert [mark.title for mark in book.marks] == [
        "The Tortoise and the Hare", "The Fox and the Grapes", "The Crow and the Pitcher",
    ]  # fmt: skip
    track = read_tags(str(DEMO / "Folk Tales/Stone Soup/01 - Chapter 1.mp3"))
    assert (track.title, track.album, track.track) == ("Chapter 1", "Stone Soup", 1)
    assert track.duration == pytest.approx(24.216, abs=0.01)


def test_tags_in_one_shape_whatever_the_format(tmp_path: Path) -> None:
    said = {"title": "T", "album": "A", "artist": "P", "series": "S", "series_part": "2b"}
    for path in (mp3(tmp_path / "a.mp3", **said), m4b(tmp_path / "a.m4b", **said)):
        tags = read_tags(str(path))
        assert {name: getattr(tags, name) for name in said} == said
    tags = read_tags(
        str(flac(tmp_path / "a.flac", title="T", tracknumber="3", tracktotal="9", discnumber="2"))
    )
    assert (tags.title, tags.track, tags.tracks, tags.disc, tags.duration) == ("T", 3, 9, 2, 60.0)


def test_numbers_with_their_totals(tmp_path: Path) -> None:
    tags = read_tags(str(mp3(tmp_path / "a.mp3", track="03/12", disc="1/2")))
    assert (tags.track, tags.tracks, tags.disc) == (3, 12, 1)
    assert read_tags(str(m4b(tmp_path / "a.m4b", track="4/5"))).track == 4
    assert read_tags(str(mp3(tmp_path / "b.mp3", track="zwei"))).track is None


def test_lengths(tmp_path: Path) -> None:
    assert read_tags(str(wav(tmp_path / "a.wav", 2.5))).duration == 2.5
    assert read_tags(str(m4b(tmp_path / "a.m4b", 36_000))).duration == 36_000.0


def test_recordings_of_one_size_and_length_are_told_apart(tmp_path: Path) -> None:
    one, other = wav(tmp_path / "1.wav", pitch=1), wav(tmp_path / "2.wav", pitch=2)
    assert one.stat().st_size == other.stat().st_size
    assert read_tags(str(one)).sound != read_tags(str(other)).sound
    assert read_tags(str(one)) == read_tags(str(one))


@pytest.mark.parametrize(
    ("name", "content", "broken"),
    [
        ("empty.mp3", b"", EMPTY),
        ("text.mp3", b"this is no sound at all", BROKEN),
        ("atoms.m4b", b"\0\0\0\x08moov\0\0\0\x01" * 20, BROKEN),
        ("cut.flac", b"fLaC\x00\x00\x00\x22", BROKEN),
        ("cut.ogg", b"OggS\x00\x02", BROKEN),
        ("unknown.mka", b"\x1aE\xdf\xa3 something", ""),
    ],
)
def test_a_broken_file_is_told_and_never_raises(
    tmp_path: Path, name: str, content: bytes, broken: str
) -> None:
    (tmp_path / name).write_bytes(content)
    tags = read_tags(str(tmp_path / name))
    assert (tags.broken, tags.duration) == (broken, None)


def test_a_file_that_is_gone_or_a_folder_is_unreadable(tmp_path: Path) -> None:
    assert read_tags(str(tmp_path / "gone.mp3")).broken == UNREADABLE
    assert read_tags(str(tmp_path)).broken == UNREADABLE


def test_texts_from_outside_are_tidied(tmp_path: Path) -> None:
    tags = read_tags(str(mp3(tmp_path / "a.mp3", title="A\x07\n  B" + "x" * 5000)))
    assert tags.title.startswith("A B")
    assert len(tags.title) == 1024


def test_nero_chapters(tmp_path: Path) -> None:
    tags = read_tags(str(m4b(tmp_path / "a.m4b", 100, chapters=[(0, "One"), (40, "Two")])))
    assert tags.marks == (Mark("One", 0.0, 40.0), Mark("Two", 40.0, 100.0))


def test_chapters_in_a_text_track(tmp_path: Path) -> None:
    path = with_chapter_track(tmp_path / "a.m4b", 100, [(0, "Eins"), (40.5, "Zwei ü")])
    assert read_chapter_track(str(path)) == [(0.0, "Eins"), (40.5, "Zwei ü")]
    assert [mark.title for mark in read_tags(str(path)).marks] == ["Eins", "Zwei ü"]


@pytest.mark.parametrize("cut", [30, 120, 300, 500, 700])
def test_a_cut_chapter_track_never_raises(tmp_path: Path, cut: int) -> None:
    path = with_chapter_track(tmp_path / "a.m4b", 100, [(0, "Eins"), (40, "Zwei")])
    path.write_bytes(path.read_bytes()[:cut])
    assert len(read_tags(str(path)).marks) <= 2


def test_id3_chapters(tmp_path: Path) -> None:
    path = mp3(tmp_path / "a.mp3", 100)
    id3 = ID3()
    for number, (start, title) in enumerate([(1000, "Second"), (0, "First"), (1050, "Too short after")]):
        sub = [TIT2(encoding=3, text=[title])]
        id3.add(CHAP(element_id=f"c{number}", start_time=start, end_time=start + 10, sub_frames=sub))
    id3.save(path)
    assert [(mark.title, mark.start) for mark in read_tags(str(path)).marks] == [
        ("First", 0.0),
        ("Too short after", 1.05),
    ]


def test_overdrive_markers_win(tmp_path: Path) -> None:
    path = mp3(tmp_path / "a.mp3", 5000)
    id3 = ID3()
    markers = "<Markers><Marker><Name>A &amp; B</Name><Time>0:00.000</Time></Marker>"
    markers += "<Marker><Name>C</Name><Time>1:30.500</Time></Marker></Markers>"
    id3.add(TXXX(encoding=3, desc="OverDrive MediaMarkers", text=[markers]))
    id3.add(CHAP(element_id="c", start_time=0, end_time=10, sub_frames=[TIT2(encoding=3, text=["Not me"])]))
    id3.save(path)
    assert [(mark.title, mark.start) for mark in read_tags(str(path)).marks] == [("A & B", 0.0), ("C", 90.5)]


def test_vorbis_chapters(tmp_path: Path) -> None:
    path = flac(tmp_path / "a.flac", CHAPTER001="00:00:00.000", CHAPTER001NAME="One", CHAPTER002="00:00:30.5")
    assert read_tags(str(path)).marks == (Mark("One", 0.0, 30.5), Mark("Chapter 2", 30.5, 60.0))


def test_embedded_pictures(tmp_path: Path) -> None:
    song, book = mp3(tmp_path / "a.mp3", title="T"), m4b(tmp_path / "a.m4b", title="T")
    assert read_art(str(song)) is None
    id3 = ID3(song)
    id3.add(APIC(encoding=3, mime="image/png", type=3, desc="", data=PNG))
    id3.save(song)
    atoms = MP4(book)
    atoms["covr"] = [MP4Cover(PNG, imageformat=MP4Cover.FORMAT_PNG)]
    atoms.save()
    for path in (song, book):
        assert read_tags(str(path)).art
        assert read_art(str(path)) == PNG
    assert read_art(str(tmp_path / "gone.mp3")) is None


OPF = """<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf"><metadata
 xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:opf="http://www.idpf.org/2007/opf">
<dc:title>Opf Title</dc:title><dc:creator opf:role="aut">King, Stephen</dc:creator>
<dc:creator opf:role="nrt">A Reader</dc:creator><dc:date>1999-01-02</dc:date>
<dc:description>&lt;p&gt;Long &lt;b&gt;text&lt;/b&gt;&lt;/p&gt;</dc:description><dc:language>en</dc:language>
<dc:identifier opf:scheme="ISBN">978</dc:identifier>
<meta name="calibre:series" content="Saga"/><meta name="calibre:series_index" content="3.0"/>
</metadata></package>"""


def test_a_76_opf(tmp_path: Path) -> None:
    (tmp_path / "x.opf").write_text(OPF, encoding="utf-8")
    found = read_sidecar(str(tmp_path / "x.opf"))
    assert (found.title, found.authors, found.narrators) == ("Opf Title", ("King, Stephen",), ("A Reader",))
    assert (found.year, found.series, found.isbn) == ("1999", (("Saga", "3.0"),), "978")
    assert found.description.split() == ["Long", "text"]


def test_an_opf_with_entities_says_nothing(tmp_path: Path) -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>' + OPF.partition("?>")[2]
    (tmp_path / "x.opf").write_text(bomb, encoding="utf-8")
    assert read_sidecar(str(tmp_path / "x.opf")) == Sidecar()


def test_a_75_text_files(tmp_path: Path) -> None:
    (tmp_path / "desc.txt").write_bytes("Über alles.\nZweite Zeile.".encode("cp1252"))
    (tmp_path / "reader.txt").write_text("\ufeffAnn Reader; Ben Reader\nnot this", encoding="utf-8")
    assert read_sidecar(str(tmp_path / "desc.txt")).description == "Über alles.\nZweite Zeile."
    assert read_sidecar(str(tmp_path / "reader.txt")).narrators == ("Ann Reader", "Ben Reader")


def test_a_77_metadata_json(tmp_path: Path) -> None:
    (tmp_path / "metadata.json").write_text(
        '{"title": "T", "authors": ["A", "B"], "series": ["Saga #5"], "publishedYear": 1990,'
        ' "chapters": [{"start": 0, "end": 9.5, "title": "One"}, {"start": 9.5, "end": 3, "title": "No"}]}',
        encoding="utf-8",
    )
    found = read_sidecar(str(tmp_path / "metadata.json"))
    assert (found.title, found.authors, found.series, found.year) == (
        "T",
        ("A", "B"),
        (("Saga", "5"),),
        "1990",
    )
    assert found.marks == (Mark("One", 0.0, 9.5),)


@pytest.mark.parametrize("content", ["[]", "null", "{", '{"chapters": [1]}', '{"authors": 5}', "[" * 100_000])
def test_a_strange_metadata_json_never_raises(tmp_path: Path, content: str) -> None:
    (tmp_path / "metadata.json").write_text(content, encoding="utf-8")
    assert read_sidecar(str(tmp_path / "metadata.json")).title == ""


def test_texts_made_to_be_slow_are_read_in_no_time(tmp_path: Path) -> None:
    opf = OPF.replace("&lt;p&gt;", "&lt;" * 200_000)
    (tmp_path / "x.opf").write_text(opf, encoding="utf-8")
    assert read_sidecar(str(tmp_path / "x.opf")).title == "Opf Title"
    assert read_cue('FILE "a"\nTRACK 01\nTITLE "' + " " * 1_000_000) == ()
    path = mp3(tmp_path / "a.mp3", 100)
    id3 = ID3()
    id3.add(TXXX(encoding=3, desc="OverDrive MediaMarkers", text=["<Marker><Name>" * 100_000]))
    id3.save(path)
    assert read_tags(str(path)).marks == ()


def test_cue_sheets() -> None:
    sheet = """TITLE "The Book"\nFILE "a.mp3" MP3
      TRACK 01 AUDIO\n TITLE "One"\n INDEX 01 00:00:00
      TRACK 02 AUDIO\n TITLE "Two"\n INDEX 00 01:29:00\n INDEX 01 01:30:37\n"""
    assert read_cue(sheet) == (Mark("One", 0.0, 0.0), Mark("Two", 90.493, 90.493))
    assert read_cue(sheet + sheet) == ()
