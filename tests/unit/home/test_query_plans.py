"""What a claim, a sweep and a list cost must not grow with the jobs that have ended."""

import json

import pytest

from bridge_agent.store import Queries
from tests.unit.home.store import NOW, add_job, open_store

JOBS = Queries("bridge_agent.home", "bridge_jobs.sql")
CREDENTIALS = Queries("bridge_agent.home", "credentials.sql")

VALUES = {
    "claim_id": "x",
    "expires_at": NOW,
    "deadline": 1.0,
    "now": NOW,
    "kinds": json.dumps(["k.a"]),
    "due": 1.0,
    "most": 3,
    "stopped_reporting": "x",
    "before": 99,
    "kind": None,
    "library_id": 1,
    "limit": 10,
    "state": "failed",
    "path": "x",
    "old": "x",
    "new": "y",
    "why": "",
    "hash": "x",
}


def plan(statement: str, statistics: bool = True) -> str:
    """Return SQLite's plan of a statement, over a store with statistics of many ended jobs."""
    connection = open_store()
    for number in range(300):
        add_job(connection, f"Book {number}")
    connection.execute("UPDATE bridge_jobs SET state = 'done', finished_at = ? WHERE id > 3", (NOW,))
    if statistics:
        connection.execute("ANALYZE")
    rows = connection.execute(f"EXPLAIN QUERY PLAN {statement}", VALUES).fetchall()
    connection.close()
    return "\n".join(row["detail"] for row in rows)


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("claim", "bridge_jobs_queue"),
        ("claim_again", "bridge_jobs_claims"),
        ("sweep", "bridge_jobs_leases"),
        ("earliest", "bridge_jobs_leases"),
        ("held", "bridge_jobs_leases"),
        ("open_one", "bridge_jobs_open"),
        ("newest_in_state", "bridge_jobs_by_state"),
        ("newest", "INTEGER PRIMARY KEY"),
        ("follow_move", "bridge_jobs_by_book"),
        ("libraries", "bridge_jobs_by_book"),
    ],
)
def test_each_statement_over_jobs_goes_by_its_index(name: str, index: str):
    found = plan(JOBS[name])
    assert index in found
    assert "TEMP B-TREE" not in found
    for line in found.splitlines():
        assert not line.startswith("SCAN bridge_jobs") or index in line or "queue" in line


def test_a_credential_is_found_by_its_hash():
    found = plan(CREDENTIALS["find"], statistics=False)
    assert "SCAN" not in found
