"""One process a data folder: a lock file that says who has it."""

import os
from pathlib import Path

from filelock import FileLock, Timeout

from bridge_agent.base.errors import TryLater
from bridge_agent.base.files import private_folder


class FolderInUse(TryLater):
    """Another process already uses this data folder; stop it first, or give this one a folder of its own."""

    code = "folder_in_use"


class FolderLock:
    """Holds a data folder for this process until `release` or the process's end."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._lock = FileLock(folder / f"{name}.lock")
        self._holder = folder / f"{name}.pid"

    def acquire(self) -> None:
        """Take the folder, making it where it is missing; raises FolderInUse, OSError."""
        private_folder(self._folder)
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise FolderInUse(
                f"The data folder {self._folder} is in use by {self._who()}; stop that one first, "
                "or give this one a folder of its own."
            ) from None
        self._holder.write_text(str(os.getpid()), encoding="ascii")

    def release(self) -> None:
        """Give the folder back; harmless when it is not held."""
        if self._lock.is_locked:
            self._holder.unlink(missing_ok=True)
            self._lock.release()

    def _who(self) -> str:
        try:
            return f"process {int(self._holder.read_text(encoding='ascii'))}"
        except (OSError, ValueError):
            return "another process"
