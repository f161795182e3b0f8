"""What is said to the server stays within its limits; a final report is the same at every try."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge_agent.jobs.handlers.base import Done, Failed
from bridge_agent.jobs.reports import (
    ended_elsewhere,
    ending,
    final_report,
    fitting_error,
    fitting_progress,
)
from bridge_agent.jobs.server_jobs import Key, Row
from bridge_agent.protocol.bridge import Progress, encode
from bridge_agent.protocol.states import JobState, RunState
from bridge_agent.protocol.text import RESULT_BYTES


@pytest.mark.requirement("R-066")
@given(st.text(max_size=3000), st.text(max_size=3000), st.text(max_size=3000))
def test_any_text_fits_as_valid_utf8(step: str, message: str, error: str):
    progress = fitting_progress(Progress(step=step, message=message))
    assert len(progress.step.encode()) <= 128
    assert len(progress.message.encode()) <= 1024
    assert len(fitting_error(error).encode()) <= 1024


def test_what_fits_is_left_as_it_is():
    told = Progress(step="hold", message="Holding, as asked", done=1, total=10)
    assert fitting_progress(told) == told
    assert fitting_error("One line.\nAnother.") == "One line.\nAnother."


@pytest.mark.requirement("R-066")
def test_the_largest_result_that_fits_is_done_and_a_byte_more_fails():
    room = RESULT_BYTES - len(encode({"text": ""}))
    assert ending(Done({"text": "x" * room})).state == RunState.DONE
    over = ending(Done({"text": "x" * (room + 1)}))
    assert over.state == RunState.FAILED
    assert over.result is None
    assert "262,145 bytes" in (over.error or "")


def test_a_failure_whose_findings_do_not_fit_keeps_its_own_sentence():
    end = ending(Failed("Two files differ.", {"text": "x" * RESULT_BYTES}))
    assert end.error is not None
    assert end.error.startswith("Two files differ. The result is larger")
    assert ending(Failed("No.", {"a": 1})).result == {"a": 1}


@pytest.mark.parametrize("state", [*JobState, None, "something new"])
def test_a_claim_that_ended_elsewhere_ends_here_whatever_is_told(state: str | None):
    end = ended_elsewhere(state)
    assert end.state in (RunState.LOST, RunState.CANCELLED, RunState.FAILED)
    assert end.note
    assert end.reported is (end.state is not RunState.LOST)


@pytest.mark.requirement("R-081")
def test_a_final_report_is_made_of_its_row_alone():
    row = Row(
        key=Key("s", 7, 3),
        kind="bridge.verify",
        library_id=1,
        path="A",
        params={},
        state=RunState.FAILED,
        progress={"step": "stat", "message": "Comparing the files", "done": 1, "total": 2.5},
        result={"files": []},
        error="One file differs.",
        reported=False,
        note=None,
        claimed_at="",
        started_at=None,
        finished_at="",
    )
    body = encode(final_report(row))
    assert body == (
        b'{"attempt":3,"state":"failed","progress":{"step":"stat","message":"Comparing the files",'
        b'"done":1,"total":2.5},"result":{"files":[]},"error":"One file differs."}'
    )
    assert encode(final_report(dataclasses.replace(row, note="something"))) == body
