"""The sentences: every state of the link, of a job, of a library and of a setting, in plain words."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge_agent.base.clock import to_text
from bridge_agent.link import words
from bridge_agent.mapping.sight import UNSEEN
from bridge_agent.page import views_jobs, views_libraries, views_link, views_settings, views_times
from bridge_agent.page.links import local_path
from bridge_agent.protocol.states import RunState
from bridge_agent.settings import BridgeSettings

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
GOOD = {"path": "A/B/01.mp3", "size": 5, "expected_size": 5, "ok": True}


def at(seconds: float) -> str:
    return to_text(NOW + timedelta(seconds=seconds))


def link(state: str, **more: Any) -> dict[str, Any]:
    return {
        "state": state,
        "reason": None,
        "server_url": "http://maple.local",
        "server_name": "Maple House",
        "server_id": "s",
        "online": state == "online",
        "last_heartbeat_at": at(-12),
        "next_try_at": None,
        **more,
    }


def job(state: str, **more: Any) -> dict[str, Any]:
    ended = state in ("done", "failed", "cancelled", "lost")
    return {
        "server_id": "s",
        "job_id": 7,
        "attempt": 1,
        "kind": "bridge.verify",
        "library_id": 1,
        "path": "Aesop/Three Fables",
        "params": {},
        "state": state,
        "progress": None,
        "result": None,
        "error": None,
        "reported": ended,
        "note": None,
        "claimed_at": at(-60),
        "started_at": at(-60),
        "finished_at": at(-48.5) if ended else None,
        **more,
    }


def result(*files: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"files": list(files), "writable": True, "elapsed_ms": 412, **more}


def bad(error: str) -> dict[str, Any]:
    return {**GOOD, "path": "A/B/02.mp3", "ok": False, "error": error}


def said(told: dict[str, Any], *running: dict[str, Any]) -> str:
    head = views_link.head(told, list(running), NOW)
    return " ".join([head.title, *(views_times.told(line, NOW) for line in head.lines)])


# ---- the link


def test_a_full_disk_comes_before_all_that_seems_well():
    assert views_link.head(link("online"), [], NOW, full=True).title.endswith("data folder is full.")
    assert "can’t be reached" in views_link.head(link("offline"), [], NOW, full=True).title


def test_unpaired_says_how_a_code_is_had():
    assert said(link("unpaired")) == (
        "Not paired with a server yet. The server’s console makes a code that works once, for 15 minutes."
    )


def test_unpaired_with_a_code_from_the_settings_says_when_it_is_tried_again():
    assert "is tried again in 30 seconds." in said(link("unpaired", next_try_at=at(30)))


def test_connecting_says_what_it_waits_for():
    assert said(link("connecting")).startswith("Connecting to Maple House. Waiting for the first heartbeat")
    assert "The keyring is locked" in said(link("connecting", reason="The keyring is locked; unlock it."))


@pytest.mark.requirement("R-047")
def test_online_says_since_when_and_what_is_done():
    assert said(link("online")) == (
        "Connected to Maple House. Nothing to do right now. "
        "Heard from the server 12 seconds ago. The next job starts as soon as the server has one."
    )
    assert "Verifying one book." in said(link("online"), job("running"))
    assert "Verifying two books." in said(link("online"), job("running"), job("running"))
    assert "Working on two books." in said(
        link("online"), job("running"), job("running", kind="transcribe.book")
    )


def test_online_with_a_job_that_waits_for_a_person_says_so():
    head = views_link.head(link("online"), [job("needs_attention")], NOW)
    assert (head.mark, head.title) == ("warn", "Connected to Maple House. One job needs you.")
    two = [job("needs_attention"), job("needs_attention")]
    assert "Two jobs need you." in said(link("online"), *two)


def test_offline_says_why_since_when_and_when_it_tries_again():
    told = link("offline", reason="The server can’t be reached; look at it.", next_try_at=at(20))
    assert said(told) == (
        "Maple House can’t be reached. The server can’t be reached; look at it. "
        f"Last heard from 12 seconds ago, at {views_times.at(NOW - timedelta(seconds=12), NOW)}. "
        f"Tries again in 20 seconds, at {views_times.at(NOW + timedelta(seconds=20), NOW)}."
    )
    assert "its reports wait" in said(told, job("running"))
    assert said(link("offline", last_heartbeat_at=None)) == "Maple House can’t be reached."


@pytest.mark.requirement("R-084")
def test_refused_names_the_three_possible_causes_and_when_it_asks_again():
    told = said(link("refused", reason=words.REFUSED, next_try_at=at(240)))
    for cause in (
        "unpaired in the console",
        "another Bridge was paired",
        "the admin who paired it is no longer an enabled admin",
        "Tries again in 4 minutes",
    ):
        assert cause in told


def test_a_copied_data_folder_is_refused_for_another_reason():
    told = said(link("refused", reason=words.COPIED_SAYS_SERVER))
    assert "copy of another Bridge" in told
    assert "another Bridge was paired" not in told


def test_a_server_without_a_name_is_known_by_its_address():
    assert views_link.server_name(link("online", server_name=None)) == "http://maple.local"
    assert views_link.server_name(link("online", server_name=None, server_url=None)) == "the server"


def test_every_state_has_a_word():
    assert {views_link.state_word(s) for s in ("unpaired", "connecting", "online", "offline", "refused")}


@pytest.mark.parametrize(
    ("sentence", "parted"),
    [
        ("The code is wrong; make a new one.", ("The code is wrong.", "Make a new one.")),
        ("It is so. Do that; then this.", ("It is so.", "Do that; then this.")),
        ("One clause alone", ("One clause alone", "")),
    ],
)
def test_a_sentence_parts_into_what_happened_and_what_to_do(sentence: str, parted: tuple[str, str]):
    assert views_link.parted(sentence) == parted


# ---- jobs


@pytest.mark.parametrize("state", [str(state) for state in RunState])
def test_every_state_of_a_job_has_a_word_a_mark_and_a_sentence(state: str):
    view = views_jobs.view(job(state))
    assert view.tag.word
    assert view.tag.mark
    assert len(view.sentence) > 4
    assert view.can_cancel == (state in ("running", "needs_attention", "aside"))
    assert view.can_resume == (state == "needs_attention")
    assert bool(view.question) == view.can_resume


def test_the_books_name_comes_from_its_path():
    assert views_jobs.names(job("done"), "") == ("Three Fables", "Aesop")
    assert views_jobs.names(job("done", path="A/Series/Book"), "") == ("Book", "Series · A")
    assert views_jobs.names(job("done", path=""), "Kids") == ("Kids", "")
    assert views_jobs.names(job("done", path=""), "") == ("Library 1", "")


def test_a_running_job_tells_its_step_and_figures():
    progress = {"step": "stat", "message": "Comparing the files", "done": 3, "total": 19}
    view = views_jobs.view(job("running", progress=progress))
    assert (view.sentence, view.figures) == ("Comparing the files", ("3 of 19",))
    assert (view.done, view.total) == (3, 19)
    assert views_jobs.view(job("running")).sentence == "Starting."
    assert views_jobs.figures({"step": "hold", "message": "", "done": 2, "total": 5}) == ("2 of 5 s",)
    assert views_jobs.figures({"step": "transcribe", "message": "", "done": 1800, "total": 7200}) == (
        "25 %",
        "30 min 00 of 2 h 00",
    )
    assert views_jobs.figures({"step": "lookup", "message": ""}) == ()


def test_a_verified_book_is_summed_up_in_one_line():
    done = job("done", result=result(GOOD, GOOD))
    assert views_jobs.sentence(done) == "Verified: 2 of 2 files match, the folder can be written · 0.4 s."
    long = job("done", result=result(*[GOOD] * 50))
    assert "50 of 50 listed files match" in views_jobs.sentence(long)
    one = job("done", result=result(GOOD, writable=False, writable_error="permission denied"))
    assert "1 of 1 file matches, the folder can’t be written (permission denied)" in views_jobs.sentence(one)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            "size differs: 18204113 bytes here, 18311902 on the server",
            "1 of 2 files differs: “02.mp3” is 18,204,113 bytes here and 18,311,902 on the server.",
        ),
        ("not found here", "1 of 2 files differs: “02.mp3” was not found here."),
        ("permission denied", "1 of 2 files differs: “02.mp3” gave “permission denied”."),
    ],
)
def test_a_mismatch_names_the_first_file(error: str, sentence: str):
    failed = job("failed", result=result(GOOD, bad(error)), error="1 of 2 files differ")
    assert views_jobs.sentence(failed) == sentence
    assert views_jobs.advice(failed).endswith(".")


def test_a_library_that_is_away_is_told_as_that_and_not_as_missing_files():
    error = f"{UNSEEN}: the folder /mnt is empty (library “Books”). Connect the drive, then try again."
    away = job("failed", result=result(bad("not found here")), error=error)
    assert views_jobs.sentence(away) == error
    assert views_jobs.bad_files(away) == []


def test_the_advice_fits_what_is_wrong():
    gone = views_jobs.advice(job("failed", result=result(bad("not found here"))))
    assert "mapped to the right folder" in gone
    assert "Let the account" in views_jobs.advice(job("failed", result=result(bad("permission denied"))))
    assert "Scan the library" in views_jobs.advice(job("failed", result=result(bad("size differs: 1 …"))))
    assert "queue the job again" in views_jobs.advice(job("failed", error="The server went away."))
    assert views_jobs.advice(job("done")) == ""


def test_a_lost_attempt_knows_that_it_was_taken_again():
    lost, done = views_jobs.views([job("done", attempt=2), job("lost")], {})[::-1]
    assert (lost.tag.word, done.tag.word) == ("Lost, taken again", "Done")
    assert "Nothing was done twice." in lost.sentence
    assert views_jobs.tag("lost").word == "Lost"


def test_what_the_server_said_is_told():
    assert views_jobs.sentence(job("cancelled", note="cancelled on the server")) == "Cancelled on the server."
    noted = job("done", result=result(GOOD), note="the server has moved on")
    assert views_jobs.sentence(noted).endswith("(the server has moved on)")
    assert views_jobs.sentence(job("lost", note="claimed again on the server")).startswith("Claimed again")


def test_an_end_that_the_server_does_not_know_yet_says_so():
    assert "has not taken the report yet" in views_jobs.sentence(job("failed", error="No.", reported=False))
    assert "has not taken" not in views_jobs.sentence(job("lost", reported=False))


# ---- libraries


def library(**more: Any) -> dict[str, Any]:
    return {
        "library_id": 1,
        "name": "Books",
        "root": "/srv/books",
        "path": "/srv/books",
        "mapped": False,
        "ok": True,
        "readable": True,
        "writable": True,
        "checked_at": at(-5),
        "files_checked": 5,
        "files_matched": 5,
        "deepest_existing": "/srv/books",
        "proposals": [],
        **more,
    }


def test_a_library_that_is_seen_says_what_speaks_for_it():
    row = views_libraries.row(library())
    assert (row.tag.word, row.sentence) == ("Seen", "5 of 5 sample files match; the folder can be written.")
    assert "can only be read" in views_libraries.row(library(writable=False)).sentence
    assert "no book to compare" in views_libraries.row(library(files_checked=0, files_matched=0)).sentence


def test_one_that_is_not_seen_leads_to_what_exists_and_to_proposals():
    proposals = [{"path": "/b", "matched": 2, "of": 5}, {"path": "/a", "matched": 5, "of": 5}]
    row = views_libraries.row(
        library(
            ok=False,
            readable=False,
            error="Nothing there; mend it.",
            deepest_existing="/srv",
            proposals=proposals,
        )
    )
    assert (row.tag.word, row.sentence, row.deepest) == ("Not seen", "Nothing there; mend it.", "/srv")
    assert row.best is not None
    assert (row.best.path, row.best.evidence) == ("/a", "5 of 5 files match")
    assert [p.strong for p in row.proposals] == [False, True]


def test_the_other_states_of_a_library():
    assert views_libraries.row(library(checked_at=None, ok=False)).tag.word == "Not checked yet"
    assert views_libraries.row(library(checking=True)).tag.word == "Checking"
    differs = views_libraries.row(library(ok=False, files_matched=2))
    assert (differs.tag.word, differs.sentence[:12]) == ("Differs", "Only 2 of 5 ")
    assert "Nothing can be read" in views_libraries.row(library(ok=False, readable=False)).sentence


def test_the_first_sentence_names_those_that_are_missing():
    missing = [views_libraries.row(library(name=name, ok=False)) for name in ("A", "B", "C", "D")]
    assert views_libraries.head(missing[:1])[1] == "A isn’t seen here."
    assert views_libraries.head(missing[:2])[1] == "A and B aren’t seen here."
    assert views_libraries.head(missing[:3])[1] == "A, B and C aren’t seen here."
    assert views_libraries.head(missing)[1] == "4 libraries aren’t seen here."
    seen = views_libraries.row(library())
    assert views_libraries.head([seen])[1] == "The library is seen from here."
    assert views_libraries.head([seen, seen])[1] == "All libraries are seen from here."
    assert views_libraries.head([views_libraries.row(library(checked_at=None))])[0] == "off"
    assert views_libraries.head([])[1] == "The server has no library yet."


# ---- settings


def test_each_setting_says_its_value_and_where_it_came_from(tmp_path: Path):
    (tmp_path / "bridge.toml").write_text('allowed_hosts = ["nas.lan", "box"]\n', encoding="utf-8")
    settings = BridgeSettings.load(
        {"BRIDGE_HEARTBEAT_SECONDS": "20", "BRIDGE_PAGE_PASSWORD": "correct horse"},
        {"listen": "127.0.0.1:1"},
        tmp_path,
    )
    rows = {row.name: row for row in views_settings.rows(settings)}
    assert (rows["listen"].value, rows["listen"].tag.word) == ("127.0.0.1:1", "command line")
    assert (rows["heartbeat_seconds"].value, rows["heartbeat_seconds"].tag.word) == ("20 s", "environment")
    assert "BRIDGE_HEARTBEAT_SECONDS" in rows["heartbeat_seconds"].how
    assert (rows["allowed_hosts"].value, rows["allowed_hosts"].tag.word) == ("nas.lan, box", "bridge.toml")
    assert (rows["name"].value, rows["name"].tag.word, rows["name"].how) == ("not set", "default", "")
    assert rows["page_password"].value == "set, and not shown"
    assert rows["pair_code"].value == "not set"
    assert rows["data_dir"].value == str(tmp_path)
    assert "correct horse" not in str(rows)


# ---- times and links


@pytest.mark.parametrize(
    ("seconds", "length"),
    [
        (0, "1 second"),
        (59, "59 seconds"),
        (60, "1 minute"),
        (7199, "1 hour"),
        (7200, "2 hours"),
        (200_000, "2 days"),
    ],
)
def test_a_length_of_time_has_one_unit(seconds: float, length: str):
    assert views_times.length(seconds) == length


def test_moments_are_told_by_what_is_near():
    assert views_times.ago(2) == "just now"
    assert views_times.ago(-5) == "just now"
    assert views_times.ago(61) == "1 minute ago"
    assert views_times.still(0.5) == "any moment now"
    assert views_times.still(90) == "in 1 minute"
    assert len(views_times.at(NOW, NOW)) == 5
    assert views_times.at(NOW - timedelta(days=400), NOW).startswith("30 March 2025, ")
    assert "2026" not in views_times.at(NOW - timedelta(days=3), NOW)
    assert views_times.moment_of("nonsense") is None


@given(st.text())
def test_no_text_leads_out_of_this_site(text: str):
    path = local_path(text)
    assert path.startswith("/")
    assert not path.startswith(("//", "/\\"))
    assert "\n" not in path


def test_a_path_of_this_site_is_kept():
    assert local_path("/jobs/a/7") == "/jobs/a/7"
    assert local_path("/login") == "/"
