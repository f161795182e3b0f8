"""SQLite for every room: one file, one writer, whole units, named queries, migrations, the lock."""

from bridge_agent.store.database import (
    Database,
    InlineDatabase,
    ThreadedDatabase,
    Unit,
    open_database,
)
from bridge_agent.store.lock import FolderLock
from bridge_agent.store.queries import Queries

__all__ = [
    "Database",
    "FolderLock",
    "InlineDatabase",
    "Queries",
    "ThreadedDatabase",
    "Unit",
    "open_database",
]
