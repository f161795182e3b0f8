"""A path from the server, found under a library's root on this machine, and nowhere else.

A server can make this machine look at nothing outside the library (settled point 14): what climbs, is
absolute or holds a NUL is not looked at, and a link is followed only while its real path stays inside the
root's. All calls here touch the disk and belong in a thread with a limit.
"""

import errno
import os
import re
import stat
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bridge_agent.base.clock import perf
from bridge_agent.base.paths import UnsafePath, safe_parts
from bridge_agent.protocol.bridge import BookFile

NOT_HERE = "not found here"
DENIED = "permission denied"

_LONGEST = 4096
_BETWEEN_READINGS = 8
_MOST_NAMES = 200_000
_ANYBODY_READS = 0o444
_ORDINARY = stat.S_IFREG | _ANYBODY_READS
_ORDINARY_MASK = stat.S_IFMT(0o777777) | _ANYBODY_READS
# A name that is safe on every system; any other has safe_parts to pass.
_PLAIN_NAME = re.compile(r"(?!\.{1,2}\Z)[^/\\:\0]+\Z")
_ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EINVAL})
# What a share says that has gone away while the mount point stayed: nothing under it can be judged.
_GONE = frozenset(
    getattr(errno, name)
    for name in ("ENOTCONN", "ESTALE", "EHOSTDOWN", "EHOSTUNREACH", "ENETUNREACH", "ETIMEDOUT", "ENODEV")
    if hasattr(errno, name)
)


class NotHere(Exception):
    """The path leads to nothing inside the library here; `ambiguous` when two names could be meant."""

    def __init__(self, ambiguous: bool = False) -> None:
        super().__init__(NOT_HERE)
        self.ambiguous = ambiguous


@dataclass(frozen=True, slots=True)
class Place:
    """Where a path leads: its real path, and whether a name was found in another Unicode form."""

    path: str
    other_form: bool = False


class Seen(NamedTuple):
    """What a look at one file found; `error` is None where it is an ordinary file that can be read."""

    size: int = 0
    error: str | None = None
    other_form: bool = False
    ambiguous: bool = False
    gone: bool = False


_NOTHING_ODD = Seen()[1:]
_MISSING = Seen(error=NOT_HERE)
_AMBIGUOUS = Seen(error=NOT_HERE, ambiguous=True)


def nfc(name: str) -> str:
    """Return a name in the composed form, in which names that look the same compare equal."""
    return name if name.isascii() else unicodedata.normalize("NFC", name)


def worded(error: OSError) -> Seen:
    """Return what is said of a file whose look raised an error."""
    if isinstance(error, PermissionError):
        return Seen(error=DENIED)
    if error.errno in _ABSENT or isinstance(error, FileNotFoundError):
        return _MISSING
    why = os.strerror(error.errno) if error.errno else str(error)
    return Seen(error=f"cannot be looked at: {why}", gone=error.errno in _GONE)


