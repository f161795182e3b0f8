"""The meter: what a process and its children used of the processor, and how long they waited for it."""

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import psutil

_LOOK_S = 0.25
_NS = 1e9
_WORKS = 0.05


@dataclass(frozen=True)
class Cost:
    """Seconds by the clock, processor seconds, and seconds that threads stood in line for a processor.

    `others` is which share of the machine everybody else used meanwhile.
    """

    wall: float
    cpu: float
    waited: float
    others: float

    def undisturbed(self, lanes: int = 1) -> float:
        """Return the seconds it had taken with a processor free for each lane whenever it wanted one."""
        return self.wall - self.waited / lanes

    def said(self) -> str:
        """Say it for a table's note."""
        return f"{self.wall:.0f} s by the clock, {self.cpu:.0f} s of processor, others {self.others:.0%} busy"


class Meter:
    """Measures a process with all its children between `with` and its end; they may come and go."""

    def __init__(self, pid: int | None = None) -> None:
        self._root = psutil.Process(pid)
        self._ended = threading.Event()
        self._seen: dict[tuple[int, int], tuple[float, float]] = {}
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
        cpu, waited = self._sums()
        others = (_busy() - self._busy_before - cpu) / (wall * (os.cpu_count() or 1))
        self.cost = Cost(wall, cpu, waited, max(0.0, others))

    def _sums(self) -> tuple[float, float]:
        """Return all processor seconds, and the seconds in line of the threads that do the work."""
        used = []
        for who, (ran, waited) in self._seen.items():
            ran_before, waited_before = self._before.get(who, (0.0, 0.0))
            used.append((ran - ran_before, waited - waited_before))
        cpu = sum(ran for ran, _ in used)
        # Threads that hardly run wait beside the work, and not in its way.
        return cpu, sum(waited for ran, waited in used if ran >= _WORKS * cpu)

    def _look(self) -> None:
        while not self._ended.wait(_LOOK_S):
            self._seen.update(self._threads())

    def _threads(self) -> Iterator[tuple[tuple[int, int], tuple[float, float]]]:
        try:
            processes = [self._root, *self._root.children(recursive=True)]
        except psutil.NoSuchProcess:
            return
        for process in processes:
            try:
                yield from _of(process)
            except (psutil.Error, OSError, ValueError):
                continue  # It has ended between two looks: what was seen last counts.


def _of(process: psutil.Process) -> Iterator[tuple[tuple[int, int], tuple[float, float]]]:
    """Return each thread's processor seconds and its seconds in line, as far as the system tells them."""
    if not Path("/proc/self/schedstat").exists():
        times = process.cpu_times()
        yield (process.pid, 0), (times.user + times.system, 0.0)
        return
    for thread in Path(f"/proc/{process.pid}/task").iterdir():
        ran, waited, _ = (thread / "schedstat").read_text().split()
        yield (process.pid, int(thread.name)), (int(ran) / _NS, int(waited) / _NS)


def _busy() -> float:
    times = psutil.cpu_times()
    return float(sum(times[:3]) if hasattr(times, "nice") else times.user + times.system)
