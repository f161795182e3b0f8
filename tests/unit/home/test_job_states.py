"""The states three times: the enum, the table of what may follow, the schema's checks."""

import re
import sqlite3

import pytest

from bridge_agent.protocol.states import ENDED, FOLLOWS, HELD, OPEN, REPORTABLE, JobState
from bridge_agent.store import Queries
from tests.unit.home.store import NOW, open_store

SQL = Queries("bridge_agent.home", "bridge_jobs.sql")


def put(connection: sqlite3.Connection, state: str) -> None:
    held, ended = state in HELD, state in ENDED
    connection.execute(
        "INSERT INTO bridge_jobs (kind, library_id, path, params, state, attempts, tries, lease_expires_at,"
        " lease_deadline, created_at, updated_at, finished_at)"
        " VALUES ('k.a', 1, ?, '{}', ?, 1, 1, ?, ?, ?, ?, ?)",
        (state, state, NOW if held else None, 1.0 if held else None, NOW, NOW, NOW if ended else None),
    )


def test_the_schema_takes_exactly_the_states_of_the_enum():
    connection = open_store()
    for state in JobState:
        put(connection, state.value)
    with pytest.raises(sqlite3.IntegrityError):
        put(connection, "lost")
    with pytest.raises(sqlite3.IntegrityError):
        put(connection, "Queued")


@pytest.mark.parametrize("state", JobState)
def test_a_lease_stands_beside_held_states_alone_and_an_end_beside_ended_ones(state: JobState):
    connection = open_store()
    put(connection, state.value)
    held, ended = state in HELD, state in ENDED
    wrong = {
        "lease_deadline = NULL, lease_expires_at = NULL"
        if held
        else "lease_deadline = 1, lease_expires_at = ''",
        "finished_at = NULL" if ended else f"finished_at = '{NOW}'",
        "lease_expires_at = NULL" if held else "lease_expires_at = ''",
    }
    for change in wrong:
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute(f"UPDATE bridge_jobs SET {change}")


def test_the_open_ones_of_the_schemas_index_are_the_open_ones_of_the_table():
    connection = open_store()
    [(sql,)] = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'bridge_jobs_open'").fetchall()
    assert set(re.findall(r"'(\w+)'", sql)) == {state.value for state in OPEN}


def allowed_from(state: JobState) -> set[str]:
    """Return the states into which the statements take a job of this state."""
    into = set()
    for statement in ("claim", "give_back", "cancel", "sweep", *(f"report:{s}" for s in JobState)):
        name, _, reported = statement.partition(":")
        for asked in (0, 1):
            for tries in (1, 3):
                into.add(_after(state, name, reported, asked, tries))
    return into - {state.value, None}


def _after(state: JobState, name: str, reported: str, asked: int, tries: int) -> str | None:
    connection = open_store()
    put(connection, state.value)
    connection.execute("UPDATE bridge_jobs SET cancel_requested = ?, attempts = 3, tries = ?", (asked, tries))
    values = {
        "id": 1,
        "attempt": 3,
        "now": NOW,
        "kinds": '["k.a"]',
        "claim_id": None,
        "expires_at": NOW,
        "deadline": 5.0,
        "due": 9.0,
        "most": 3,
        "stopped_reporting": "x",
        "state": reported,
        "ends": reported in ENDED,
        "progress": None,
        "result": None,
        "error": None,
    }
    if reported and reported not in REPORTABLE:
        return None
    row = connection.execute(SQL[name], values).fetchone()
    return None if row is None else row["state"]


@pytest.mark.parametrize("state", JobState)
def test_the_statements_take_a_job_where_the_table_says_it_may_go_and_nowhere_else(state: JobState):
    assert allowed_from(state) == {follower.value for follower in FOLLOWS[state]} - {state.value}
