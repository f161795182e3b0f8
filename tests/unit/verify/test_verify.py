"""bridge.verify to the letter: its steps, its words, its result (R-099 … R-108)."""

import asyncio
import errno
import os
import threading
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from bridge_agent.base.errors import BridgeError
from bridge_agent.base.tasks import Tasks
from bridge_agent.jobs.handlers import verify
from bridge_agent.jobs.handlers.asking import NoList
from bridge_agent.jobs.handlers.verify import BadParams, hold_seconds
from bridge_agent.link import answers
from bridge_agent.link.answers import Answer
from bridge_agent.link.errors import AwayKind, Rejected, ServerAway
from bridge_agent.mapping import compare
from bridge_agent.protocol.bridge import BookFile, Progress
from tests.unit.mapping.trees import listed, names_in, plant, tree_hash
from tests.unit.verify.rig import Rig

GOOD = {"A/B/01.mp3": 100, "A/B/02.mp3": 200}


def good(tmp_path: Path) -> Rig:
    return Rig(tmp_path, plant(tmp_path, GOOD))


@pytest.mark.requirement("R-106", "R-100")
async def test_a_good_book_gives_the_golden_result(tmp_path: Path) -> None:
    rig = good(tmp_path)
    assert await rig.done() == {
        "library_id": 1,
        "mount_path": str(tmp_path),
        "path": "A/B",
        "files": [
            {"path": "A/B/01.mp3", "size": 100, "expected_size": 100, "ok": True},
            {"path": "A/B/02.mp3", "size": 200, "expected_size": 200, "ok": True},
        ],
        "writable": True,
        "elapsed_ms": 0,
    }
    assert rig.seen == [(1, True)]


@pytest.mark.requirement("R-105", "R-100", "R-101", "R-102", "R-103", "R-104")
async def test_steps_and_messages_are_exactly_those_of_the_protocol(tmp_path: Path) -> None:
    rig = good(tmp_path)
    await rig.done(hold_seconds=2)
    assert rig.said == [
        Progress(step="mapping", message="Finding the library"),
        Progress(step="lookup", message="Asking the server for the book's files"),
        Progress(step="stat", message="Comparing the files", done=0, total=2),
        Progress(step="stat", message="Comparing the files", done=2, total=2),
        Progress(step="writable", message="Checking the book's folder can be written"),
        Progress(step="hold", message="Holding, as asked", done=0, total=2),
        Progress(step="hold", message="Holding, as asked", done=1, total=2),
        Progress(step="hold", message="Holding, as asked", done=2, total=2),
    ]


@pytest.mark.requirement("R-101")
async def test_the_server_is_asked_once_for_the_jobs_book(tmp_path: Path) -> None:
    rig = good(tmp_path)
    await rig.done()
    assert rig.books.asked == [(1, "A/B")]


@pytest.mark.requirement("R-100")
async def test_a_library_that_is_not_listed_fails_before_the_server_is_asked(tmp_path: Path) -> None:
    rig = good(tmp_path)
    with pytest.raises(BridgeError, match="no library 2"):
        await rig.run(library_id=2)
    assert rig.books.asked == []
    assert rig.steps == ["mapping"]


@pytest.mark.requirement("R-101")
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            Rejected(404, "not_found", "No such book."),
            r"know the book A/B any more \(No such book.\); scan the",
        ),
        (Rejected(400, "invalid", "No such thing."), "No such thing."),
        (ServerAway("The server answered 500.", kind="server_error"), "answered 500"),
    ],
)
async def test_a_book_that_the_server_does_not_give_fails_with_its_reason(
    tmp_path: Path, answer: BridgeError, said: str
) -> None:
    rig = good(tmp_path)
    rig.books.answer = answer
    with pytest.raises(BridgeError, match=said):
        await rig.run()
    assert rig.steps == ["mapping", "lookup"]
    assert len(rig.books.asked) == 1


