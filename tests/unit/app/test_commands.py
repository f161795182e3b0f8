"""The commands that ask a running Bridge: what they print, and what they exit with."""

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from bridge_agent import doctor
from bridge_agent.app import commands
from bridge_agent.base.errors import BridgeError, ExitCode, TryLater
from bridge_agent.page import control
from bridge_agent.settings import Address


@contextmanager
def page(folder: Path, status: int, body: object) -> Iterator[list[tuple[str, str, object]]]:
    """A page that gives one answer to everything, announced in a data folder; yields what it was asked."""
    asked: list[tuple[str, str, object]] = []

    class Answers(BaseHTTPRequestHandler):
        def answer(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            asked.append((self.command, self.path, json.loads(raw) if raw else None))
            self.send_response(status)
            self.end_headers()
            if body is not None:
                self.wfile.write(json.dumps(body).encode())

        do_GET = do_PUT = do_POST = do_DELETE = answer

        def log_message(self, *_: object) -> None:
            """Stay silent."""

    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        control.announce(folder, Address("127.0.0.1", 0), server.server_port)
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield asked
        finally:
            server.shutdown()
            thread.join()


def test_a_password_is_set_from_standard_input_and_told_as_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("long enough\n"))
    with page(tmp_path, 200, {"set": True}) as asked:
        assert commands.password(tmp_path, as_json=True) is ExitCode.DONE
    assert asked == [("PUT", "/api/password", {"password": "long enough"})]
    assert json.loads(capsys.readouterr().out) == {"set": True}


@pytest.mark.parametrize(("status", "error"), [(503, TryLater), (409, BridgeError)])
def test_a_refusal_is_the_pages_own_sentence(tmp_path: Path, status: int, error: type[BridgeError]) -> None:
    said = {"error": {"code": "x", "message": "Said so."}}
    with page(tmp_path, status, said), pytest.raises(error, match="Said so") as caught:
        commands.status(tmp_path, as_json=True)
    assert type(caught.value) is error


def test_the_paths_name_every_folder_that_is_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BRIDGE_WORKER_DATA_DIR", str(tmp_path / "worker"))
    assert commands.paths(tmp_path, as_json=True) is ExitCode.DONE
    told = json.loads(capsys.readouterr().out)
    assert told["worker_data"] == str(tmp_path / "worker")
    assert {"bridge_data", "home_server_data", "worker_data", "demo"} <= set(told)
    commands.paths(tmp_path, as_json=False)
    assert f"{tmp_path / 'worker'}\n" in capsys.readouterr().out


def test_the_doctor_is_told_of_the_bridge_that_runs_on_this_very_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[doctor.Running | None] = []

    async def examine(*_: object, running: doctor.Running | None) -> list[doctor.Finding]:
        found.append(running)
        return []

    monkeypatch.setattr(doctor, "run", examine)
    problem = "The port is taken; choose another."
    with page(tmp_path, 200, {"workers": [], "problem": problem, "model": None}):
        commands.doctor(tmp_path, as_json=True)
    assert [(each.url.partition(":")[0], each.workers_problem) for each in found if each] == [
        ("http", problem)
    ]
    commands.doctor(tmp_path, as_json=True)
    for status, foreign in ((200, {}), (200, [1]), (404, {}), (401, {"error": {"message": "No."}})):
        with page(tmp_path, status, foreign):
            commands.doctor(tmp_path, as_json=True)
    assert found[1:] == [None] * 5


def test_a_folder_without_a_bridge_is_one_to_try_later(tmp_path: Path) -> None:
    with pytest.raises(TryLater) as caught:
        commands.status(tmp_path, as_json=True)
    assert caught.value.exit_code is ExitCode.TRY_LATER
    assert str(tmp_path) in caught.value.message
