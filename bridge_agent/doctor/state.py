"""What the data folder says about this Bridge, read without disturbing one that runs."""

import sqlite3
import urllib.parse
from dataclasses import dataclass, field
from pathlib import Path

from bridge_agent.link import record
from bridge_agent.link.record import Pairing
from bridge_agent.mapping import rows
from bridge_agent.mapping.rows import Kept

DATABASE = "bridge.sqlite3"


@dataclass(frozen=True)
class State:
    """The pairing and the mappings as they are kept; empty before the first start."""

    pairing: Pairing | None = None
    kept: Kept = field(default_factory=Kept)


def read(data_dir: Path) -> State:
    """Read the store; raises sqlite3.Error for one that can't be read, ValueError for what is damaged in it.

    Blocks. Opened for reading alone: such a connection never checkpoints, so a running Bridge is undisturbed.
    """
    path = data_dir / DATABASE
    if not path.is_file():
        return State()
    connection = sqlite3.connect(f"file:{urllib.parse.quote(path.as_posix())}?mode=ro", uri=True, timeout=2)
    try:
        connection.row_factory = sqlite3.Row
        if connection.execute("PRAGMA user_version").fetchone()[0] == 0:
            return State()
        pairing = record.load(connection)
        return State(pairing, Kept() if pairing is None else rows.load(connection, pairing.server_id))
    finally:
        connection.close()