@pytest.mark.requirement("R-091")
async def test_a_server_that_is_away_for_a_moment_is_asked_again(tmp_path: Path) -> None:
    rig = good(tmp_path)
    book, rig.books.answer = rig.books.answer, ServerAway("Busy.", 7.0, kind="busy")

    def come_back(seconds: float) -> None:
        if len(rig.books.asked) == 3:
            rig.books.answer = book

    rig.clock.at_sleep = come_back
    await rig.done()
    assert rig.clock.slept == [7.0, 7.0, 7.0]
    assert rig.steps == ["mapping", "lookup", "stat", "writable"]


@pytest.mark.parametrize("kind", ["redirected", "not_a_server"])
async def test_a_proxys_answer_in_place_of_the_list_is_asked_past(tmp_path: Path, kind: AwayKind) -> None:
    rig = good(tmp_path)
    book, rig.books.answer = rig.books.answer, ServerAway("A login page.", kind=kind)
    rig.clock.at_sleep = lambda seconds: setattr(rig.books, "answer", book)
    assert (await rig.done())["files"]


async def test_a_job_that_failed_is_not_said_to_be_tried_again(tmp_path: Path) -> None:
    rig = good(tmp_path)
    broken = answers.busy_or_broken(Answer(500, {}, b"", "http://home/"))
    rig.books.answer = broken
    assert broken.message.endswith("The Bridge tries again by itself.")
    with pytest.raises(NoList) as caught:
        await rig.run()
    assert "queue the job anew" in caught.value.message
    assert "by itself" not in caught.value.message


async def test_a_server_that_stays_away_fails_the_job_in_the_end(tmp_path: Path) -> None:
    rig = good(tmp_path)
    rig.books.answer = ServerAway("The server can’t be reached.", 3600.0)
    with pytest.raises(NoList, match="can’t be reached"):
        await rig.run()
    assert len(rig.books.asked) == 6
    assert sum(rig.clock.slept) <= 75


@pytest.mark.requirement("R-107", "R-108")
async def test_a_missing_file_fails_the_job_with_its_result(tmp_path: Path) -> None:
    plant(tmp_path, {"A/B/01.mp3": 100})
    rig = Rig(tmp_path, listed(GOOD))
    error, result = await rig.failed()
    assert result["files"][1] == {
        "path": "A/B/02.mp3",
        "size": 0,
        "expected_size": 200,
        "ok": False,
        "error": "not found here",
    }
    assert "error" not in result["files"][0]
    assert error.startswith("1 of 2 files differ from the server’s list, the first is A/B/02.mp3 (not found")


@pytest.mark.requirement("R-107", "R-103")
async def test_a_size_that_differs_is_told_with_both_sizes_and_nothing_is_probed(tmp_path: Path) -> None:
    plant(tmp_path, {"A/B/01.mp3": 99, "A/B/02.mp3": 200})
    before = (tmp_path / "A/B").stat().st_mtime_ns
    rig = Rig(tmp_path, listed(GOOD))
    _, result = await rig.failed()
    assert result["files"][0]["error"] == "size differs: 99 bytes here, 100 on the server"
    assert (result["writable"], result["writable_error"]) == (False, "not checked")
    assert "writable" not in rig.steps
    assert (tmp_path / "A/B").stat().st_mtime_ns == before


@pytest.mark.requirement("R-107")
async def test_permission_denied_is_a_verdict_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = good(tmp_path)
    real = os.lstat

    def lstat(path: str) -> os.stat_result:
        if str(path).endswith("01.mp3"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "lstat", lstat)
    error, result = await rig.failed()
    assert result["files"][0]["error"] == "permission denied"
    assert error.endswith("let the user that the Bridge runs as read the library, then verify again.")
    assert rig.clock.slept == []


async def test_an_error_of_the_disk_is_told_file_by_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = good(tmp_path)
    real = os.lstat

    def lstat(path: str) -> os.stat_result:
        if str(path).endswith("01.mp3"):
            raise OSError(errno.EIO, "Input/output error", path)
        return real(path)

    monkeypatch.setattr(os, "lstat", lstat)
    _, result = await rig.failed()
    assert result["files"][0]["error"] == f"cannot be looked at: {os.strerror(errno.EIO)}"
    assert result["files"][1]["ok"]


