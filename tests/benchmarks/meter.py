"""The meter: what a process and its children used of the processor, and how busy all others were."""

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import psutil

_LOOK_S = 0.25
_NS = 1e9
_QUIET = 0.08


@dataclass(frozen=True)
class Cost:
    """Seconds by the clock, processor seconds, and those of them that nothing ran beside (`critical`).

    `others` is which share of the machine everybody else used meanwhile.
    """

    wall: float
    cpu: float
    critical: float
    others: float

    @property
    def quiet(self) -> bool:
        """Whether the clock tells the truth: hardly anybody else was at work."""
        return self.others <= _QUIET

    def said(self) -> str:
        """Say it for a table's note."""
        return f"{self.wall:.0f} s by the clock, {self.cpu:.1f} s of processor, others {self.others:.0%} busy"


def ratio(one: Cost, other: Cost, other_lanes: int = 1) -> tuple[float, str]:
    """Return how much longer one took than the other, and by what that was told.

    By the clock on a quiet machine; else by processor seconds on the way to the end, a processor for each of
    the other's lanes: they leave out what waits for nothing but the clock.
    """
    if one.quiet and other.quiet:
        return one.wall / other.wall, "by the clock"
    return one.critical / (
        other.critical / other_lanes
    ), "by processor seconds on the way, the machine is busy"


class Meter:
    """Measures a process with all its children between `with` and its end; they may come and go."""

    def __init__(self, pid: int | None = None, beside: str = "") -> None:
        """`beside` is a word of the command lines of processes that work beside all others after `mark`."""
        self._beside = beside
        self._aside: set[int] = set()
        self._marked: dict[tuple[int, int], float] | None = None
        self._root = psutil.Process(pid)
        self._ended = threading.Event()
        self._seen: dict[tuple[int, int], float] = {}
        self.cost = Cost(0.0, 0.0, 0.0, 0.0)

    def __enter__(self) -> "Meter":
        self._began, self._busy_before = perf_counter(), _busy()
        self._before = dict(self._threads())
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        wall = perf_counter() - self._began
        self._ended.set()
        self._thread.join()
        self._seen.update(self._threads())
        cpu = self._sum(self._seen)
        others = (_busy() - self._busy_before - cpu) / (wall * (os.cpu_count() or 1))
        self.cost = Cost(wall, cpu, cpu - self._ran_beside(), max(0.0, others))

    def mark(self) -> None:
        """Mark, once, that from now on the processes beside are in nobody's way."""
        if self._marked is None:
            self._marked = dict(self._threads())

    def _ran_beside(self) -> float:
        if self._marked is None:
            return 0.0
        aside = {who: ran for who, ran in self._seen.items() if who[0] in self._aside}
        return sum(ran - self._marked.get(who, 0.0) for who, ran in aside.items())

    def _sum(self, seen: dict[tuple[int, int], float]) -> float:
        return sum(ran - self._before.get(who, 0.0) for who, ran in seen.items())

    def _look(self) -> None:
        while not self._ended.wait(_LOOK_S):
            self._seen.update(self._threads())

    def _threads(self) -> Iterator[tuple[tuple[int, int], float]]:
        try:
            processes = [self._root, *self._root.children(recursive=True)]
        except psutil.NoSuchProcess:
            return
        for process in processes:
            try:
                if self._beside and self._beside in " ".join(process.cmdline()):
                    self._aside.add(process.pid)
                yield from _of(process)
            except (psutil.Error, OSError, ValueError):
                continue  # It has ended between two looks: what was seen last counts.


def _of(process: psutil.Process) -> Iterator[tuple[tuple[int, int], float]]:
    """Return each thread's processor seconds; of the process as a whole where the system counts no finer."""
    if not Path("/proc/self/schedstat").exists():
        times = process.cpu_times()
        yield (process.pid, 0), times.user + times.system
        return
    for thread in Path(f"/proc/{process.pid}/task").iterdir():
        ran, *_ = (thread / "schedstat").read_text().split()
        yield (process.pid, int(thread.name)), int(ran) / _NS


def _busy() -> float:
    times = psutil.cpu_times()
    return float(sum(times[:3]) if hasattr(times, "nice") else times.user + times.system)
