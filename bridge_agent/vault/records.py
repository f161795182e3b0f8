"""What the vault keeps on disk: its choice (no secret), and the private files in `secrets/`."""

import os
import stat
import sys
from pathlib import Path
from typing import Literal

import msgspec

from bridge_agent.base.files import PRIVATE, private_folder, sync_folder, write_private

Kind = Literal["keyring", "file"]


class Choice(msgspec.Struct, frozen=True):
    """Where the token was stored: `account` names the keyring's entry, never shared by two Bridges."""

    account: str
    kind: Kind | None = None
    ring: str = ""


class Records:
    """The vault's files below a data folder. All calls touch the disk and raise OSError."""

    def __init__(self, data_dir: Path) -> None:
        self._choice = data_dir / "vault.json"
        self.folder = data_dir / "secrets"
        self._key = self.folder / "token.key"
        self._sealed = self.folder / "token.sealed"

    def choice(self) -> Choice | None:
        """Return the remembered choice; None before the first, or when the file is damaged."""
        try:
            return msgspec.json.decode(self._choice.read_bytes(), type=Choice)
        except (FileNotFoundError, msgspec.DecodeError):
            return None

    def remember(self, choice: Choice) -> None:
        """Write the choice down."""
        write_private(self._choice, msgspec.json.encode(choice))

    def key(self) -> bytes | None:
        """Return the key, or None where there is none."""
        return _read(self._key)

    def write_key(self, key: bytes) -> None:
        """Keep a key, readable by its owner alone."""
        private_folder(self.folder)
        write_private(self._key, key)

    def sealed(self) -> str | None:
        """Return the sealed token of the file store, or None where there is none."""
        raw = _read(self._sealed)
        return None if raw is None else raw.decode("ascii", "replace")

    def write_sealed(self, sealed: str) -> None:
        """Keep a sealed token, readable by its owner alone."""
        private_folder(self.folder)
        write_private(self._sealed, sealed.encode("ascii"))

    def drop_sealed(self) -> None:
        """Remove the sealed token; harmless where there is none."""
        self._sealed.unlink(missing_ok=True)

    def drop(self) -> None:
        """Remove the key first, which makes any sealed copy useless, then the sealed token."""
        self._key.unlink(missing_ok=True)
        self.drop_sealed()
        if self.folder.is_dir():
            sync_folder(self.folder)


def _read(path: Path) -> bytes | None:
    try:
        with path.open("rb") as file:
            _keep_private(path, file.fileno())
            return file.read()
    except FileNotFoundError:
        return None


def _keep_private(path: Path, handle: int) -> None:
    """Take back rights that a copy or a restore gave to others."""
    if sys.platform != "win32" and stat.S_IMODE(os.fstat(handle).st_mode) & 0o077:
        path.chmod(PRIVATE)
