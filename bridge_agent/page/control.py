"""How this machine's command line finds a running Bridge: a private token, a note of the address."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from bridge_agent.base.backoff import token
from bridge_agent.base.files import read_secret_file, write_private
from bridge_agent.settings import Address

TOKEN_FILE = "control.token"
ADDRESS_FILE = "page.json"

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "": "127.0.0.1"}


@dataclass(frozen=True)
class Control:
    """A running Bridge as the command line reaches it; send `Authorization: Bearer <token>`."""

    url: str
    token: str


def announce(folder: Path, listen: Address, port: int) -> str:
    """Write token and address of a Bridge that has started, both for their owner alone; return the token.

    Raises OSError when the data folder can't be written.
    """
    secret = token("key_")
    write_private(folder / TOKEN_FILE, secret.encode() + b"\n")
    note = {"url": local_url(listen, port), "port": port, "pid": os.getpid()}
    write_private(folder / ADDRESS_FILE, json.dumps(note).encode() + b"\n")
    return secret


def withdraw(folder: Path) -> None:
    """Take both away at the stop, so that the command line knows that nothing runs."""
    for name in (TOKEN_FILE, ADDRESS_FILE):
        (folder / name).unlink(missing_ok=True)


def find(folder: Path) -> Control | None:
    """Return how to reach the Bridge of a data folder, or None when none has announced itself there.

    A Bridge that was killed leaves its note behind: a refused connection then means that nothing runs.
    """
    try:
        note = json.loads((folder / ADDRESS_FILE).read_text(encoding="utf-8"))
        return Control(str(note["url"]), read_secret_file(folder / TOKEN_FILE))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def local_url(listen: Address, port: int) -> str:
    """Return the page's address as this very machine reaches it."""
    host = _EVERYWHERE.get(listen.host, f"[{listen.host}]" if ":" in listen.host else listen.host)
    return f"http://{host}:{port}"
