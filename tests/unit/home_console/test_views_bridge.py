"""What the console says of its Bridge."""

from datetime import UTC, datetime

import pytest

from bridge_agent.home.console.views_bridge import bridge_view

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
LIBRARIES = {1: "Audiobooks", 2: "Children"}
SEEN = {
    "library_id": 1,
    "path": "/mnt/books",
    "ok": True,
    "readable": True,
    "writable": True,
    "checked_at": "2026-01-01T11:59:00.000Z",
    "files_checked": 5,
    "files_matched": 5,
}
STATUS = {"version": "1.2", "kinds": ["bridge.verify"], "libraries": [SEEN], "workers": [], "ui_url": None}


def view(libraries=LIBRARIES, **bridge):
    base = {
        "paired": True,
        "paired_at": "2026-01-01T10:00:00.000Z",
        "paired_by": "admin",
        "online": True,
        "last_heartbeat_at": "2026-01-01T11:59:48.000Z",
        "pending_code_expires_at": None,
        "status": STATUS,
    }
    return bridge_view({**base, **bridge}, libraries, NOW)


def test_an_unpaired_server_says_so_and_what_a_bridge_is():
    seen = view(paired=False, online=False, last_heartbeat_at=None, status=None)
    assert seen.state.sentence == "No Bridge is paired."
    assert "computer at home" in seen.state.more
    assert seen.libraries == ()


def test_a_waiting_code_is_told_until_it_is_over():
    asked = {"paired": False, "online": False, "last_heartbeat_at": None, "status": None}
    waiting = view(pending_code_expires_at="2026-01-01T12:10:00.000Z", **asked)
    assert waiting.state.sentence == "A code waits for its Bridge."
    assert waiting.code_until == "2026-01-01T12:10:00.000Z"
    over = view(pending_code_expires_at="2026-01-01T11:50:00.000Z", **asked)
    assert over.code_until is None
    assert over.state.sentence == "No Bridge is paired."


def test_a_bridge_that_has_not_called_in_is_told_apart_from_one_that_went_away():
    assert "has not called in" in view(online=False, last_heartbeat_at=None, status=None).state.sentence
    gone = view(online=False, last_heartbeat_at="2026-01-01T11:00:00.000Z")
    assert gone.state.sentence == "The Bridge is offline."
    assert gone.state.at == "2026-01-01T11:00:00.000Z"
    assert gone.short.word == "Offline"


def test_an_online_bridge_that_sees_everything_is_simply_online():
    seen = view({1: "Audiobooks"})
    assert (seen.state.sentence, seen.state.tone) == ("The Bridge is online.", "ok")
    assert seen.libraries[0].line == "5 of 5 sample files match · can be written"
    assert seen.kinds == "Verify"


def test_a_library_the_bridge_does_not_see_is_in_the_sentence():
    blind = {**SEEN, "library_id": 2, "ok": False, "error": "Nothing at /kids here."}
    seen = view(status={**STATUS, "libraries": [SEEN, blind]})
    assert seen.state.sentence == "The Bridge is online, but does not see 1 of 2 libraries."
    assert "“Children”" in seen.state.more
    assert seen.libraries[1].line == "Nothing at /kids here."


def test_a_library_that_was_never_checked_is_not_called_unseen():
    seen = view()
    assert [library.tag.word for library in seen.libraries] == ["Seen", "Not checked yet"]
    assert seen.state.sentence == "The Bridge is online."


def test_a_library_of_the_heartbeat_that_is_gone_here_is_left_out():
    assert [library.name for library in view({2: "Children"}).libraries] == ["Children"]


@pytest.mark.parametrize("url", ["javascript:alert(1)", "//evil", "ftp://x", "", None, 5])
def test_only_a_web_address_becomes_a_link(url):
    assert view(status={**STATUS, "ui_url": url}).ui_url is None
    assert view(status={**STATUS, "ui_url": "http://pc:13380"}).ui_url == "http://pc:13380"


def test_workers_are_listed_with_what_they_are_doing():
    workers = [
        {
            "name": "games-room",
            "state": "working",
            "engine": "large-v3",
            "device": "cuda",
            "job_id": 4,
            "seconds_per_second": 38.2,
        },
        {"name": "laptop", "state": "resting"},
    ]
    first, second = view(status={**STATUS, "workers": workers}).workers
    assert (first.tag.word, first.line, first.speed) == ("Working", "large-v3, cuda, at job 4", "38×")
    assert second.tag.word == "resting"
