"""The probe file: the one thing that is ever written into a library, and it is gone at once (R-103)."""

import errno
import os

from bridge_agent.base.backoff import token

PREFIX = ".bridge-probe-"

# On Windows the system itself removes a temporary file when it is closed, a crash included.
_FLAGS = os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_TEMPORARY", 0)
_REASONS = {
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.EROFS: "the file system is read-only",
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.ENOENT: "the folder is gone",
}


def probe(folder: str) -> str | None:
    """Make and remove a file of a name of its own in a folder; return why that can't be, or None.

    The file is removed whatever happens after it was made. Belongs in a thread that is waited for.
    """
    path = os.path.join(folder, token(PREFIX, 12))  # noqa: PTH118 - a plain text path from the finder
    try:
        handle = os.open(path, _FLAGS, 0o600)
    except OSError as error:
        return _why(error)
    refused = None
    try:
        # A network share may refuse only here.
        os.close(handle)
    except OSError as error:
        refused = _why(error)
    finally:
        left = _removed(path)
    return left or refused


def _removed(path: str) -> str | None:
    try:
        os.unlink(path)  # noqa: PTH108
    except FileNotFoundError:
        return None
    except OSError as error:
        return f"the probe file {os.path.basename(path)} can’t be removed: {_why(error)}"  # noqa: PTH119
    return None


def _why(error: OSError) -> str:
    return _REASONS.get(error.errno or 0) or error.strerror or str(error)
