"""Cue sheets and where they lie."""

from bridge_agent.transcription.audio import cue, sidecar
from bridge_agent.transcription.model import RATE

ONE = """\
PERFORMER "Reader"
TITLE "The Book"
FILE "old name.wav" WAVE
  TRACK 01 AUDIO
    TITLE "Beginning"
    INDEX 01 00:00:00
  TRACK 02 AUDIO
    PERFORMER "Somebody"
    INDEX 00 61:29:70
    INDEX 01 61:30:00
"""
TWO = """\
FILE "disc 1.mp3" MP3
  TRACK 01 AUDIO
    TITLE One
    INDEX 01 00:01:00
FILE disc 2.mp3 MP3
  TRACK 02 AUDIO
    TITLE "Two"
    INDEX 01 00:00:15
"""


def test_a_sheet_for_one_file_is_taken_whatever_the_file_is_called_now():
    assert cue.marks(ONE, "new name.m4b") == [("Beginning", 0), ("Track 2", 3690 * RATE)]


def test_of_a_sheet_for_many_files_only_this_files_tracks_count():
    assert cue.marks(TWO, "Disc 1.MP3") == [("One", RATE)]
    assert cue.marks(TWO, "disc 2.mp3") == [("Two", RATE // 5)]
    assert cue.marks(TWO, "disc 3.mp3") == []


def test_nonsense_is_no_sheet():
    assert cue.marks("INDEX 01 00:00:00\nTRACK\nhello\nFILE\n", "x") == []


def test_a_sheet_beside_the_file_is_found_by_name_or_by_what_it_names(tmp_path):
    book, other = tmp_path / "Book.m4b", tmp_path / "disc 2.mp3"
    (tmp_path / "set.cue").write_text(TWO)
    assert sidecar.cue_beside(book) is None
    assert sidecar.cue_beside(other) == tmp_path / "set.cue"
    (tmp_path / "book.CUE").write_text(ONE)
    assert sidecar.cue_beside(book) == tmp_path / "book.CUE"


def test_a_sheet_is_read_in_the_encoding_it_has(tmp_path):
    sheet = tmp_path / "a.cue"
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "cp1252"):
        sheet.write_bytes('TITLE "Käse"'.encode(encoding))
        assert sidecar.read_text(sheet) == 'TITLE "Käse"'
    sheet.write_bytes(b"x" * (2 << 20))
    assert sidecar.read_text(sheet) == ""
