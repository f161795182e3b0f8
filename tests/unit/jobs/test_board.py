"""The board shows open claims and the last ended ones, and tells of each change."""

import dataclasses
from typing import Any

import pytest

from bridge_agent.jobs.board import RECENT, Board
from bridge_agent.jobs.server_jobs import Key, Row
from bridge_agent.protocol.bridge import Progress
from bridge_agent.protocol.states import RunState


def row(job_id: int, state: RunState = RunState.RUNNING) -> Row:
    ended = state not in (RunState.RUNNING, RunState.NEEDS_ATTENTION, RunState.ASIDE)
    return Row(
        key=Key("s", job_id, 1),
        kind="bridge.verify",
        library_id=1,
        path="A",
        params={},
        state=state,
        progress=None,
        result=None,
        error=None,
        reported=False,
        note=None,
        claimed_at="",
        started_at="",
        finished_at="then" if ended else None,
    )


@pytest.fixture
def board() -> Board:
    board = Board()
    board.told = []  # type: ignore[attr-defined]
    board.on_change = board.told.append  # type: ignore[attr-defined]
    return board


def ids(jobs: list[dict[str, Any]]) -> list[int]:
    return [job["job_id"] for job in jobs]


def test_newest_first_in_both_lists(board: Board):
    board.load([row(1), row(2)], [row(4, RunState.DONE), row(3, RunState.LOST)])
    assert (ids(board.running()), ids(board.recent())) == ([2, 1], [4, 3])
    board.put(row(5))
    board.put(row(1, RunState.DONE))
    assert (ids(board.running()), ids(board.recent())) == ([5, 2], [1, 4, 3])


def test_being_answered_for_makes_an_ended_claim_no_newer(board: Board):
    board.load([], [row(4, RunState.DONE), row(3, RunState.DONE)])
    board.put(dataclasses.replace(row(3, RunState.DONE), reported=True))
    assert ids(board.recent()) == [4, 3]
    assert board.recent()[1]["reported"] is True


def test_only_the_last_ended_are_kept(board: Board):
    for number in range(RECENT + 5):
        board.put(row(number, RunState.DONE))
    assert ids(board.recent()) == list(range(RECENT + 4, 4, -1))


def test_progress_is_shown_without_being_stored_and_only_of_what_is_open(board: Board):
    board.put(row(1))
    board.progress(Key("s", 1, 1), Progress(step="stat", message="Comparing", done=1, total=2))
    board.progress(Key("s", 9, 1), Progress(step="stat", message="Comparing"))
    told = board.told  # type: ignore[attr-defined]
    assert len(told) == 2
    shown = {"step": "stat", "message": "Comparing", "done": 1, "total": 2}
    assert told[-1]["progress"] == board.live(row(1)).progress == shown
    board.put(row(1, RunState.DONE))
    assert board.live(row(1, RunState.DONE)).progress is None