async def test_a_size_that_settles_within_two_seconds_is_no_difference(tmp_path: Path) -> None:
    plant(tmp_path, {"A/B/01.mp3": 150, "A/B/02.mp3": 200})
    rig = Rig(tmp_path, listed(GOOD))
    rig.clock.at_sleep = lambda seconds: os.truncate(tmp_path / "A/B/01.mp3", 100)
    result = await rig.done()
    assert [file["ok"] for file in result["files"]] == [True, True]
    assert result["elapsed_ms"] == 2000
    assert rig.clock.slept == [2.0]


async def test_a_file_that_appears_within_two_seconds_is_found(tmp_path: Path) -> None:
    plant(tmp_path, {"A/B/01.mp3": 100})
    rig = Rig(tmp_path, listed(GOOD))
    rig.clock.at_sleep = lambda seconds: plant(tmp_path, {"A/B/02.mp3": 200}) and None
    assert (await rig.done())["writable"] is True


@pytest.mark.requirement("R-106")
async def test_of_sixty_files_fifty_are_told_the_differing_ones_first(tmp_path: Path) -> None:
    files = {f"A/B/{n:02}.mp3": 10 for n in range(60)}
    plant(tmp_path, {path: size for path, size in files.items() if path != "A/B/57.mp3"})
    os.truncate(tmp_path / "A/B/59.mp3", 3)
    rig = Rig(tmp_path, listed(files))
    error, result = await rig.failed()
    assert len(result["files"]) == 50
    assert [file["path"] for file in result["files"][:3]] == ["A/B/57.mp3", "A/B/59.mp3", "A/B/00.mp3"]
    assert [file["ok"] for file in result["files"]] == [False, False] + [True] * 48
    assert error.startswith("2 of 60 files differ")
    assert [p.done for p in rig.said if p.step == "stat"][-1] == 60


@pytest.mark.requirement("R-106")
async def test_fifty_files_stay_in_the_servers_order(tmp_path: Path) -> None:
    files = {f"A/B/{n:02}.mp3": 10 for n in range(50)}
    plant(tmp_path, files)
    (tmp_path / "A/B/49.mp3").unlink()
    _, result = await Rig(tmp_path, listed(files)).failed()
    assert [file["path"] for file in result["files"]] == list(files)


async def test_a_book_without_files_is_done_and_its_folder_probed(tmp_path: Path) -> None:
    plant(tmp_path, {"A/B/cover.jpg": 1})
    result = await Rig(tmp_path, []).done()
    assert result["files"] == []
    assert result["writable"] is True


@pytest.mark.requirement("R-102")
async def test_done_runs_from_nothing_to_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare, "_BLOCK", 10)
    rig = Rig(tmp_path, plant(tmp_path, {f"A/B/{n:02}.mp3": 0 for n in range(35)}))
    await rig.done()
    told = [p.done for p in rig.said if p.step == "stat" and p.done is not None]
    assert (told[0], told[-1]) == (0, 35)
    assert told == sorted(told)
    assert len(set(told)) >= 4
    assert {p.total for p in rig.said if p.step == "stat"} == {35}


@pytest.mark.requirement("R-106")
async def test_a_name_in_another_unicode_form_is_told_and_keeps_the_servers_path(tmp_path: Path) -> None:
    composed = unicodedata.normalize("NFC", "Zoë/Café 🎧.mp3")
    plant(tmp_path, {unicodedata.normalize("NFD", composed): 5})
    rig = Rig(tmp_path, listed({composed: 5}), path=unicodedata.normalize("NFC", "Zoë"))
    result = await rig.done()
    assert result["files"] == [{"path": composed, "size": 5, "expected_size": 5, "ok": True}]
    told = [p.message for p in rig.said if p.step == "stat"]
    assert told[0] == "Comparing the files"
    assert told[-1] == "Comparing the files; 1 name found in another Unicode form"


