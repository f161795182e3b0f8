"""Proposals from evidence: folders on this machine in which the sample book's files lie, with their sizes.

The walk is bounded in depth, in names and in time, and each place is walked in a thread of its own: a dead
mount among them costs its own answer and nobody else's.
"""

import asyncio
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bridge_agent.base.clock import perf
from bridge_agent.base.tasks import Tasks
from bridge_agent.base.threads import ThreadCalls, TooManyStuck
from bridge_agent.mapping.resolve import Finder, nfc
from bridge_agent.mapping.sight import is_text
from bridge_agent.mapping.views import Proposal
from bridge_agent.protocol.bridge import BookFile

LIMIT_S = 10.0
"""How long a search takes at most."""
MOST = 5
"""How many proposals are worth a person's reading."""

_DEPTH = 4
_ABREAST = 4
_MOST_STARTS = 32
_MOST_IN_FOLDER = 2_000
_MOST_NAMES = 200_000
_MOST_FILES = 20

_PSEUDO_KINDS = """
autofs binfmt_misc bpf cgroup cgroup2 configfs debugfs devfs devpts devtmpfs efivarfs fuse.lxcfs fuse.portal
fusectl hugetlbfs mqueue nsfs proc pstore ramfs rpc_pipefs securityfs selinuxfs squashfs sysfs tmpfs tracefs
"""
_PSEUDO = frozenset(_PSEUDO_KINDS.split())
_SYSTEM_FOLDERS = """
/proc /sys /dev /bin /boot /etc /lib /lib32 /lib64 /nix /sbin /snap /usr /System /Library /private/var
/var/lib/docker /var/lib/containerd C:\\Windows
"""
# Where systems keep themselves: no library, many names, and some that are no files at all.
_SYSTEM = frozenset(_SYSTEM_FOLDERS.split())
_NEVER = frozenset(
    {
        "#recycle",
        "#snapshot",
        "$RECYCLE.BIN",
        "@Recently-Snapshot",
        "@eaDir",
        "System Volume Information",
        "__pycache__",
        "lost+found",
        "node_modules",
        "snapshots",
    }
)


@dataclass(frozen=True)
class Mount:
    """A line of the mount table: where a file system hangs, and its kind."""

    path: str
    kind: str


MountTable = Callable[[], list[Mount]]


def mount_table() -> list[Mount]:
    """Read this system's mount table; belongs in a thread, since Windows asks its drives for it."""
    import psutil

    return [Mount(part.mountpoint, part.fstype) for part in psutil.disk_partitions(all=True)]


class Search:
    """Looks for a book under the mount table's places, the home folder, and places that others name."""

    def __init__(
        self, mounts: MountTable = mount_table, home: Path | None = None, limit_s: float = LIMIT_S
    ) -> None:
        """Take where to look; without `home` the user's own."""
        self._mounts = mounts
        self._home = home
        self._limit_s = limit_s
        # Its own calls: a dead mount that holds a few of them never keeps a job from its files.
        self._calls = ThreadCalls("search", most_stuck=_ABREAST)

    async def run(self, files: Sequence[BookFile], near: Iterable[Path] = ()) -> list[Proposal]:
        """Return the best places for a library that has these files, those with most matches first.

        `near` are folders to begin with, such as those around other mappings. Never raises for what it
        can't read, and ends within its limit with what was found by then.
        """
        if not files:
            return []
        until = perf() + self._limit_s
        try:
            mounts = await self._calls.call(self._limit_s, self._mounts)
        except (TimeoutError, TooManyStuck, OSError):
            mounts = []
        starts = self._starts(mounts, near)
        hunt = _Hunt(files[:_MOST_FILES], until, borders=frozenset(mount.path for mount in mounts))
        tasks = Tasks("search")
        walkers = [tasks.spawn(self._walk_all(hunt, starts), f"walker {n}") for n in range(_ABREAST)]
        try:
            await asyncio.gather(*walkers)
        finally:
            await tasks.cancel()
        return hunt.best()

    def _starts(self, mounts: list[Mount], near: Iterable[Path]) -> deque[str]:
        """List where to begin, the likeliest first."""
        real = [mount.path for mount in mounts if mount.kind not in _PSEUDO and mount.path not in _SYSTEM]
        # The root of all comes last: what hangs below it has its own turn.
        real.sort(key=lambda path: os.path.dirname(path) == path)  # noqa: PTH120 - mount points are text
        home = self._home or Path.home()
        wanted = [*(str(path) for path in near), str(home), *real]
        return deque(list(dict.fromkeys(wanted))[:_MOST_STARTS])

    async def _walk_all(self, hunt: "_Hunt", starts: deque[str]) -> None:
        while starts and (left := hunt.until - perf()) > 0:
            try:
                await self._calls.call(left, hunt.walk, starts.popleft())
            except (TimeoutError, TooManyStuck):
                return


class _Hunt:
    """One search: what is looked for, what has been walked, what was found."""

    def __init__(self, files: Sequence[BookFile], until: float, borders: frozenset[str]) -> None:
        self.until = until
        self._files = files
        self._firsts = {nfc(file.path.partition("/")[0]) for file in files}
        self._borders = borders
        self._walked: set[str] = set()
        self._names = 0
        self._found: dict[tuple[int, int], Proposal] = {}

    def best(self) -> list[Proposal]:
        """Return what was found: most matches first, then the shorter path."""
        ordered = sorted(list(self._found.values()), key=lambda p: (-p.matched, len(p.path), p.path))
        return ordered[:MOST]

    def walk(self, start: str) -> None:
        """Walk down from a start, level by level; another mount has a turn of its own. Blocks."""
        waiting = deque([(start, 0)])
        while waiting and self._goes_on():
            folder, depth = waiting.popleft()
            if folder in self._walked:
                continue
            self._walked.add(folder)
            subfolders = self._read(folder)
            if depth < _DEPTH:
                waiting.extend((path, depth + 1) for path in subfolders if path not in self._borders)

    def _goes_on(self) -> bool:
        return self._names < _MOST_NAMES and perf() < self.until

    def _read(self, folder: str) -> list[str]:
        """Read a folder's names, weigh it where the book's first name is among them; return its folders."""
        subfolders: list[str] = []
        likely = False
        try:
            with os.scandir(folder) as entries:
                for count, entry in enumerate(entries):
                    if count >= _MOST_IN_FOLDER or not self._goes_on():
                        break
                    self._names += 1
                    likely = likely or nfc(entry.name) in self._firsts
                    # Links are not followed: what they lead to has its own place, and they can go in circles.
                    if _is_worth(entry) and entry.is_dir(follow_symlinks=False):
                        subfolders.append(entry.path)
            if likely and is_text(folder):
                self._weigh(folder)
        except OSError:
            return subfolders
        return subfolders

    def _weigh(self, folder: str) -> None:
        finder = Finder(folder)
        looks = ((file, finder.look(file.path)) for file in self._files)
        matched = sum(seen.error is None and seen.size == file.size for file, seen in looks)
        if matched:
            about = os.stat(folder)  # noqa: PTH116
            proposal = Proposal(path=folder, matched=matched, of=len(self._files))
            self._found.setdefault((about.st_dev, about.st_ino), proposal)


def _is_worth(entry: "os.DirEntry[str]") -> bool:
    if entry.name.startswith(".") or entry.name in _NEVER or entry.path in _SYSTEM:
        return False
    return not (sys.platform == "win32" and entry.name.startswith("$"))
