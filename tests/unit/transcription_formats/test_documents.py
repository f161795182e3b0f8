"""The four files: read back, they say what the transcript says."""

import hashlib

from hypothesis import given, settings

from bridge_agent.protocol.bridge import ARTIFACT_TYPES, is_artifact_name
from bridge_agent.transcription.assembly.transcript import Gap
from bridge_agent.transcription.formats import (
    CONTENT_TYPES,
    documents,
    json_bytes,
    read_json,
    srt_bytes,
    txt_bytes,
    vtt_bytes,
)
from bridge_agent.transcription.formats.cues import cues
from bridge_agent.transcription.formats.tokens import all_tokens
from bridge_agent.transcription.formats.vtt import stamp
from tests.unit.transcription_formats import readers
from tests.unit.transcription_formats.scripts import book, segment, spoken, transcript, transcripts


def bare(text: str) -> str:
    return "".join(text.split())


def test_the_names_and_types_are_the_wires():
    assert all(is_artifact_name(name) for name in CONTENT_TYPES)
    assert set(CONTENT_TYPES.values()) == set(ARTIFACT_TYPES)


def test_documents_carry_their_checksums():
    found = documents(book("One two."))
    assert [each.name for each in found] == list(CONTENT_TYPES)
    assert all(each.sha256 == hashlib.sha256(each.content).hexdigest() for each in found)


def test_vtt_is_escaped_and_names_the_chapters():
    words = spoken("fish & <b>chips</b> --> done.")
    made = transcript([segment(0, words)], 10.0)
    assert vtt_bytes(made).decode() == (
        "WEBVTT\n\nNOTE Book — Author\n\nNOTE Chapter 1: Chapter 1\n\n"
        "1\n00:00:00.000 --> 00:00:01.750\nfish &amp; &lt;b&gt;chips&lt;/b&gt; --&gt; done.\n"
    )
    assert srt_bytes(made).decode() == ("1\n00:00:00,000 --> 00:00:01,750\nfish & <b>chips</b> → done.\n")


def test_hours_grow_as_they_must():
    assert stamp(359_999_999) == "99:59:59.999"
    assert stamp(360_000_000, ",") == "100:00:00,000"


def test_a_transcript_without_a_word_still_has_valid_files():
    empty = transcript([], 10.0)
    assert readers.vtt(vtt_bytes(empty)) == ([], ["Book — Author"])
    assert readers.srt(srt_bytes(empty)) == []
    assert txt_bytes(empty).decode() == "Book\nAuthor\n\n\nChapter 1\n---------\n"


def test_text_has_headings_paragraphs_and_says_what_is_missing():
    parts = [
        segment(0, spoken("It began.")),
        segment(1, spoken("And so on.", start=9.0)),
        segment(2, spoken("The end.", start=20.0), chapter=1),
    ]
    gap = Gap(start=5.0, end=7.0, reason="failed")
    made = transcript(parts, 30.0, chapters=(0.0, 15.0), gaps=[gap])
    assert txt_bytes(made).decode() == (
        "Book\nAuthor\n\n\nChapter 1\n---------\n\nIt began.\n\n"
        "[Missing from 0:05 to 0:07: this stretch could not be transcribed.]\n\nAnd so on.\n\n\n"
        "Chapter 2\n---------\n\nThe end.\n"
    )


def test_a_long_chapter_is_paragraphs_and_not_one_block():
    text = " ".join(["The quick brown fox jumps over the lazy dog near the river bank."] * 60)
    blocks = txt_bytes(book(text)).decode().rstrip().split("\n\n")
    assert max(len(block) for block in blocks) < 1_700
    assert all(block.endswith(".") for block in blocks[2:] if "fox" in block)


@settings(max_examples=120, deadline=None)
@given(transcripts())
def test_any_transcript_reads_back_the_same(made):
    found = cues(made)
    said = bare("".join(token.text for token in all_tokens(made)))
    from_vtt, _ = readers.vtt(vtt_bytes(made))
    assert [(c.start, c.end, c.lines) for c in from_vtt] == [(c.start, c.end, c.lines) for c in found]
    from_srt = readers.srt(srt_bytes(made))
    assert [(c.start, c.end) for c in from_srt] == [(c.start, c.end) for c in found]
    assert read_json(json_bytes(made)) == made
    written = txt_bytes(made).decode()
    body = "".join(
        line for line in written.split("\n") if not line.startswith(("[Missing", "Chapter ", "---"))
    )
    assert sorted(bare(body)) == sorted(bare("BookAuthor") + said)
