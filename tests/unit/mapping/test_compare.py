"""Comparing is quick on a quick disk, patient with a slow one, and done with a dead one."""

import os
import threading
import time
from pathlib import Path

import pytest

from bridge_agent.mapping.compare import Comparison, Findings, NoAnswer
from bridge_agent.mapping.resolve import Seen
from tests.unit.mapping.trees import listed, plant
from tests.unit.verify.rig import HurriedClock

SLOW_S = 0.002


def slow_disk(
    monkeypatch: pytest.MonkeyPatch, root: Path, hang: str = "", back: threading.Event | None = None
) -> None:
    """Let every file below the root take its time, and one of them for ever."""
    real = os.lstat

    def lstat(path: str) -> os.stat_result:
        if str(path).startswith(str(root)):
            time.sleep(SLOW_S)
            if hang and back is not None and str(path).endswith(hang):
                back.wait(10)
        return real(path)

    monkeypatch.setattr(os, "lstat", lstat)


async def test_all_files_of_a_slow_folder_are_compared_by_several_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {f"A/{n:03}.mp3": n for n in range(300)}
    plant(tmp_path, files)
    wrong = listed(files | {"A/007.mp3": 1, "A/299.mp3": 1})
    slow_disk(monkeypatch, tmp_path)
    began, told = time.monotonic(), []
    findings = await Comparison(tmp_path, HurriedClock(), 5).run(wrong, told.append)
    assert time.monotonic() - began < 300 * SLOW_S
    assert [one.file.path for one in findings.wrong] == ["A/007.mp3", "A/299.mp3"]
    assert findings.matched == 298
    assert told == sorted(told)
    assert told[-1] == 300


async def test_one_file_that_never_answers_ends_it_while_others_still_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    files = plant(tmp_path, {f"A/{n:03}.mp3": n for n in range(200)})
    back = threading.Event()
    slow_disk(monkeypatch, tmp_path, "150.mp3", back)
    try:
        with pytest.raises(NoAnswer, match=r"did not answer within 0\.3 s; check that the drive"):
            await Comparison(tmp_path, HurriedClock(), 0.3).run(files)
    finally:
        back.set()
    assert caplog.records == []


async def test_a_slow_disk_is_not_a_dead_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = plant(tmp_path, {f"A/{n:03}.mp3": n for n in range(250)})
    slow_disk(monkeypatch, tmp_path)
    findings = await Comparison(tmp_path, HurriedClock(), 0.3).run(files)
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
