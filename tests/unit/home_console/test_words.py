"""Times, counts and the few other words that pages share."""

from datetime import UTC, datetime, timedelta

import pytest

from bridge_agent.home.console import words
from bridge_agent.home.console.compose import compose_file
from bridge_agent.home.console.once import Once
from bridge_agent.home.console.pages import own_path
from bridge_agent.home.console.said import said
from bridge_agent.home.console.views_library import book_view, libraries_state, library_view

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (2, "just now"),
        (12, "12 seconds ago"),
        (60, "1 minute ago"),
        (7200, "2 hours ago"),
        (90_000, "1 day ago"),
        (-5, "just now"),
    ],
)
def test_how_long_ago(seconds, said):
    assert words.ago(NOW - timedelta(seconds=seconds), NOW) == said


def test_how_long_still():
    assert words.left(NOW + timedelta(seconds=872), NOW) == "14:32"
    assert words.left(NOW - timedelta(seconds=1), NOW) == "0:00"
    assert words.left(None, NOW) == "0:00"


def test_what_is_no_time_is_none():
    assert words.moment("yesterday") is None
    assert words.moment(5) is None
    assert words.ago(words.moment("2026-13-01"), NOW) == "never"


def test_lengths_of_time_from_milliseconds_to_hours():
    assert words.long_or_short(0.005) == "5 ms"
    assert words.long_or_short(0.412) == "0.4 s"
    assert words.long_or_short(0) == "0 s"
    assert words.long_or_short(36_120) == "10 h 02"


def test_counting_and_joining():
    assert words.counted(1, "library", "libraries") == "1 library"
    assert words.counted(1204, "file") == "1,204 files"
    assert words.joined(["a", "b", "c"]) == "a, b and c"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "//evil.example/",
        "https://evil.example",
        "/\\evil",
        "/a b",
        "/a\nb",
        "libraries",
        "/" + "x" * 3000,
    ],
)
def test_a_sign_in_leads_nowhere_but_here(text):
    assert own_path(text) == "/"


def test_a_sign_in_leads_back_to_where_one_wanted_to_go():
    assert own_path("/libraries/3/book?path=A%20B") == "/libraries/3/book?path=A%20B"


def test_only_known_codes_are_said():
    assert said("queued").tone == "ok"
    assert said("<script>") is None


@pytest.mark.requirement("R-002")
def test_what_is_shown_once_is_given_once_to_its_own_session_within_a_minute(clock):
    shelf = Once(clock)
    ticket = shelf.put("session a", "secret")
    assert shelf.take("session b", ticket) is None
    assert shelf.take("session a", ticket) == "secret"
    assert shelf.take("session a", ticket) is None


async def test_what_nobody_fetched_within_a_minute_is_gone(clock):
    shelf = Once(clock)
    ticket = shelf.put("session a", "secret")
    await clock.advance(61)
    assert shelf.take("session a", ticket) is None


def test_the_compose_file_quotes_what_it_is_given():
    text = compose_file({"BRIDGE_PAIR_CODE": "7KQM-4XHD", "X": 'a"\nb: $c'}, ["/srv/My Books"])
    assert 'BRIDGE_PAIR_CODE: "7KQM-4XHD"' in text
    assert 'X: "a\\"\\nb: $$c"' in text
    assert '- "/srv/My Books:/srv/My Books"' in text


def library(state, **scan):
    whole = {"state": state, "done": 0, "total": 0, "finished_at": None, "error": None, **scan}
    return library_view({"id": 1, "name": "Audiobooks", "root": "/a", "books": 2, "scan": whole}, NOW)


@pytest.mark.parametrize(
    ("state", "scan", "word", "line"),
    [
        ("idle", {}, "Not scanned yet", "A scan begins by itself in a moment."),
        ("running", {"done": 12, "total": 40}, "Scanning", "12 of 40 looked at"),
        ("running", {}, "Scanning", "Looking through its folders"),
        ("failed", {"error": "The folder is not there."}, "Scan failed", "The folder is not there."),
        ("done", {"finished_at": None}, "Scanned", "scanned never"),
    ],
)
def test_a_scan_is_told_in_every_state(state, scan, word, line):
    seen = library(state, **scan)
    assert (seen.tag.word, seen.line) == (word, line)


def test_the_list_of_libraries_begins_with_a_sentence():
    assert libraries_state([], admin=True).more == "Add a folder of audiobooks below."
    assert "admin" in libraries_state([], admin=False).more
    assert libraries_state([library("running")], True).sentence == "Scanning “Audiobooks”."
    assert "could not be scanned" in libraries_state([library("failed")], True).sentence
    one = libraries_state([library("done")], True)
    assert (one.sentence, one.more[:5]) == ("1 library, scanned.", "It is")
    assert libraries_state([library("done")] * 2, True).sentence == "2 libraries, all scanned."


def test_a_book_in_the_list_tells_length_and_files():
    item = {
        "path": "A/B",
        "title": "",
        "author": "Aesop",
        "series": None,
        "duration": 115.0,
        "size": 9,
        "files": 2,
        "state": "incomplete",
    }
    seen = book_view(item)
    assert (seen.title, seen.by, seen.line, seen.tag.word) == (
        "B",
        "Aesop",
        "1 min 55 · 2 files",
        "Incomplete",
    )
