"""`bridge-agent worker` up to its first question: settings, token, data folder."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from bridge_agent import __main__ as program
from bridge_agent.app import commands, worker
from bridge_agent.base import logs
from bridge_agent.base.errors import ExitCode
from bridge_agent.settings import WorkerSettings
from tests.fakes.clock import FakeClock

TOKEN = "wrk_" + "a" * 43
Start = Callable[..., tuple[int, str]]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Start:
    """Start a worker by its command line; return its exit code and all that it printed."""

    def begin(*words: str, **environ: str) -> tuple[int, str]:
        for name in [name for name in os.environ if name.startswith("BRIDGE_")]:
            monkeypatch.delenv(name)
        wanted = {"BRIDGE_WORKER_URL": "https://b:1", "BRIDGE_WORKER_TOKEN": TOKEN, **environ}
        wanted.setdefault("BRIDGE_WORKER_DATA_DIR", str(tmp_path / "worker"))
        for name, value in wanted.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(logs, "set_up", lambda *_: None)
        monkeypatch.setattr(sys, "argv", ["bridge-agent", "worker", *words])
        with pytest.raises(SystemExit) as end:
            program.main()
        said = capsys.readouterr()
        return int(end.value.code or 0), said.out + said.err

    return begin


@pytest.fixture
def no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a worker that may begin end at once."""

    async def run(_app: object) -> ExitCode:
        return ExitCode.DONE

    monkeypatch.setattr(worker, "run", run)


def content(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("by_option", [True, False])
def test_a_folder_with_other_content_is_refused_untouched(tmp_path: Path, start: Start, by_option: bool):
    (tmp_path / "audio").mkdir()
    (tmp_path / "audio" / "song.flac").write_text("mine")
    tmp_path.chmod(0o755)
    before = content(tmp_path)
    if by_option:
        code, said = start("--data-dir", str(tmp_path))
    else:
        code, said = start(BRIDGE_WORKER_DATA_DIR=str(tmp_path))
    assert code == 1
    assert said.startswith(f"bridge-agent: The folder {tmp_path} holds what no worker made")
    assert said.count("\n") == 1
    assert content(tmp_path) == before
    assert tmp_path.stat().st_mode & 0o777 == 0o755


@pytest.mark.usefixtures("no_run")
def test_its_own_folder_is_taken_again(tmp_path: Path, start: Start):
    assert start() == (0, "")
    (tmp_path / "worker" / "notes.txt").write_text("mine")
    assert start() == (0, "")


def test_a_folder_in_use_is_told_before_the_token_is_asked_for(
    tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch
):
    asked: list[str] = []
    monkeypatch.setattr(commands, "_ask_secretly", lambda prompt: asked.append(prompt) or "")
    with worker.held(tmp_path / "worker"):
        code, said = start(BRIDGE_WORKER_TOKEN="")
    assert (code, asked) == (75, [])
    assert "is in use by process" in said


@pytest.mark.parametrize("by_option", [True, False])
def test_a_folder_that_may_not_be_read_is_told_in_the_same_words(
    tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch, by_option: bool
):
    folder = tmp_path / "worker"
    folder.mkdir()
    true_access, true_read = os.access, Path.read_text

    def access(path: object, mode: int, **more: bool) -> bool:
        return str(path) != str(folder) and true_access(path, mode, **more)  # type: ignore[arg-type]

    def read_text(path: Path, *words: str | None, **more: str | None) -> str:
        if path.parent == folder:
            raise PermissionError(13, "Permission denied", str(path))
        return true_read(path, *words, **more)

    monkeypatch.setattr(os, "access", access)
    monkeypatch.setattr(Path, "read_text", read_text)
    code, said = start("--data-dir", str(folder)) if by_option else start()
    assert code == 2
    assert said.startswith("bridge-agent: The settings file")
    assert "choose another data folder with --data-dir" in said


@pytest.mark.parametrize("words", [("--token", TOKEN), (f"--token={TOKEN}",), (TOKEN,)])
def test_a_token_as_an_argument_is_refused_without_repeating_it(
    tmp_path: Path, start: Start, words: tuple[str, ...]
):
    code, said = start(*words)
    assert code == 2
    assert TOKEN not in said
    assert "type the token in when you are asked" in said
    assert "BRIDGE_WORKER_TOKEN or BRIDGE_WORKER_TOKEN_FILE" in said
    assert said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("environ", "sentence"),
    [
        ({"BRIDGE_WORKER_URL": f"https://x:{TOKEN}@b:1"}, "give the address alone"),
        ({"BRIDGE_WORKER_TOKEN": f"{TOKEN}\nb"}, "copy it once more"),
        ({"BRIDGE_WORKER_TOKEN": "wrk_é"}, "copy it once more"),
        ({"BRIDGE_SPEECH_PROCESSES": "0"}, "a worker could hear nothing; take it out here"),
    ],
)
def test_what_no_worker_can_begin_with_is_told_at_the_start(
    start: Start, environ: dict[str, str], sentence: str
):
    code, said = start(**environ)
    assert code == 2
    assert sentence in said
    assert said.count("\n") == 1
    assert "a" * 43 not in said


@pytest.mark.parametrize(
    ("refused", "at_work", "sentence"),
    [
        (False, True, "Ending when what is being heard is handed in"),
        (False, False, "Ending: nothing is being heard."),
        (True, True, "Ending at once: the Bridge refuses this worker"),
    ],
)
def test_a_signal_is_answered_by_what_it_comes_to(
    tmp_path: Path, refused: bool, at_work: bool, sentence: str
):
    told: list[str] = []
    drained: list[bool] = []
    settings = WorkerSettings(data_dir=tmp_path, url="https://b:1", token=TOKEN)
    app = worker.WorkerApp(settings, FakeClock(), worker.Asked(), told.append)
    app._worker = SimpleNamespace(  # type: ignore[assignment]
        refused=refused,
        at_work=at_work,
        drain=lambda: drained.append(True),
        give_up=lambda: drained.append(False),
    )
    app.drain()
    assert drained == [True]
    assert [line.startswith(sentence) for line in told] == [True]
    app.give_up()
    assert drained == [True, False]
    assert told[1:] == (["Ending at once: what is being heard is given back."] if at_work else [])