class Finder:
    """Finds paths of one library under its root; remembers each folder, so make a new one for a new look.

    Raises OSError when the root itself can't be resolved. Several threads may use one finder.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = os.path.realpath(root, strict=True)
        self._inside = self.root if self.root.endswith(os.sep) else self.root + os.sep
        self._folders: dict[str, Place | NotHere | OSError] = {"": Place(self.root)}
        self._names: dict[str, dict[str, list[str]]] = {}

    def folder(self, relative: str) -> Place:
        """Return where a folder of the library is ("" is the root); raises NotHere, OSError."""
        known = self._folders.get(relative)
        if known is None:
            known = self._enter(relative)
        if isinstance(known, Place):
            return known
        # The same instance is raised for many files: without this its traceback would grow with each.
        raise known.with_traceback(None)

    def file(self, relative: str) -> tuple[Place, os.stat_result]:
        """Return where an ordinary file is, with its stat; raises NotHere, OSError."""
        head, slash, name = relative.rpartition("/")
        if slash and not head:
            raise NotHere
        folder = self.folder(head)
        _check_name(name)
        place, found = self._step(folder, name)
        if not stat.S_ISREG(found.st_mode):
            raise NotHere
        return place, found

    def look(self, relative: str, fresh: bool = False) -> Seen:
        """Look at one file; `fresh` through an open handle, since a share's listing can carry old sizes."""
        try:
            place, found = self.file(relative)
            # Without a lock-out in its mode a file needs no second call to the disk.
            locked = found.st_mode & _ANYBODY_READS != _ANYBODY_READS
            if locked and not os.access(place.path, os.R_OK):
                return Seen(found.st_size, DENIED, place.other_form)
            size = _fresh_size(place.path, found) if fresh else found.st_size
        except NotHere as miss:
            return _AMBIGUOUS if miss.ambiguous else _MISSING
        except OSError as error:
            return worded(error)
        except ValueError:
            # A text that no path of this system can be, such as a lone surrogate.
            return _MISSING
        return Seen(size, None, place.other_form)

    def odd_ones(
        self, files: Sequence[BookFile], start: int, stop: int, until: float, fresh: bool = False
    ) -> tuple[int, dict[int, Seen]]:
        """Look at files from `start` to `stop` until `perf()` reads `until`, at least at a few.

        Returns where it stopped, and by its index each file that is not simply there with the server's size.
        An ordinary file that everybody may read, in a folder already found, is what a library is made of:
        it costs one call to the disk and leaves nothing behind. All else goes through `look`.
        """
        odd: dict[int, Seen] = {}
        head: str | None = None
        folder: str | None = None
        for index in range(start, stop):
            file = files[index]
            above, slash, name = file.path.rpartition("/")
            # With its slash, so that an absolute path is not taken for one in the root.
            above += slash
            if folder is None or above != head:
                head, folder = above, None if fresh else self._plain_folder(above)
            if folder is None or _ordinary_size(folder, name) != file.size:
                seen = self.look(file.path, fresh)
                if seen.size != file.size or seen[1:] != _NOTHING_ODD:
                    odd[index] = seen
            if not index % _BETWEEN_READINGS and perf() >= until:
                return index + 1, odd
        return stop, odd

    def _plain_folder(self, above: str) -> str | None:
        """Return a folder that was found under the server's own name, ending in a separator, else None."""
        known = self._folders.get(above[:-1]) if above != "/" else None
        if not isinstance(known, Place) or known.other_form:
            return None
        return _joined(known.path, "")

    def _enter(self, relative: str) -> "Place | NotHere | OSError":
        """Walk down to a folder, remembering each on the way, the misses too."""
        known: Place | NotHere | OSError = self._folders[""]
        try:
            # A path longer than any system takes would only cost memory on the way down.
            parts = safe_parts(relative) if len(relative) <= _LONGEST else ()
        except UnsafePath:
            parts = ()
        if not parts:
            known = self._folders[relative] = NotHere()
        key = ""
        for part in parts:
            key = f"{key}/{part}" if key else part
            following = self._folders.get(key)
            if following is None:
                following = self._folders[key] = self._enter_one(known, part)
            known = following
        return known

    def _enter_one(self, above: "Place | NotHere | OSError", name: str) -> "Place | NotHere | OSError":
        if not isinstance(above, Place):
            return above
        try:
            place, found = self._step(above, name)
        except (NotHere, OSError) as error:
            return error
        except ValueError:
            return NotHere()
        return place if stat.S_ISDIR(found.st_mode) else NotHere()

    def _step(self, folder: Place, name: str) -> tuple[Place, os.stat_result]:
        """Find one name in a folder whose path is real; a link's real path must stay inside the root."""
        path = _joined(folder.path, name)
        other = folder.other_form
        try:
            found = os.lstat(path)
        except FileNotFoundError:
            alike = self._alike(folder.path, name)
            if alike is None:
                raise NotHere from None
            path, other = _joined(folder.path, alike), True
            found = os.lstat(path)
        if stat.S_ISLNK(found.st_mode) or _is_junction(found):
            path = os.path.realpath(path, strict=True)
            if not self._holds(path):
                raise NotHere
            found = os.lstat(path)
        return Place(path, other), found

    def _holds(self, real: str) -> bool:
        real, inside = os.path.normcase(real), os.path.normcase(self._inside)
        return real.startswith(inside) or real == os.path.normcase(self.root)

    def _alike(self, folder: str, name: str) -> str | None:
        """Return the one name in a folder's listing that is the same in another Unicode form.

        Raises NotHere, as ambiguous, when there are two. Upper and lower case are never taken for the same.
        """
        if name.isascii():
            return None
        names = self._names.get(folder)
        if names is None:
            names = self._names[folder] = _by_form(folder)
        found = names.get(nfc(name), [])
        if len(found) > 1:
            raise NotHere(ambiguous=True)
        return found[0] if found and found[0] != name else None


def _ordinary_size(folder: str, name: str) -> int | None:
    """Return the size of an ordinary file that everybody may read, None for whatever needs a closer look."""
    if _PLAIN_NAME.match(name) is None:
        return None
    try:
        found = os.lstat(folder + name)
    except OSError:
        return None
    return found.st_size if found.st_mode & _ORDINARY_MASK == _ORDINARY else None


def _check_name(name: str) -> None:
    try:
        safe_parts(name)
    except UnsafePath:
        raise NotHere from None


def _joined(folder: str, name: str) -> str:
    return folder + name if folder.endswith(os.sep) else folder + os.sep + name


def _is_junction(found: os.stat_result) -> bool:
    """Tell whether it is one of Windows' folder links, which S_ISLNK does not know."""
    return bool(getattr(found, "st_reparse_tag", 0)) and stat.S_ISDIR(found.st_mode)


def _by_form(folder: str) -> dict[str, list[str]]:
    """List a folder's names that are not plain ASCII by their composed form, up to a bound."""
    names: dict[str, list[str]] = {}
    with os.scandir(folder) as entries:
        for count, entry in enumerate(entries):
            if count >= _MOST_NAMES:
                break
            if not entry.name.isascii():
                names.setdefault(nfc(entry.name), []).append(entry.name)
    return names


def _fresh_size(path: str, found: os.stat_result) -> int:
    """Return a size through an open handle, for which a network share asks its server anew."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError:
        return found.st_size
    try:
        return os.fstat(handle).st_size
    finally:
        os.close(handle)