async def test_two_names_that_could_be_meant_are_told_as_the_reason(tmp_path: Path) -> None:
    plant(tmp_path, {"A/e\u0301\u00e9.mp3": 5, "A/\u00e9e\u0301.mp3": 5})
    rig = Rig(tmp_path, listed({"A/\u00e9\u00e9.mp3": 5}), path="A")
    _, result = await rig.failed()
    assert result["files"][0]["error"] == "not found here"
    assert "two names here differ from it only in their Unicode form" in rig.said[-1].message


@pytest.mark.requirement("R-099")
@pytest.mark.parametrize(
    "path", ["../secret.mp3", "/etc/hostname", "A/B/\0.mp3", "A/B/../../../secret.mp3", "A/link/secret.mp3"]
)
async def test_a_server_can_make_it_look_nowhere_else(tmp_path: Path, path: str) -> None:
    root = tmp_path / "library"
    plant(root, {"A/B/01.mp3": 100})
    plant(tmp_path, {"secret.mp3": 7})
    (root / "A/link").symlink_to(tmp_path)
    rig = Rig(root, [BookFile(path="A/B/01.mp3", size=100), BookFile(path=path, size=7)])
    _, result = await rig.failed()
    assert result["files"][1] == {
        "path": path,
        "size": 0,
        "expected_size": 7,
        "ok": False,
        "error": "not found here",
    }


@pytest.mark.requirement("R-099")
@pytest.mark.parametrize("path", ["../elsewhere", "/", "A/link", "A\0", "A/B/nothing"])
async def test_a_server_can_make_it_probe_nowhere_else(tmp_path: Path, path: str) -> None:
    root, elsewhere = tmp_path / "library", tmp_path / "elsewhere"
    files = plant(root, {"A/B/01.mp3": 100})
    elsewhere.mkdir()
    (root / "A/link").symlink_to(elsewhere)
    before = elsewhere.stat().st_mtime_ns
    result = await Rig(root, files, path=path).done()
    assert (result["writable"], result["writable_error"]) == (False, "the book’s folder is not found here")
    assert elsewhere.stat().st_mtime_ns == before


@pytest.mark.requirement("R-103")
async def test_the_probe_is_made_and_removed_in_the_books_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = good(tmp_path)
    made: list[Path] = []
    real = os.open

    def opened(path: Any, flags: int, *rest: Any, **named: Any) -> int:
        if flags & os.O_CREAT:
            made.append(Path(path))
        return real(path, flags, *rest, **named)

    monkeypatch.setattr(os, "open", opened)
    await rig.done()
    (probe,) = made
    assert probe.parent == tmp_path / "A/B"
    assert probe.name.startswith(".bridge-probe-")
    assert names_in(tmp_path / "A/B") == ["01.mp3", "02.mp3"]


@pytest.mark.requirement("R-103")
async def test_a_book_of_one_file_in_the_root_probes_the_folder_that_holds_it(tmp_path: Path) -> None:
    files = plant(tmp_path, {"One.m4b": 4})
    before = tmp_path.stat().st_mtime_ns
    result = await Rig(tmp_path, files, path="One.m4b").done()
    assert result["writable"] is True
    assert tmp_path.stat().st_mtime_ns > before
    assert names_in(tmp_path) == ["One.m4b"]


@pytest.mark.requirement("R-103", "R-107")
async def test_a_folder_that_refuses_is_no_mismatch_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = good(tmp_path)
    real = os.open

    def refuse(path: Any, flags: int, *rest: Any, **named: Any) -> int:
        if flags & os.O_CREAT:
            raise OSError(errno.EROFS, "Read-only file system", path)
        return real(path, flags, *rest, **named)

    monkeypatch.setattr(os, "open", refuse)
    result = await rig.done()
    assert (result["writable"], result["writable_error"]) == (False, "the file system is read-only")


@pytest.mark.requirement("R-104")
async def test_it_holds_for_as_long_as_asked_and_counts_the_whole_run(tmp_path: Path) -> None:
    rig = good(tmp_path)
    result = await rig.done(hold_seconds=5)
    assert [p.done for p in rig.said if p.step == "hold"] == [0, 1, 2, 3, 4, 5]
    assert {p.total for p in rig.said if p.step == "hold"} == {5}
    assert result["elapsed_ms"] == 5000


