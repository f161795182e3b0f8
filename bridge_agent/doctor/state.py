"""What the data folder says about this Bridge, read without disturbing one that runs."""

import sqlite3
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from bridge_agent.link import record
from bridge_agent.link.record import Pairing
from bridge_agent.mapping import rows
from bridge_agent.mapping.rows import Kept
from bridge_agent.worker_api import tokens

DATABASE = "bridge.sqlite3"

T = TypeVar("T")


@dataclass(frozen=True)
class State:
    """The pairing and the mappings as they are kept; empty before the first start."""

    pairing: Pairing | None = None
    kept: Kept = field(default_factory=Kept)
    workers_invited: bool = False


@dataclass(frozen=True)
class Running:
    """A Bridge that runs on the data folder: where its page answers, and why workers can't reach it."""

    url: str
    workers_problem: str | None = None


def read(data_dir: Path) -> State:
    """Read the store; raises sqlite3.Error for one that can't be read, ValueError for what is damaged in it.

    Blocks. Opened for reading alone: such a connection never checkpoints, so a running Bridge is undisturbed.
    """
    state = _look(data_dir / DATABASE, _state) or State()
    try:
        invited = _look(data_dir / tokens.DATABASE, tokens.any_invited) or False
    except sqlite3.Error:
        # The Bridge keeps a damaged file aside at its start, and then nobody is invited.
        invited = False
    return replace(state, workers_invited=invited)


def _state(connection: sqlite3.Connection) -> State:
    pairing = record.load(connection)
    return State(pairing, Kept() if pairing is None else rows.load(connection, pairing.server_id))


def _look(path: Path, reading: Callable[[sqlite3.Connection], T]) -> T | None:
    """Read a store; None where it is not there, or has nothing in it yet."""
    if not path.is_file():
        return None
    connection = sqlite3.connect(f"file:{urllib.parse.quote(path.as_posix())}?mode=ro", uri=True, timeout=2)
    try:
        connection.row_factory = sqlite3.Row
        if connection.execute("PRAGMA user_version").fetchone()[0] == 0:
            return None
        return reading(connection)
    finally:
        connection.close()
