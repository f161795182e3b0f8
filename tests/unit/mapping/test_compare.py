"""Comparing is quick on a quick disk, patient with a slow one, and done with a dead one."""

import os
import threading
import time
from pathlib import Path

import pytest

from bridge_agent.mapping import compare
from bridge_agent.mapping.compare import Comparison, Findings, NoAnswer
from bridge_agent.mapping.resolve import Seen
from tests.unit.mapping.trees import listed, plant
from tests.unit.verify.rig import HurriedClock

SLOW_S = 0.002


class SlowDisk:
    """Lets every file below a root take its time, and one of them for ever; counts who asks at once."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, root: Path, hang: str = "") -> None:
        self.back = threading.Event()
        self.most_at_once = 0
        self._asking = 0
        self._lock = threading.Lock()
        self._real = os.lstat
        self._root, self._hang = str(root), hang
        monkeypatch.setattr(os, "lstat", self.lstat)

    def lstat(self, path: str) -> os.stat_result:
        if str(path).startswith(self._root):
            self._count(1)
            time.sleep(SLOW_S)
            if self._hang and str(path).endswith(self._hang):
                self.back.wait(10)
            self._count(-1)
        return self._real(path)

    def _count(self, change: int) -> None:
        with self._lock:
            self._asking += change
            self.most_at_once = max(self.most_at_once, self._asking)


async def test_all_files_of_a_slow_folder_are_compared_by_several_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {f"A/{n:03}.mp3": n for n in range(200)}
    plant(tmp_path, files)
    wrong = listed(files | {"A/007.mp3": 1, "A/199.mp3": 1})
    disk = SlowDisk(monkeypatch, tmp_path)
    told: list[int] = []
    findings = await Comparison(tmp_path, HurriedClock(), 20).run(wrong, told.append)
    assert 1 < disk.most_at_once <= 4
    assert [one.file.path for one in findings.wrong] == ["A/007.mp3", "A/199.mp3"]
    assert findings.matched == 198
    assert told == sorted(told)
    assert told[-1] == 200


async def test_a_quick_folder_is_left_to_one_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare, "_BLOCK", 20)
    monkeypatch.setattr(compare, "_SLOW_S", 10)
    files = plant(tmp_path, {f"A/{n:03}.mp3": n for n in range(60)})
    disk = SlowDisk(monkeypatch, tmp_path)
    assert (await Comparison(tmp_path, HurriedClock()).run(files)).matched == 60
    assert disk.most_at_once == 1


async def test_one_file_that_never_answers_ends_it_while_others_still_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    files = plant(tmp_path, {f"A/{n:03}.mp3": n for n in range(200)})
    disk = SlowDisk(monkeypatch, tmp_path, "150.mp3")
    try:
        with pytest.raises(NoAnswer, match=r"did not answer within 0\.5 s; check that the drive"):
            await Comparison(tmp_path, HurriedClock(), 0.5).run(files)
    finally:
        disk.back.set()
    assert caplog.records == []


async def test_a_slow_disk_is_not_a_dead_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare, "_ABREAST", 1)
    monkeypatch.setattr(compare, "_TURN_S", 0.02)
    files = plant(tmp_path, {f"A/{n:03}.mp3": n for n in range(250)})
    SlowDisk(monkeypatch, tmp_path)
    # All together take longer than the limit, which counts from the last sign of life.
    findings = await Comparison(tmp_path, HurriedClock(), 0.4).run(files)
    assert findings.matched == 250


async def test_a_good_book_is_never_looked_at_twice(tmp_path: Path) -> None:
    clock = HurriedClock()
    await Comparison(tmp_path, clock).run(plant(tmp_path, {"A/1.mp3": 1}))
    assert clock.slept == []


async def test_an_absolute_path_after_one_in_the_root_is_still_not_found(tmp_path: Path) -> None:
    plant(tmp_path, {"1.mp3": 1, "2.mp3": 1})
    files = listed({"1.mp3": 1, "/2.mp3": 1, "//2.mp3": 1, "2.mp3": 1})
    findings = await Comparison(tmp_path, HurriedClock()).run(files)
    assert [one.file.path for one in findings.wrong] == ["/2.mp3", "//2.mp3"]


def test_of_more_than_are_shown_the_differing_come_first_and_keep_their_order() -> None:
    files = listed({str(n): 1 for n in range(6)})
    findings = Findings(files, {4: Seen(2), 1: Seen(1, None, other_form=True), 3: Seen(3)})
    assert [one.file.path for one in findings.shown(6)] == list("012345")
    assert [one.file.path for one in findings.shown(5)] == list("34012")
    assert [one.file.path for one in findings.shown(1)] == ["3"]
    assert (findings.total, findings.matched) == (6, 4)
