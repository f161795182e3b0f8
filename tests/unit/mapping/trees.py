"""Little libraries on disk, and what they look like before and after."""

import hashlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from bridge_agent.protocol.bridge import BookFile


def plant(root: Path, files: Mapping[str, int]) -> list[BookFile]:
    """Make files of these sizes below a root; return them as the server would list them."""
    for path, size in files.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("wb") as out:
            out.truncate(size)
    return listed(files)


def listed(files: Mapping[str, int]) -> list[BookFile]:
    """List files without making them."""
    return [BookFile(path=path, size=size) for path, size in files.items()]


def tree_hash(root: Path) -> str:
    """Hash all names, kinds, sizes, modes, times and contents below a root (folders' times apart)."""
    found = hashlib.sha256()
    for folder, names, files in sorted(os.walk(root)):
        for name in sorted(names + files):
            path = Path(folder, name)
            about = path.lstat()
            found.update(f"{path.relative_to(root)}|{about.st_mode}|{about.st_ino}".encode())
            if stat.S_ISREG(about.st_mode):
                found.update(f"|{about.st_size}|{about.st_mtime_ns}".encode() + path.read_bytes())
    return found.hexdigest()


def names_in(folder: Path) -> list[str]:
    """List the names in a folder, in order."""
    return sorted(path.name for path in folder.iterdir())
