"""The cue sheet that lies beside an audio file and speaks of it."""

from pathlib import Path

_MOST_BYTES = 1 << 20
_MOST_SHEETS = 200


def cue_beside(path: Path) -> Path | None:
    """Return the cue sheet named like the file (`book.cue`, `book.mp3.cue`), or one that names it.

    Blocks on the file system; a folder that can't be listed counts as one without a sheet.
    """
    try:
        sheets = sorted(p for p in path.parent.iterdir() if p.suffix.lower() == ".cue")
    except OSError:
        return None
    named = [s for s in sheets if s.stem.casefold() in (path.stem.casefold(), path.name.casefold())]
    if named:
        return named[0]
    return next((sheet for sheet in sheets[:_MOST_SHEETS] if _names(sheet, path.name)), None)


def read_text(sheet: Path) -> str:
    """Read a sheet in whichever encoding it has; empty where it can't be read or is no sheet's size."""
    try:
        if sheet.stat().st_size > _MOST_BYTES:
            return ""
        raw = sheet.read_bytes()
    except OSError:
        return ""
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return raw.decode("utf-16", "replace")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("cp1252", "replace")


def _names(sheet: Path, name: str) -> bool:
    return name.casefold() in read_text(sheet).casefold()
