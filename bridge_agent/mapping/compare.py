"""The comparing of a book's files with the server's sizes, in threads that no dead mount holds for ever."""

import itertools
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bridge_agent.base.clock import Clock, perf
from bridge_agent.base.errors import BridgeError
from bridge_agent.base.tasks import Tasks, cancel_and_wait
from bridge_agent.base.threads import files as disk
from bridge_agent.mapping.resolve import NOT_HERE, Finder, Seen
from bridge_agent.protocol.bridge import BookFile

LIMIT_S = 20.0
"""How long a folder may go without an answer before it counts as dead."""
SETTLE_S = 2.0
"""How long sizes are given to settle before a second look; on network shares they lag behind a write."""

_TURN_S = 0.2
_BLOCK = 8192
_SLOW_S = 0.0005
_ABREAST = 4


class NoAnswer(BridgeError):
    """A folder did not answer in time; check that its drive or share is connected, then try again."""

    code = "no_answer"


def no_answer(folder: Path | str, limit_s: float) -> NoAnswer:
    """Return the error that names the folder and how long it was waited for, in seconds."""
    return NoAnswer(
        f"The folder {folder} did not answer within {limit_s:g} s; check that the drive or share it lies on "
        "is connected, then try again."
    )


class Compared(NamedTuple):
    """A file of the server's list beside what is here; `error` is None where they match (R-107)."""

    file: BookFile
    seen: Seen
    error: str | None

    @property
    def ok(self) -> bool:
        """Whether the file is here with the server's size."""
        return self.error is None


def judge(file: BookFile, seen: Seen) -> Compared:
    """Compare one file with what was seen of it, in the words of R-107."""
    error = seen.error
    if error is None and seen.size != file.size:
        error = f"size differs: {seen.size} bytes here, {file.size} on the server"
    return Compared(file, seen, error)


class Findings:
    """What a comparison found: all files of a book, of which only the odd ones are kept one by one."""

    def __init__(self, files: Sequence[BookFile], odd: Mapping[int, Seen]) -> None:
        self.total = len(files)
        self._files = files
        self.odd = [judge(files[index], odd[index]) for index in sorted(odd)]
        """Those with anything to say, in the server's order: the wrong ones and those of another form."""
        self.wrong = [one for one in self.odd if not one.ok]
        self._odd = dict(zip(sorted(odd), self.odd, strict=True))

    @property
    def matched(self) -> int:
        """How many files are here with the server's size."""
        return self.total - len(self.wrong)

    @property
    def none_is_here(self) -> bool:
        """Whether there are files and not one of them was found."""
        return bool(self.wrong) and not self.matched and all(one.error == NOT_HERE for one in self.wrong)

    def shown(self, most: int) -> list[Compared]:
        """Return all in the server's order; of more than `most`, the differing first (settled point 13)."""
        if self.total <= most:
            return [self._one(index) for index in range(self.total)]
        right = (one for index in range(self.total) if (one := self._one(index)).ok)
        return [*self.wrong[:most], *itertools.islice(right, max(0, most - len(self.wrong)))]

    def _one(self, index: int) -> Compared:
        file = self._files[index]
        return self._odd.get(index) or Compared(file, Seen(file.size), None)


def _ignore(done: int) -> None:
    """Take progress that nobody listens to."""


class Comparison:
    """Compares files under one root; each folder's real path is found once."""

    def __init__(self, root: Path, clock: Clock, limit_s: float = LIMIT_S) -> None:
        self._root = root
        self._clock = clock
        self._limit_s = limit_s

    async def run(self, files: Sequence[BookFile], on_done: Callable[[int], None] = _ignore) -> Findings:
        """Compare all files; `on_done` hears how many are through.

        What differs is looked at again after `SETTLE_S` before it is called different. Raises NoAnswer when
        nothing comes back within the limit, and OSError when the root can't be resolved.
        """
        odd = await self._looks(files, on_done, fresh=False)
        doubtful = sorted(index for index, seen in odd.items() if _may_settle(files[index], seen))
        if doubtful:
            await self._clock.sleep(SETTLE_S)
            again = await self._looks([files[index] for index in doubtful], _ignore, fresh=True)
            for position, index in enumerate(doubtful):
                odd.pop(index)
                if position in again:
                    odd[index] = again[position]
        return Findings(files, odd)

    async def _looks(
        self, files: Sequence[BookFile], on_done: Callable[[int], None], fresh: bool
    ) -> dict[int, Seen]:
        try:
            finder = await disk.call(self._limit_s, Finder, self._root)
            return await _Walk(finder, files, fresh, self._limit_s, on_done).run()
        except TimeoutError:
            raise no_answer(self._root, self._limit_s) from None


def _may_settle(file: BookFile, seen: Seen) -> bool:
    """Tell whether a second look can change the verdict: a size that differs, a file not there yet."""
    if seen.ambiguous:
        return False
    return seen.error == NOT_HERE or (seen.error is None and seen.size != file.size)


class _Walk:
    """One pass over the files, in turns of a fraction of a second, so that the limit counts from the last
    file that answered and not from the first."""

    def __init__(
        self,
        finder: Finder,
        files: Sequence[BookFile],
        fresh: bool,
        limit_s: float,
        on_done: Callable[[int], None],
    ) -> None:
        self._finder = finder
        self._files = files
        self._fresh = fresh
        self._limit_s = limit_s
        self._on_done = on_done
        total = len(files)
        self._todo = deque((start, min(start + _BLOCK, total)) for start in range(0, total, _BLOCK))
        self._odd: dict[int, Seen] = {}
        self._done = 0
        self._late = False

    async def run(self) -> dict[int, Seen]:
        """Look at all; a slow folder is asked by several threads at once, a quick one by one alone."""
        slow = False
        while self._todo and not slow:
            slow = await self._turn()
        if self._todo:
            tasks = Tasks("compare")
            workers = [tasks.spawn(self._turns(), f"worker {n}") for n in range(_ABREAST)]
            try:
                for worker in workers:
                    await worker
            finally:
                await cancel_and_wait(*workers)
            if self._late:
                raise TimeoutError
        return self._odd

    async def _turns(self) -> None:
        """Take turns until all is looked at, or until one of the workers got no answer."""
        try:
            while self._todo and not self._late:
                await self._turn()
        except TimeoutError:
            self._late = True

    async def _turn(self) -> bool:
        """Look at files for one turn; tell whether the folder is slow enough to be asked in parallel."""
        start, stop = self._todo.popleft()
        began = perf()
        reached, odd = await disk.call(
            self._limit_s, self._finder.odd_ones, self._files, start, stop, began + _TURN_S, self._fresh
        )
        self._odd.update(odd)
        if reached < stop:
            self._split(reached, stop)
        self._done += reached - start
        self._on_done(self._done)
        return (perf() - began) / (reached - start) > _SLOW_S

    def _split(self, start: int, stop: int) -> None:
        """Put back what a turn had no time for, in pieces that several threads can share."""
        size = max((stop - start) // _ABREAST, 1)
        pieces = [(at, min(at + size, stop)) for at in range(start, stop, size)]
        self._todo.extendleft(reversed(pieces))
