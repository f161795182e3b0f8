"""Files that may be served: their real place inside the root, and covers taken out of audio files."""

import hashlib
import os
import sqlite3
import stat
from pathlib import Path

from bridge_agent.base.files import private_folder, write_private
from bridge_agent.base.paths import lies_inside
from bridge_agent.home.library.covers import EMBEDDED
from bridge_agent.home.library.kinds import content_type
from bridge_agent.home.library.model import MediaFile
from bridge_agent.home.library.tags import read_art

_SIGNS = ((b"\xff\xd8\xff", "image/jpeg"), (b"\x89PNG\r\n\x1a\n", "image/png"), (b"RIFF", "image/webp"))
_MOST_ART = 16 << 20


def split_embedded(path: str) -> tuple[str, bool]:
    """Return the indexed file that a path means, and whether its embedded cover is meant."""
    if path.endswith(EMBEDDED):
        return path.removesuffix(EMBEDDED), True
    return path, False


def locate(root: str, path: str) -> MediaFile | None:
    """Return an indexed file's real place, or None where it is gone, no file, or leads out of the root."""
    place = Path(os.path.realpath(Path(root, path)))
    try:
        regular = stat.S_ISREG(place.stat().st_mode)
    except (OSError, ValueError):
        return None
    if not regular or not lies_inside(place, Path(root)):
        return None
    return MediaFile(place, content_type(path))


def embedded_cover(root: str, row: sqlite3.Row, covers: Path) -> MediaFile | None:
    """Return the picture inside an audio file, taken out once and kept in `covers`, or None."""
    audio = locate(root, row["path"])
    if audio is None:
        return None
    found = audio.path.stat()
    name = hashlib.sha256(f"{audio.path}\0{found.st_size}\0{found.st_mtime_ns}".encode()).hexdigest()[:32]
    kept = covers / name
    if not kept.exists():
        art = read_art(str(audio.path))
        if not art or len(art) > _MOST_ART or _type_of(art) is None:
            return None
        private_folder(covers)
        write_private(kept, art)
    with kept.open("rb") as file:
        kind = _type_of(file.read(16))
    return None if kind is None else MediaFile(kept, kind)


def _type_of(art: bytes) -> str | None:
    return next((kind for sign, kind in _SIGNS if art.startswith(sign)), None)
