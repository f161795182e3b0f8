"""What this machine sees of a library's root: nothing, an empty folder, or the library."""

import difflib
import os
from dataclasses import dataclass
from pathlib import Path

from bridge_agent.base.errors import BridgeError
from bridge_agent.base.threads import TooManyStuck
from bridge_agent.base.threads import files as disk
from bridge_agent.mapping.compare import LIMIT_S, Findings
from bridge_agent.mapping.resolve import DENIED, nfc
from bridge_agent.protocol.bridge import Library

_MOST_NAMES = 5000
# What systems and shares put into a folder by themselves: it is as good as empty with these.
_NOT_CONTENT = frozenset({"lost+found", "@eaDir", "System Volume Information", "$RECYCLE.BIN", "#recycle"})
_CONTAINER_MARKS = ("/.dockerenv", "/run/.containerenv")


UNSEEN = "This machine does not see the library now"
"""How the sentence begins that tells a library which is away from one whose files are missing."""


class NotSeen(BridgeError):
    """This machine does not see the library now; connect the drive or share it lies on, then try again."""

    code = "not_seen"

    def __init__(self, message: str | None = None, each: str | None = None) -> None:
        """Hold the sentence, and what is said of each file of a closed root, in the words of R-107."""
        super().__init__(message)
        self.each = each


@dataclass(frozen=True)
class Sight:
    """A look at a root: `why` is None where the library is seen, else the clause that says what is wrong."""

    path: Path
    readable: bool = False
    writable: bool = False
    why: str | None = None
    deepest_existing: str | None = None
    hint: str | None = None
    each: str | None = None
    """What is thereby true of each file in it, in the words of R-107: never that all are missing."""

    @property
    def seen(self) -> bool:
        """Whether there is a folder with something in it."""
        return self.why is None


def not_seen(library: Library, why: str, each: str | None = None) -> NotSeen:
    """Return the error for a library that this machine does not see now, as opposed to missing files."""
    return NotSeen(
        f"{UNSEEN}: {why} (library “{library.name}”). Connect the drive or "
        "share it lies on, or set on the Bridge’s page where this machine sees the library, then try again.",
        each,
    )


async def look(path: Path, limit_s: float = LIMIT_S) -> Sight:
    """Look at a root without writing anything; a dead mount is told of after `limit_s` seconds."""
    try:
        return await disk.call(limit_s, look_at, path)
    except TimeoutError:
        return Sight(path, why=f"the folder {path} did not answer within {limit_s:g} s")
    except TooManyStuck:
        return Sight(path, why="too many calls to this machine’s disks have not come back")


async def see(library: Library, root: Path, limit_s: float = LIMIT_S) -> None:
    """Look at a library's root; raises NotSeen for one that is empty, gone or dead."""
    seen = await look(root, limit_s)
    if seen.why is not None:
        raise not_seen(library, seen.why, seen.each)


async def still_there(library: Library, root: Path, findings: Findings, limit_s: float = LIMIT_S) -> None:
    """Raise NotSeen when what was found means that the library went away while it was looked at."""
    gone = next((one for one in findings.wrong if one.seen.gone), None)
    if gone is not None:
        raise not_seen(library, f"{gone.file.path} in {root} {gone.error}")
    if findings.none_is_here:
        await see(library, root, limit_s)


def look_at(path: Path) -> Sight:
    """Look at a root here and now; belongs in a thread."""
    if not path.is_absolute():
        return Sight(path, why=f"{path} is not a folder’s full path on this machine")
    try:
        empty = _is_empty(path)
    except PermissionError:
        return _denied(path)
    except (FileNotFoundError, NotADirectoryError):
        return _missing(path)
    except (OSError, ValueError) as error:
        return Sight(path, why=f"the folder {path} can’t be looked at ({_reason(error)})")
    readable, writable = os.access(path, os.R_OK | os.X_OK), os.access(path, os.W_OK | os.X_OK)
    if empty:
        why, hint = f"the folder {path} is empty", _container_hint()
        return Sight(path, readable, writable, why, str(path), hint)
    return Sight(path, readable, writable, None, str(path))


def _is_empty(path: Path) -> bool:
    with os.scandir(path) as entries:
        return all(entry.name in _NOT_CONTENT or entry.name.startswith(".") for entry in entries)


def _denied(path: Path) -> Sight:
    """Tell a folder that may not be listed (files in it may still answer) from one that can't be reached."""
    enterable = os.access(path, os.X_OK)
    why = None if enterable else f"the folder {path} may not be entered by the user this program runs as"
    writable = enterable and os.access(path, os.W_OK)
    return Sight(path, False, writable, why, deepest_existing(path), each=DENIED)


def _missing(path: Path) -> Sight:
    deepest = deepest_existing(path)
    if deepest == str(path):
        return Sight(path, why=f"{path} is not a folder", deepest_existing=deepest)
    why = f"there is no folder {path}"
    return Sight(path, why=why, deepest_existing=deepest, hint=_near_miss(path, deepest))


def deepest_existing(path: Path) -> str | None:
    """Return the deepest part of a path that exists here, None where not even its beginning does."""
    for part in (path, *path.parents):
        try:
            part.stat()
        except (OSError, ValueError):
            continue
        return str(part)
    return None


def _near_miss(path: Path, deepest: str | None) -> str | None:
    """Return the folder that was probably meant: its name differs by case, a letter, or a plural's s."""
    if deepest is None:
        return None
    asked = path.parts[len(Path(deepest).parts)]
    try:
        names = _folder_names(deepest)
    except OSError:
        return None
    by_form = {nfc(name).casefold(): name for name in names}
    near = difflib.get_close_matches(nfc(asked).casefold(), by_form, 1, cutoff=0.75)
    if not near:
        return None
    meant = Path(deepest, by_form[near[0]], *path.parts[len(Path(deepest).parts) + 1 :])
    return f"Did you mean {meant}?"


def _folder_names(folder: str) -> list[str]:
    names = []
    with os.scandir(folder) as entries:
        for count, entry in enumerate(entries):
            if count >= _MOST_NAMES:
                break
            if entry.is_dir() and is_text(entry.name):
                names.append(entry.name)
    return names


def is_text(name: str) -> bool:
    """Tell whether a name can be written in UTF-8; one of other bytes can't be told on the wire."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _container_hint() -> str | None:
    if not any(os.path.exists(mark) for mark in _CONTAINER_MARKS):  # noqa: PTH110 - plain text paths
        return None
    return "If the share was mounted after this container started, start the container anew."


def _reason(error: OSError | ValueError) -> str:
    number = getattr(error, "errno", None)
    return os.strerror(number) if number else str(error)