@pytest.mark.requirement("R-104")
async def test_a_mismatch_holds_too_before_it_fails(tmp_path: Path) -> None:
    plant(tmp_path, {"A/B/01.mp3": 100})
    rig = Rig(tmp_path, listed(GOOD))
    _, result = await rig.failed(hold_seconds=3)
    assert rig.steps == ["mapping", "lookup", "stat", "hold"]
    assert result["elapsed_ms"] == 5000


@pytest.mark.requirement("R-098")
@pytest.mark.parametrize("value", [-1, 601, "5", None, True, float("nan"), float("inf"), [1]])
async def test_params_are_checked_here_too(tmp_path: Path, value: object) -> None:
    rig = good(tmp_path)
    with pytest.raises(BadParams, match="from 0 to 600"):
        await rig.run(hold_seconds=value)
    assert rig.said == []


@pytest.mark.requirement("R-098")
def test_params_without_a_hold_hold_not_at_all() -> None:
    assert hold_seconds({}) == 0
    assert hold_seconds({"hold_seconds": 600, "later": "field"}) == 600


@pytest.mark.parametrize("state", ["vanished", "empty", "a file", "only what systems put there"])
async def test_a_root_that_is_not_there_is_a_library_not_seen_and_no_missing_files(
    tmp_path: Path, state: str
) -> None:
    root = tmp_path / "mount"
    if state == "a file":
        root.write_text("x")
    elif state != "vanished":
        root.mkdir()
    if state == "only what systems put there":
        (root / "lost+found").mkdir()
        (root / ".DS_Store").touch()
    rig = Rig(root, listed(GOOD))
    error, result = await rig.failed()
    assert rig.seen == [(1, False)]
    assert error.startswith("This machine does not see the library now: ")
    assert "“Books”" in error
    assert error.endswith("then try again.")
    assert result["files"] == []
    assert result["mount_path"] == str(root)
    assert (result["writable"], result["writable_error"]) == (False, "not checked")


async def test_a_root_that_is_no_path_of_this_machine_is_never_looked_for_in_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = plant(tmp_path / "Z:\\Books", GOOD)
    error, result = await Rig(Path("Z:\\Books"), files).failed()
    assert "is not a folder’s full path on this machine" in error
    assert result["files"] == []


async def test_a_library_that_goes_away_while_it_is_looked_at_is_not_seen(tmp_path: Path) -> None:
    root = tmp_path / "mount"
    files = plant(root, GOOD)
    os.truncate(root / "A/B/01.mp3", 1)
    os.truncate(root / "A/B/02.mp3", 1)
    rig = Rig(root, files)
    rig.clock.at_sleep = lambda seconds: root.rename(tmp_path / "unplugged") and None
    error, result = await rig.failed()
    assert error.startswith("This machine does not see the library now: ")
    assert result["files"] == []


async def test_a_stale_share_is_a_library_not_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rig = good(tmp_path)
    real = os.lstat

    def lstat(path: str) -> os.stat_result:
        if str(path).endswith("02.mp3"):
            raise OSError(errno.ESTALE, "Stale file handle", path)
        return real(path)

    monkeypatch.setattr(os, "lstat", lstat)
    error, result = await rig.failed()
    assert error.startswith("This machine does not see the library now: ")
    assert result["files"] == []


@pytest.mark.parametrize("hangs", ["lstat", "scandir", "open"])
async def test_a_dead_mount_ends_in_its_limit_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hangs: str
) -> None:
    rig = good(tmp_path)
    rig.limit_s = 0.1
    back = threading.Event()
    real = getattr(os, hangs)

    def hang(path: Any, *rest: Any, **named: Any) -> Any:
        if str(path).startswith(str(tmp_path)):
            back.wait(10)
        return real(path, *rest, **named)

    monkeypatch.setattr(os, hangs, hang)
    try:
        outcome = await rig.run()
    finally:
        back.set()
    said = getattr(outcome, "error", None) or outcome.result["writable_error"]  # type: ignore[union-attr]
    assert f"the folder {tmp_path} did not answer within 0.1 s" in said.replace("The folder", "the folder")


