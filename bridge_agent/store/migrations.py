"""Migrations: numbered .sql files of a package, applied once each, in order, each in one transaction."""

import re
import sqlite3
from importlib import resources

from bridge_agent.base.errors import BridgeError

_NAME = re.compile(r"^(\d{4})_[a-z0-9_]+\.sql$")


class NewerStore(BridgeError):
    """This data folder was written by a newer version of the program; install that version again."""

    code = "newer_store"


def read(package: str) -> list[tuple[int, str]]:
    """Return (number, script) of a package's migrations in order; names are `0001_what.sql`."""
    found = []
    for entry in resources.files(package).iterdir():
        if match := _NAME.match(entry.name):
            found.append((int(match[1]), entry.read_text(encoding="utf-8")))
    return sorted(found)


def apply(connection: sqlite3.Connection, package: str) -> int:
    """Bring a file to the newest schema and return its number.

    Raises NewerStore when the file is newer than this program.
    """
    steps = read(package)
    present = int(connection.execute("PRAGMA user_version").fetchone()[0])
    newest = steps[-1][0] if steps else 0
    if present > newest:
        raise NewerStore
    for number, script in steps:
        if number > present:
            # executescript commits what is open and runs in autocommit: the frame makes it one unit.
            connection.executescript(f"BEGIN IMMEDIATE;\n{script}\nPRAGMA user_version={number};\nCOMMIT;")
    return newest
