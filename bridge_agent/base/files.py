"""Files that survive a crash: written aside, synced, renamed; private ones are private from the start."""

import contextlib
import os
import stat
import sys
import tempfile
from pathlib import Path

PRIVATE = 0o600

_NETWORK_TYPES = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "afpfs", "9p", "fuse.sshfs", "webdav", "davfs"}
)


def private_folder(path: Path) -> Path:
    """Make a folder (and those above it) that only its owner can enter; return it."""
    path.mkdir(parents=True, exist_ok=True)
    if sys.platform != "win32":
        with contextlib.suppress(PermissionError):
            path.chmod(0o700)
    return path


def write_private(path: Path, content: bytes) -> None:
    """Put `content` at `path` whole or not at all, readable by its owner alone.

    Raises OSError when the disk refuses, or when something other than a file stands there.
    """
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISREG(path.lstat().st_mode):
            raise OSError(f"{path} is no ordinary file; move it away")
    # mkstemp opens with 0600, so there is no moment at which others could read it.
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    aside = Path(name)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        aside.replace(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Make a rename or removal in a folder durable, where the system can."""
    if sys.platform == "win32":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError:
        return
    finally:
        os.close(handle)


def read_secret_file(path: Path) -> str:
    """Read a one-line secret, its last newline dropped; raises OSError, UnicodeDecodeError."""
    return path.read_text(encoding="utf-8").removesuffix("\n").removesuffix("\r")


def network_file_system(path: Path) -> str | None:
    """Name the network file system that a folder lies on, or None where it is local or can't be told.

    SQLite's write-ahead log needs shared memory, which network file systems do not give.
    """
    import psutil

    real = os.path.realpath(path)
    best, kind = "", ""
    for part in psutil.disk_partitions(all=True):
        point = part.mountpoint
        inside = real == point or real.startswith(point.rstrip(os.sep) + os.sep)
        if inside and len(point) >= len(best):
            best, kind = point, part.fstype
    return kind if kind.lower() in _NETWORK_TYPES else None
