"""The id of the poll that may have been answered: kept on disk, so that not even a crash strands its job.

Settled point 9: a poll that repeats an id gets the job that the id was answered with. A Bridge that dies
between the server's claim and its own row asks again with the same id at its next start.
"""

import sqlite3

from bridge_agent.store import Queries

SQL = Queries("bridge_agent.jobs", "claim_ids.sql")


def keep(c: sqlite3.Connection, server_id: str, claim_id: str) -> None:
    """Remember an id before it is sent."""
    c.execute(SQL["keep"], {"server_id": server_id, "claim_id": claim_id})


def kept(c: sqlite3.Connection, server_id: str) -> str | None:
    """Return the id that was last sent to a server and whose answer may have been lost."""
    found = c.execute(SQL["kept"], {"server_id": server_id}).fetchone()
    return None if found is None else str(found[0])


def drop(c: sqlite3.Connection) -> None:
    """Forget the id: its job is written down."""
    c.execute(SQL["drop"])
