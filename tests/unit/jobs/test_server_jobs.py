"""The rows: each transition once, whoever comes second; history page by page."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge_agent.base.clock import later, to_text
from bridge_agent.jobs import claim_ids, server_jobs
from bridge_agent.jobs.server_jobs import BadCursor, Cursor, End, Key
from bridge_agent.protocol.bridge import ClaimedJob, Progress
from bridge_agent.protocol.states import RUN_OPEN, RunState
from bridge_agent.store import migrations
from bridge_agent.store.database import configure
from tests.fakes.clock import FakeClock

SCHEMA = "bridge_agent.store.bridge_schema"
NOW = "2026-01-01T00:00:00.000Z"
DONE = End(state=RunState.DONE, result={"ok": True})


def opened(path: Path | str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    configure(connection, "FULL", writing=True)
    migrations.apply(connection, SCHEMA)
    return connection


@pytest.fixture
def c(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    connection = opened(tmp_path / "bridge.sqlite3")
    yield connection
    connection.close()


def claimed(id: int = 1, attempt: int = 1, kind: str = "bridge.verify") -> ClaimedJob:
    return ClaimedJob(
        id=id,
        attempt=attempt,
        kind=kind,
        library_id=1,
        path="A/Book",
        params={"hold_seconds": 2},
        lease_expires_at=NOW,
    )


@pytest.mark.requirement("R-050")
def test_a_claim_is_a_row_of_its_server_job_and_attempt(c: sqlite3.Connection):
    row = server_jobs.begin(c, "s", claimed(), NOW).row
    assert row is not None
    assert row.wire() == {
        "server_id": "s",
        "job_id": 1,
        "attempt": 1,
        "kind": "bridge.verify",
        "library_id": 1,
        "path": "A/Book",
        "params": {"hold_seconds": 2},
        "state": "running",
        "progress": None,
        "result": None,
        "error": None,
        "reported": False,
        "note": None,
        "claimed_at": NOW,
        "started_at": NOW,
        "finished_at": None,
    }


def test_a_claim_that_is_written_down_already_is_not_begun_twice(c: sqlite3.Connection):
    server_jobs.begin(c, "s", claimed(), NOW)
    assert server_jobs.begin(c, "s", claimed(), NOW).row is None
    server_jobs.finish(c, Key("s", 1, 1), DONE, None, NOW)
    assert server_jobs.begin(c, "s", claimed(), NOW).row is None
    server_jobs.close_report(c, Key("s", 1, 1), None)
    again = server_jobs.begin(c, "s", claimed(), NOW).row
    assert again is not None
    assert (again.state, again.result, again.reported, again.finished_at) == ("running", None, False, None)


def test_a_claim_that_was_given_up_as_lost_is_begun_anew_when_the_server_gives_it_again(
    c: sqlite3.Connection,
):
    server_jobs.begin(c, "s", claimed(), NOW)
    server_jobs.finish(c, Key("s", 1, 1), End(state=RunState.LOST, note="gone"), None, NOW)
    again = server_jobs.begin(c, "s", claimed(), NOW).row
    assert again is not None
    assert (again.state, again.note) == ("running", None)


def test_a_later_attempt_makes_the_earlier_ones_lost(c: sqlite3.Connection):
    server_jobs.begin(c, "s", claimed(attempt=1), NOW)
    server_jobs.begin(c, "s", claimed(id=2, attempt=1), NOW)
    begun = server_jobs.begin(c, "s", claimed(attempt=2), NOW)
    assert [(row.key, row.state) for row in begun.outdated] == [(Key("s", 1, 1), "lost")]
    assert {row.key for row in server_jobs.all_open(c)} == {Key("s", 2, 1), Key("s", 1, 2)}


def test_only_the_first_of_two_ends_counts(c: sqlite3.Connection):
    key = Key("s", 1, 1)
    server_jobs.begin(c, "s", claimed(), NOW)
    first = server_jobs.finish(c, key, DONE, Progress(step="hold", message="Holding"), NOW)
    assert first is not None
    assert first.progress == {"step": "hold", "message": "Holding"}
    assert server_jobs.finish(c, key, End(state=RunState.CANCELLED), None, NOW) is None
    assert server_jobs.move(c, key, RunState.ASIDE) is None
    assert server_jobs.attempts(c, "s", 1)[0].result == {"ok": True}
    assert server_jobs.close_report(c, key, None) is not None
    assert server_jobs.close_report(c, key, "again") is None


def test_no_transition_touches_another_attempt(c: sqlite3.Connection):
    server_jobs.begin(c, "s", claimed(), NOW)
    for other in (Key("s", 1, 2), Key("s", 2, 1), Key("other", 1, 1)):
        assert server_jobs.finish(c, other, DONE, None, NOW) is None
        assert server_jobs.move(c, other, RunState.ASIDE) is None
    assert server_jobs.all_open(c)[0].state == "running"


@pytest.mark.requirement("R-089")
def test_pairing_with_a_server_loses_what_others_gave_and_says_why_their_reports_wait(
    c: sqlite3.Connection,
):
    for server in ("old", "new"):
        for number in (1, 2):
            server_jobs.begin(c, server, claimed(id=number), NOW)
    server_jobs.finish(c, Key("old", 2, 1), DONE, None, NOW)
    changed = server_jobs.pair_with(c, "new", NOW)
    assert [(row.key.job_id, row.state, row.note) for row in changed] == [
        (1, "lost", "this Bridge was paired with another server"),
        (2, "done", "its server is no longer paired"),
    ]
    assert [row.key.server_id for row in server_jobs.all_open(c)] == ["new", "new"]
    assert server_jobs.unreported_of(c, "new") == []
    assert [row.key for row in server_jobs.unreported_of(c, "old")] == [Key("old", 2, 1)]


def test_history_goes_newest_first_piece_by_piece_without_a_gap(c: sqlite3.Connection, clock: FakeClock):
    for number in range(1, 24):
        # Several in one millisecond: the order is total all the same.
        at = to_text(later(clock.now(), number // 5))
        server_jobs.begin(c, "s", claimed(id=number), at)
    found: list[int] = []
    before: Cursor | None = None
    while True:
        rows, before = server_jobs.history(c, None, before, 4)
        found += [row.key.job_id for row in rows]
        if before is None:
            break
        before = Cursor.parse(str(before))
    assert found == list(range(23, 0, -1))


def test_history_by_state_and_by_a_bare_time(c: sqlite3.Connection, clock: FakeClock):
    moments = [to_text(later(clock.now(), n)) for n in range(4)]
    for number, moment in enumerate(moments, 1):
        server_jobs.begin(c, "s", claimed(id=number), moment)
    server_jobs.finish(c, Key("s", 2, 1), DONE, None, NOW)
    rows, following = server_jobs.history(c, RunState.DONE, None, 10)
    assert [row.key.job_id for row in rows] == [2]
    assert following is None
    rows, _ = server_jobs.history(c, None, Cursor.parse(moments[2]), 10)
    assert [row.key.job_id for row in rows] == [2, 1]


@pytest.mark.parametrize("text", ["", "yesterday", "1", f"{NOW}~1", f"{NOW}~a~b~c", "~1~1~s"])
def test_a_cursor_that_is_none_is_refused(text: str):
    with pytest.raises(BadCursor):
        Cursor.parse(text)


def test_forgetting_keeps_what_is_open_unanswered_or_new(c: sqlite3.Connection, clock: FakeClock):
    old, new = to_text(clock.now()), to_text(later(clock.now(), 1000))
    for number in range(1, 7):
        server_jobs.begin(c, "s", claimed(id=number), old if number < 5 else new)
    for number, end in ((1, DONE), (2, DONE), (3, End(state=RunState.LOST)), (5, DONE)):
        server_jobs.finish(c, Key("s", number, 1), end, None, old if number < 5 else new)
    for number in (1, 5):
        server_jobs.close_report(c, Key("s", number, 1), None)
    assert server_jobs.forget(c, before=new, keep=100) == 2
    assert sorted(row.key.job_id for row in server_jobs.history(c, None, None, 99)[0]) == [2, 4, 5, 6]
    assert server_jobs.forget(c, before=old, keep=1) == 1
    assert sorted(row.key.job_id for row in server_jobs.history(c, None, None, 99)[0]) == [2, 4, 6]


def test_a_claim_id_is_kept_for_its_server_alone(c: sqlite3.Connection):
    assert claim_ids.kept(c, "s") is None
    claim_ids.keep(c, "s", "first")
    claim_ids.keep(c, "s", "second")
    assert claim_ids.kept(c, "s") == "second"
    assert claim_ids.kept(c, "other") is None
    claim_ids.drop(c)
    assert claim_ids.kept(c, "s") is None


KEYS = st.builds(Key, st.sampled_from(["s", "t"]), st.integers(1, 2), st.integers(1, 3))
ENDS = st.sampled_from(
    [
        DONE,
        End(state=RunState.FAILED, error="No."),
        End(state=RunState.CANCELLED, reported=True),
        End(state=RunState.LOST),
    ]
)
MOVES = st.one_of(
    st.tuples(st.just("begin"), KEYS),
    st.tuples(st.just("finish"), KEYS, ENDS),
    st.tuples(st.just("move"), KEYS, st.sampled_from(sorted(RUN_OPEN))),
    st.tuples(st.just("close"), KEYS),
    st.tuples(st.just("aside")),
    st.tuples(st.just("pair"), st.sampled_from(["s", "t"])),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(MOVES, max_size=30))
def test_whatever_happens_a_job_has_one_open_attempt_and_an_end_stays(steps: list[tuple[object, ...]]):
    c = opened(":memory:")
    ends: dict[Key, tuple[str, object]] = {}
    for step in steps:
        begun = take(c, step)
        if begun is not None:
            ends.pop(begun, None)
        rows = server_jobs.history(c, None, None, 99)[0]
        open_jobs = [row.key[:2] for row in rows if row.open]
        assert len(open_jobs) == len(set(open_jobs))
        for row in rows:
            assert row.open is (row.finished_at is None)
            if not row.open:
                assert ends.setdefault(row.key, (row.state, row.result)) == (row.state, row.result)
            else:
                assert row.key not in ends
    c.close()


def take(c: sqlite3.Connection, step: tuple[object, ...]) -> Key | None:
    """Take one step; return the claim that it began, if it did."""
    match step:
        case ("begin", Key() as key):
            attempts = [row.key.attempt for row in server_jobs.attempts(c, key.server_id, key.job_id)]
            if max(attempts, default=0) > key.attempt:
                return None  # Attempts never go down.
            begun = server_jobs.begin(c, key.server_id, claimed(key.job_id, key.attempt), NOW)
            return None if begun.row is None else key
        case ("finish", Key() as key, End() as end):
            server_jobs.finish(c, key, end, None, NOW)
        case ("move", Key() as key, RunState() as state):
            server_jobs.move(c, key, state)
        case ("close", Key() as key):
            server_jobs.close_report(c, key, None)
        case ("aside",):
            server_jobs.put_all_aside(c)
        case ("pair", str() as server):
            server_jobs.pair_with(c, server, NOW)
    return None


@pytest.mark.parametrize("number", ["9" * 30, "-1" * 20])
def test_a_place_with_a_number_beyond_the_store_is_no_place(number: str):
    with pytest.raises(BadCursor):
        Cursor.parse(f"2026-01-01T00:00:00.000Z~{number}~1~server")
