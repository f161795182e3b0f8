"""Whether this data folder is a copy of another Bridge's (settled point 20).

At its first start a Bridge notes the folder's path, the inode of a marker file and the machine. A copy has
another inode, and another path or machine. A folder restored in place (same path, same machine) is none, nor
is one that was moved on its disk (same inode), nor a container's volume (same path; no machine id).
"""

import hashlib
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from bridge_agent.base.errors import BridgeError
from bridge_agent.base.files import PRIVATE, write_private
from bridge_agent.base.threads import files

T = TypeVar("T")

_log = logging.getLogger(__name__)
_LIMIT_S = 20.0
_SALT = "audiobook-bridge-agent folder "


class Fingerprint(msgspec.Struct, frozen=True):
    """What a data folder looked like when its Bridge first started in it."""

    path: str
    inode: int
    machine: str | None

    def copied_to(self, now: "Fingerprint") -> bool:
        """Tell whether the folder as it is now is a copy of the one noted here."""
        return self.inode != now.inode and (self.path != now.path or self.machine != now.machine)


class OwnFolder:
    """A data folder and whether it is this Bridge's own."""

    def __init__(self, data_dir: Path) -> None:
        """Prepare; touches nothing."""
        self._data_dir = data_dir

    async def is_copy(self) -> bool:
        """Compare the folder with its noted fingerprint; what can't be told is no copy."""
        return bool(await self._try(is_copy, "Whether the data folder is a copy can’t be told"))

    async def claim(self) -> None:
        """Note the folder as this Bridge's own, as far as the disk lets it."""
        await self._try(claim, "The data folder’s fingerprint can’t be written")

    async def _try(self, work: Callable[[Path, str | None], T], failed: str) -> T | None:
        try:
            return await files.call(_LIMIT_S, lambda: work(self._data_dir, machine_id()))
        except (OSError, TimeoutError, BridgeError) as error:
            _log.warning("%s: %s", failed, error)
            return None


def is_copy(data_dir: Path, machine: str | None) -> bool:
    """Compare the folder with its noted fingerprint, noting it at a first start. Blocks; raises OSError."""
    noted = _noted(data_dir)
    if noted is None:
        claim(data_dir, machine)
        return False
    return noted.copied_to(_present(data_dir, machine))


def claim(data_dir: Path, machine: str | None) -> None:
    """Note the folder as this Bridge's own, as it is now. Blocks; raises OSError."""
    write_private(data_dir / "folder.json", msgspec.json.encode(_present(data_dir, machine)))


def machine_id() -> str | None:
    """Return a hash of the machine's id, or None where it has none. Blocks."""
    raw = _windows_id() if sys.platform == "win32" else _unix_id()
    return hashlib.sha256((_SALT + raw).encode()).hexdigest() if raw else None


def _noted(data_dir: Path) -> Fingerprint | None:
    try:
        return msgspec.json.decode((data_dir / "folder.json").read_bytes(), type=Fingerprint)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def _present(data_dir: Path, machine: str | None) -> Fingerprint:
    marker = data_dir / "folder.marker"
    marker.touch(PRIVATE, exist_ok=True)
    return Fingerprint(str(data_dir.resolve()), marker.stat().st_ino, machine)


def _unix_id() -> str:
    for place in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        try:
            if text := Path(place).read_text(encoding="ascii").strip():
                return text
        except (OSError, UnicodeDecodeError):
            continue
    return ""


def _windows_id() -> str:
    if sys.platform != "win32":
        return ""
    import winreg

    try:
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, r"SOFTWARE\Microsoft\Cryptography") as key:
            return str(winreg.QueryValueEx(key, "MachineGuid")[0])
    except OSError:
        return ""
