"""Where the parts keep their files on each system, and the paths that come from outside."""

import os
import sys
from pathlib import Path

import platformdirs


def data_folder(name: str) -> Path:
    """Return the platform's own data folder for `name`, without making it."""
    return Path(platformdirs.user_data_dir(name, appauthor=False))


class UnsafePath(ValueError):
    """A relative path from outside that is absolute, climbs, holds a NUL or names a drive."""


def safe_parts(relative: str) -> tuple[str, ...]:
    """Split a `/`-separated relative path from outside into its parts.

    Raises UnsafePath for what is absolute, empty, has `..`, `.`, empty or NUL parts, or (on Windows) a
    backslash or a drive.
    """
    if not relative or "\0" in relative or relative.startswith("/"):
        raise UnsafePath(relative)
    parts = relative.split("/")
    if any(part in ("", ".", "..") for part in parts):
        raise UnsafePath(relative)
    if sys.platform == "win32" and any("\\" in part or ":" in part for part in parts):
        raise UnsafePath(relative)
    return tuple(parts)


def lies_inside(path: Path, root: Path) -> bool:
    """Tell whether the real path of `path` is `root`'s real path or below it; touches the disk."""
    real, real_root = os.path.realpath(path), os.path.realpath(root)
    return real == real_root or real.startswith(real_root.rstrip(os.sep) + os.sep)
