"""The walk over a library's folder: every file once, links inside the root followed, nothing outside it."""

import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from bridge_agent.base.errors import BridgeError
from bridge_agent.home.library.ignored import IGNORE_FILE, ignored_file, ignored_folder
from bridge_agent.home.library.kinds import kind_of
from bridge_agent.home.library.text import nfc

Stats = tuple[int, int]
"""Size in bytes and mtime in nanoseconds."""


class RootUnreadable(BridgeError):
    """The library's folder can't be read; check that its disk is there, then scan again."""

    code = "root_unreadable"


class Stopped(Exception):
    """The scan was told to stop."""


@dataclass
class Listing:
    """What lies below a root; paths are relative, with `/`, byte-exact."""

    files: dict[str, Stats] = field(default_factory=dict)
    # Folders and files that are there and could not be read; what the index knew of them stays.
    unreadable: list[str] = field(default_factory=list)
    # How many names were passed over because they are no text that can be sent.
    unnamable: int = 0
    # Links whose target is gone or lies outside the root.
    dead_links: int = 0
    # Whether there is anything at the root besides names that a scan passes over.
    anything: bool = False


class Walk:
    """One walk; `looked` counts the files met so far and may be read from another thread."""

    def __init__(self, root: str, stop: Callable[[], bool]) -> None:
        """Prepare to walk `root`, resolved first, so that a linked library is like any other (A-89)."""
        self._root = os.path.realpath(root)
        self._stop = stop
        self._links: list[str] = []
        self._folders: set[str] = set()
        self._listing = Listing()
        self._steps = 0

    @property
    def looked(self) -> int:
        """How many files were met so far."""
        return len(self._listing.files)

    @property
    def steps(self) -> int:
        """How many folders were entered so far; while it grows, the disk answers."""
        return self._steps

    def run(self) -> Listing:
        """Walk everything; raises RootUnreadable, and Stopped soon after `stop` says so."""
        try:
            with os.scandir(self._root) as entries:
                self._listing.anything = any(not _nothing(entry.name) for entry in entries)
        except OSError as error:
            raise RootUnreadable(
                f"The folder {self._root} can't be read ({error.strerror}); check that its disk is there, "
                "then scan again."
            ) from error
        self._tree("")
        self._follow_links()
        return self._listing

    def look_again(self, shelf: str) -> dict[str, Stats]:
        """Walk one entry of the root once more, without links; raises OSError where the root is gone."""
        with os.scandir(self._root) as entries:
            for entry in entries:
                if nfc(entry.name) == shelf and self._entry(entry, entry.name):
                    self._tree(entry.name)
        return self._listing.files

    def _tree(self, start: str) -> None:
        """Walk a folder and those below it without going through links."""
        waiting = [start]
        while waiting:
            if self._stop():
                raise Stopped
            folder = waiting.pop()
            waiting.extend(self._folder(folder))

    def _folder(self, folder: str) -> list[str]:
        """Take in one folder's files; return its subfolders."""
        self._folders.add(folder)
        self._steps += 1
        try:
            with os.scandir(os.path.join(self._root, folder) if folder else self._root) as found:  # noqa: PTH118
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError:
            self._listing.unreadable.append(folder)
            return []
        if folder and any(entry.name == IGNORE_FILE for entry in entries):
            return []
        folders = []
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if self._entry(entry, path):
                folders.append(path)
        return folders

    def _entry(self, entry: "os.DirEntry[str]", path: str) -> bool:
        """Take in one entry; tell whether it is a folder to go into."""
        name = entry.name
        if not _namable(name):
            self._listing.unnamable += 1
            return False
        try:
            if entry.is_symlink():
                self._links.append(path)
            elif entry.is_dir(follow_symlinks=False):
                return not ignored_folder(name)
            elif not ignored_file(name) and kind_of(name) is not None:
                found = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(found.st_mode):
                    self._listing.files[path] = (found.st_size, found.st_mtime_ns)
        except OSError:
            self._listing.unreadable.append(path)
        return False

    def _follow_links(self) -> None:
        """Take in what links lead to inside the root and was not met under its own path (A-87, A-90)."""
        seen = set(self._listing.files)
        while self._links:
            links, self._links = sorted(self._links), []
            for link in links:
                if self._stop():
                    raise Stopped
                self._link(link, seen)

    def _link(self, link: str, seen: set[str]) -> None:
        name = link.rpartition("/")[2]
        target = os.path.realpath(os.path.join(self._root, link))  # noqa: PTH118
        real = self._relative(target)
        try:
            found = os.stat(target)  # noqa: PTH116
        except OSError:
            real = None
        if real is None:
            self._listing.dead_links += 1
        elif stat.S_ISDIR(found.st_mode):
            if not ignored_folder(name):
                self._linked_folder(link, real, seen)
        elif stat.S_ISREG(found.st_mode) and not ignored_file(name) and kind_of(name) and real not in seen:
            seen.add(real)
            self._listing.files[link] = (found.st_size, found.st_mtime_ns)

    def _linked_folder(self, link: str, real: str, seen: set[str]) -> None:
        """Walk a linked folder under the link's path, keeping the files that no other path has brought."""
        # Its own ancestors would be walked for ever, and folders met already bring nothing new.
        if real == "" or real in self._folders or (link + "/").startswith(real + "/"):
            return
        self._folders.add(real)
        kept, self._listing.files = self._listing.files, {}
        try:
            self._tree(link)
        finally:
            found, self._listing.files = self._listing.files, kept
        for path, stats in found.items():
            true = real + path[len(link) :]
            if true not in seen:
                seen.add(true)
                kept[path] = stats

    def _relative(self, target: str) -> str | None:
        """Return a real path relative to the root with `/`, or None outside it."""
        if target == self._root:
            return ""
        prefix = self._root.rstrip(os.sep) + os.sep
        if not target.startswith(prefix):
            return None
        return target[len(prefix) :].replace(os.sep, "/")


def _nothing(name: str) -> bool:
    return ignored_folder(name) or ignored_file(name)


def _namable(name: str) -> bool:
    """Tell whether a name is text: one that is not UTF-8 on disk holds lone surrogates here."""
    return name.isascii() or not any("\ud800" <= c <= "\udfff" for c in name)


def below(folders: list[str], paths: Iterable[str]) -> set[str]:
    """Return those of the paths that lie at or below one of the folders."""
    if not folders:
        return set()
    if "" in folders:
        return set(paths)
    heads = tuple(folder + "/" for folder in folders)
    exact = set(folders)
    return {path for path in paths if path in exact or path.startswith(heads)}
