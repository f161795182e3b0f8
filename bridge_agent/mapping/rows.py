"""The rows of mappings and their checks: plain units over a connection."""

import sqlite3
from dataclasses import dataclass, field

from bridge_agent.mapping.views import Outcome
from bridge_agent.protocol.bridge import decode, encode
from bridge_agent.store import Queries

_sql = Queries("bridge_agent.mapping", "mappings.sql")


@dataclass
class Kept:
    """What is kept about one server's libraries, by their ids."""

    server_id: str | None = None
    paths: dict[int, str] = field(default_factory=dict)
    outcomes: dict[int, Outcome] = field(default_factory=dict)


def load(connection: sqlite3.Connection, server_id: str) -> Kept:
    """Return the mappings and last checks of a server's libraries."""
    paths = {row["library_id"]: row["path"] for row in connection.execute(_sql["mappings"], (server_id,))}
    rows = connection.execute(_sql["outcomes"], (server_id,))
    outcomes = [decode(row["outcome"].encode(), Outcome) for row in rows]
    return Kept(server_id, paths, {outcome.library_id: outcome for outcome in outcomes})


def set_path(connection: sqlite3.Connection, server_id: str, library_id: int, path: str) -> None:
    """Write where this machine sees a library."""
    connection.execute(_sql["set"], (server_id, library_id, path))


def clear_path(connection: sqlite3.Connection, server_id: str, library_id: int) -> None:
    """Forget where this machine sees a library."""
    connection.execute(_sql["clear"], (server_id, library_id))


def keep_outcome(connection: sqlite3.Connection, server_id: str, outcome: Outcome) -> None:
    """Write what a check found."""
    connection.execute(_sql["keep"], (server_id, outcome.library_id, encode(outcome).decode()))
