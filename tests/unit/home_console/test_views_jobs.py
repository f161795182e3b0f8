"""What the console says of a job, in every state."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge_agent.home.console.results import compared_files, result_line
from bridge_agent.home.console.views_jobs import job_view, jobs_sentence
from bridge_agent.protocol.states import JobState

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
ONLINE = {"paired": True, "online": True}
OFFLINE = {"paired": True, "online": False}
UNPAIRED = {"paired": False, "online": False}
LIBRARIES = {1: "Audiobooks"}
GOOD = {
    "library_id": 1,
    "mount_path": "/mnt/books",
    "path": "Aesop/Three Fables",
    "files": [{"path": "Aesop/Three Fables/a.mp3", "size": 5, "expected_size": 5, "ok": True}],
    "writable": True,
    "elapsed_ms": 412,
}


def job(state="queued", **more):
    return {
        "id": 7,
        "kind": "bridge.verify",
        "library_id": 1,
        "path": "Aesop/Three Fables",
        "params": {},
        "state": state,
        "priority": 0,
        "attempts": 0,
        "lease_expires_at": None,
        "cancel_requested": False,
        "progress": None,
        "result": None,
        "error": None,
        "created_at": "2026-01-01T11:00:00.000Z",
        "updated_at": "2026-01-01T11:00:00.000Z",
        "finished_at": None,
        **more,
    }


def view(state="queued", bridge=ONLINE, **more):
    return job_view(job(state, **more), LIBRARIES, bridge, NOW)


@pytest.mark.parametrize(
    ("bridge", "line"),
    [
        (UNPAIRED, "Waiting, for a Bridge to be paired."),
        (OFFLINE, "Waiting, for the Bridge to be online."),
        (ONLINE, "Waiting, for a free place on the Bridge."),
    ],
)
def test_a_waiting_job_says_what_it_waits_for(bridge, line):
    seen = view("queued", bridge)
    assert seen.line == line
    assert (seen.tag.word, seen.can_cancel, seen.can_go_on) == ("Waiting", True, False)


def test_a_job_whose_attempt_lapsed_says_so():
    assert view("queued", attempts=2).line.startswith("The Bridge stopped reporting on attempt 2;")


def test_a_running_job_tells_its_step_with_figures():
    seen = view(
        "running", progress={"step": "stat", "message": "Comparing the files", "done": 3, "total": 19}
    )
    assert seen.line == "Comparing the files"
    assert seen.bar.figures == ("15 %", "3 of 19")
    assert seen.bar.percent == 15


def test_figures_of_a_hold_are_spoken_as_time():
    seen = view(
        "running", progress={"step": "hold", "message": "Holding, as asked", "done": 90, "total": 600}
    )
    assert seen.bar.figures == ("15 %", "1 min 30 of 10 min 00")


def test_a_running_job_without_figures_only_shows_that_it_is_at_work():
    assert view("running", progress={"step": "lookup", "message": "Asking"}).bar.percent is None
    assert view("running").line == "The Bridge is at work on it."


@pytest.mark.requirement("R-076")
@pytest.mark.parametrize("state", ["claimed", "running"])
def test_a_job_asked_to_stop_is_still_stopping_and_has_no_second_cancel(state):
    seen = view(state, cancel_requested=True, progress={"step": "hold", "message": "Holding, as asked"})
    assert seen.tag.word == "Stopping"
    assert seen.line.startswith("Still stopping")
    assert not seen.can_cancel
    assert "runs out" in view(state, OFFLINE, cancel_requested=True).line


def test_a_job_that_needs_attention_says_what_to_do():
    seen = view("needs_attention", error="The disk is full; free some space.")
    assert seen.line == "The disk is full; free some space."
    assert "goes on by itself" in seen.advice
    assert seen.tag.word == "Needs you"


@pytest.mark.requirement("R-109")
def test_a_verified_book_is_one_line_with_match_writable_time_and_place():
    assert view("done", result=GOOD).line == (
        "1 of 1 file matches · the folder can be written · took 0.4 s · "
        "looked in /mnt/books/Aesop/Three Fables"
    )
    assert '"elapsed_ms": 412' in view("done", result=GOOD).raw


@pytest.mark.requirement("R-109")
def test_a_folder_that_refuses_writes_says_why():
    line = result_line("bridge.verify", {**GOOD, "writable": False, "writable_error": "permission denied"})
    assert "the folder can’t be written (permission denied)" in line


@pytest.mark.requirement("R-108", "R-109")
def test_a_failed_verify_names_the_files_that_differ_and_offers_to_go_on():
    files = [
        {"path": "A/1.mp3", "size": 0, "expected_size": 9, "ok": False, "error": "not found here"},
        {"path": "A/2.mp3", "size": 9, "expected_size": 9, "ok": True},
    ]
    seen = view(
        "failed", error="1 of 2 files does not match", result={**GOOD, "files": files, "writable": False}
    )
    assert seen.line.startswith("1 of 2 files does not match. 1 of 2 files match (“1.mp3”: not found here)")
    assert "written" not in seen.line
    assert seen.can_go_on
    assert not seen.can_cancel
    assert "Go on" in seen.advice
    assert [file.tag.word for file in compared_files("bridge.verify", {"files": files})] == [
        "Differs",
        "Matches",
    ]


def test_many_differing_files_are_counted_not_listed():
    wrong = [{"path": f"A/{n}.mp3", "ok": False, "error": "not found here"} for n in range(9)]
    assert "; and 7 more)" in result_line("bridge.verify", {**GOOD, "files": wrong})


def test_a_cancelled_job_says_how_far_it_had_come():
    done = view("cancelled", progress={"step": "hold", "message": "Holding, as asked"})
    assert done.line == "Cancelled; it had come to: Holding, as asked."
    assert view("cancelled").line == "Cancelled before it began."


def test_a_transcription_is_told_in_one_line():
    result = {
        "duration_seconds": 115.2,
        "seconds_spent": 9.4,
        "words": 340,
        "engine": {"model": "base"},
        "gaps": [{"start": 1, "end": 2, "reason": "damaged"}],
    }
    assert result_line("transcribe.book", result) == (
        "1 min 55 transcribed in 9.4 s · 340 words · model base · 1 gap where nothing could be heard"
    )


@pytest.mark.parametrize(
    ("counts", "sentence"),
    [
        ({}, "Nothing is running."),
        ({"running": 1, "claimed": 1, "queued": 3}, "2 jobs are running."),
        ({"queued": 1}, "1 job is waiting."),
        ({"needs_attention": 1, "running": 4}, "1 job needs you."),
    ],
)
def test_the_list_begins_with_a_sentence(counts, sentence):
    assert jobs_sentence(counts).sentence == sentence


junk = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "files",
                    "ok",
                    "path",
                    "error",
                    "elapsed_ms",
                    "writable",
                    "done",
                    "total",
                    "message",
                    "engine",
                    "gaps",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(state=st.sampled_from(list(JobState)), progress=junk, result=junk, cancel=st.booleans())
def test_whatever_a_bridge_reports_a_page_can_be_made_of_it(state, progress, result, cancel):
    for kind in ("bridge.verify", "transcribe.book", "other.kind"):
        seen = job_view(
            job(state, kind=kind, progress=progress, result=result, cancel_requested=cancel),
            LIBRARIES,
            ONLINE,
            NOW,
        )
        assert seen.line
        assert isinstance(compared_files(kind, result), list)


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({}, None),
        ({"hold_seconds": 15}, "hold seconds 15"),
        ({"language": "en", "again": True}, "language en, again true"),
    ],
)
def test_what_was_asked_for_is_said_in_words(params, said):
    assert view(params=params).params == said
