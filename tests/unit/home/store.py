"""A home.sqlite3 in one thread, with the little that jobs need to stand in it."""

import json
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bridge_agent.home.moment import Moment
from bridge_agent.store import migrations
from bridge_agent.store.database import configure

SCHEMA = "bridge_agent.home.schema"
TOKEN = "a" * 64
NOW = "2026-01-01T00:00:00.000Z"


def open_store(path: Path | str = ":memory:") -> sqlite3.Connection:
    """Open a file, bring it to the newest schema, pair a Bridge that runs two kinds."""
    connection = sqlite3.connect(path, isolation_level=None)
    configure(connection, "FULL", writing=True)
    migrations.apply(connection, SCHEMA)
    connection.execute(
        "INSERT OR IGNORE INTO users (id, username, password_hash, role, created_at)"
        " VALUES (1, 'a', 'x', 'admin', ?)",
        (NOW,),
    )
    connection.execute(
        "INSERT OR IGNORE INTO tokens (hash, kind, user_id, name, created_at)"
        " VALUES (?, 'bridge', 1, 'b', ?)",
        (TOKEN, NOW),
    )
    beat = json.dumps({"version": "1", "kinds": ["k.a", "k.b"]})
    connection.execute(
        "INSERT OR IGNORE INTO bridge_status (only, heartbeat, heartbeat_at, heartbeat_moment)"
        " VALUES (1, ?, ?, 0)",
        (beat, NOW),
    )
    return connection


def at(seconds: float) -> Moment:
    """Return the moment that many seconds after the beginning."""
    return Moment(datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds), 1000.0 + seconds)


def add_job(connection: sqlite3.Connection, path: str, kind: str = "k.a", priority: int = 0) -> int:
    """Queue a job; return its id."""
    row = connection.execute(
        "INSERT INTO bridge_jobs (kind, library_id, path, params, state, priority, created_at, updated_at)"
        " VALUES (?, 1, ?, '{}', 'queued', ?, ?, ?) RETURNING id",
        (kind, path, priority, NOW, NOW),
    ).fetchone()
    return int(row["id"])