async def test_a_dead_mount_frees_the_lane_while_its_thread_still_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = good(tmp_path)
    back, real = threading.Event(), os.lstat

    def hang(path: Any) -> Any:
        back.wait(10)
        return real(path)

    monkeypatch.setattr(os, "lstat", hang)
    tasks = Tasks("test")
    try:
        job = tasks.spawn(rig.run(), "verify")
        while not [p for p in rig.said if p.step == "stat"]:
            await asyncio.sleep(0.001)
        job.cancel()
        async with asyncio.timeout(1):
            with pytest.raises(asyncio.CancelledError):
                await job
    finally:
        back.set()


@pytest.mark.requirement("R-099")
async def test_the_library_is_the_same_before_and_after(tmp_path: Path) -> None:
    rig = good(tmp_path)
    before = tree_hash(tmp_path)
    await rig.done(hold_seconds=1)
    assert tree_hash(tmp_path) == before


@pytest.mark.requirement("R-099")
@pytest.mark.parametrize("step", ["mapping", "lookup", "stat", "writable", "hold"])
async def test_a_cancel_in_any_step_leaves_the_library_as_it_was(tmp_path: Path, step: str) -> None:
    rig = good(tmp_path)
    before = tree_hash(tmp_path)
    tasks = Tasks("test")

    def cancel_at(progress: Progress) -> None:
        if progress.step == step:
            job.cancel()

    rig.at = cancel_at
    job = tasks.spawn(rig.run(hold_seconds=10), "verify")
    with pytest.raises(asyncio.CancelledError):
        await job
    assert rig.steps[-1] == step
    assert tree_hash(tmp_path) == before


async def test_a_stop_waits_only_so_long_for_a_probe_on_a_dead_mount(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = good(tmp_path)
    monkeypatch.setattr(verify, "_TIDY_S", 0.05)
    back, real = threading.Event(), os.open

    def hang(path: Any, flags: int, *rest: Any, **named: Any) -> int:
        back.wait(10)
        return real(path, flags, *rest, **named)

    monkeypatch.setattr(os, "open", hang)
    tasks = Tasks("test")
    job = tasks.spawn(rig.run(), "verify")
    try:
        while rig.steps[-1:] != ["writable"]:
            await asyncio.sleep(0.001)
        job.cancel()
        async with asyncio.timeout(1):
            with pytest.raises(asyncio.CancelledError):
                await job
    finally:
        back.set()
    while len(names_in(tmp_path / "A/B")) > 2:
        await asyncio.sleep(0.001)


@pytest.mark.requirement("R-099")
async def test_a_cancel_while_the_probe_file_exists_waits_until_it_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = good(tmp_path)
    before = tree_hash(tmp_path)
    made, go_on = threading.Event(), threading.Event()
    real = os.close

    def close(handle: int) -> None:
        if any(name.startswith(".bridge-probe-") for name in names_in(tmp_path / "A/B")):
            made.set()
            go_on.wait(10)
        real(handle)

    monkeypatch.setattr(os, "close", close)
    tasks = Tasks("test")
    job = tasks.spawn(rig.run(), "verify")
    while not made.is_set():
        await asyncio.sleep(0.001)
    assert tree_hash(tmp_path) != before
    job.cancel()
    await asyncio.sleep(0.01)
    assert not job.done()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await job
    assert tree_hash(tmp_path) == before


async def test_nothing_is_probed_while_the_lease_can_t_be_believed_in(tmp_path: Path) -> None:
    rig = good(tmp_path)
    asked = 0
    modified = (tmp_path / "A" / "B").stat().st_mtime_ns

    def trusted() -> bool:
        nonlocal asked
        asked += 1
        assert (tmp_path / "A" / "B").stat().st_mtime_ns == modified
        return asked > 5

    rig.trusted = trusted
    assert (await rig.done())["writable"] is True
    assert asked == 6
