"""The pairing as the store keeps it: one row, and the hash of a code that needs no second try."""

import hashlib
import sqlite3
from dataclasses import dataclass, replace

from bridge_agent.protocol import codes
from bridge_agent.protocol.bridge import Library, decode, encode
from bridge_agent.store import Queries

_sql = Queries("bridge_agent.link", "record.sql")


@dataclass(frozen=True)
class Pairing:
    """The one server that this Bridge is paired with; the token is in the vault, never here."""

    server_url: str
    server_id: str
    server_name: str
    paired_at: str
    libraries: tuple[Library, ...]

    def with_libraries(self, libraries: "list[Library]") -> "Pairing":
        """Return it with the libraries that the server lists now."""
        return replace(self, libraries=tuple(libraries))


def load(connection: sqlite3.Connection) -> Pairing | None:
    """Return the pairing, or None."""
    row = connection.execute(_sql["load"]).fetchone()
    if row is None:
        return None
    libraries = tuple(decode(row["libraries"].encode(), list[Library]))
    return Pairing(row["server_url"], row["server_id"], row["server_name"], row["paired_at"], libraries)


def save(connection: sqlite3.Connection, pairing: Pairing) -> None:
    """Write the pairing in place of an earlier one."""
    libraries = encode(list(pairing.libraries)).decode()
    connection.execute(
        _sql["save"],
        (pairing.server_url, pairing.server_id, pairing.server_name, pairing.paired_at, libraries),
    )


def save_libraries(connection: sqlite3.Connection, pairing: Pairing) -> None:
    """Write the libraries of that server's pairing; nothing when another one stands there by now."""
    libraries = encode(list(pairing.libraries)).decode()
    connection.execute(_sql["save_libraries"], (libraries, pairing.server_id))


def delete(connection: sqlite3.Connection) -> None:
    """Remove the pairing; harmless without one."""
    connection.execute(_sql["delete"])


def is_spent(connection: sqlite3.Connection, code: str) -> bool:
    """Tell whether this code of the environment was taken or refused before."""
    row = connection.execute(_sql["spent"]).fetchone()
    return row is not None and row["value"] == _hash(code)


def spend(connection: sqlite3.Connection, code: str) -> None:
    """Remember that this code needs no second try."""
    connection.execute(_sql["spend"], (_hash(code),))


def _hash(code: str) -> str:
    return hashlib.sha256((codes.normal(code) or code.strip()).encode()).hexdigest()
