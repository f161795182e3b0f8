"""The commands about workers: what they ask the running Bridge, and what they print."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bridge_agent.app import commands_workers
from bridge_agent.base.errors import BridgeError, ExitCode
from tests.unit.app.test_commands import page

TOKEN = "wrk_" + "a" * 43
MADE = {
    "id": 3,
    "name": "games-room",
    "token": TOKEN,
    "url": "https://10.0.0.5:13381",
    "fingerprint": "ab" * 32,
}
ROW = {
    "id": 3,
    "name": "games-room",
    "model": "large-v3",
    "created_at": "2026-01-01T00:00:00.000Z",
    "last_seen_at": None,
    "state": "offline",
}

Capture = pytest.CaptureFixture[str]


def test_adding_prints_the_token_once_and_lines_that_do_not_hold_it(tmp_path: Path, capsys: Capture) -> None:
    with page(tmp_path, 201, MADE) as asked:
        assert commands_workers.add("games-room", "large-v3", tmp_path, False) is ExitCode.DONE
    assert asked == [("POST", "/api/workers/tokens", {"name": "games-room", "model": "large-v3"})]
    told = capsys.readouterr().out
    assert told.count(TOKEN) == 1
    assert f"worker --url https://10.0.0.5:13381 --fingerprint {'ab' * 32}" in told
    assert "BRIDGE_SPEECH_MODEL=large-v3" in told


def test_adding_as_json_is_the_answer_itself(tmp_path: Path, capsys: Capture) -> None:
    with page(tmp_path, 201, MADE) as asked:
        commands_workers.add("games-room", None, tmp_path, True)
    assert asked == [("POST", "/api/workers/tokens", {"name": "games-room", "model": None})]
    assert json.loads(capsys.readouterr().out) == MADE


def test_the_model_is_the_one_that_the_running_bridge_names_whatever_this_terminal_is_told(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BRIDGE_SPEECH_MODEL", "tiny")
    with page(tmp_path, 201, {**MADE, "model": "medium"}):
        commands_workers.add("games-room", None, tmp_path, False)
    assert "BRIDGE_SPEECH_MODEL=medium" in capsys.readouterr().out
    with page(tmp_path, 201, {**MADE, "model": None}):
        commands_workers.add("games-room", None, tmp_path, False)
    assert "BRIDGE_SPEECH_MODEL" not in capsys.readouterr().out


def test_the_list_names_each_workers_state(tmp_path: Path, capsys: Capture) -> None:
    with page(tmp_path, 200, {"workers": [ROW]}) as asked:
        commands_workers.list_(tmp_path, False)
    assert asked == [("GET", "/api/workers", None)]
    assert capsys.readouterr().out == "   3  games-room  offline  has not called in yet  large-v3\n"
    deaf = {**ROW, "reason": "it gives its parts back and says “No model is here.”"}
    with page(tmp_path, 200, {"workers": [deaf]}):
        commands_workers.list_(tmp_path, False)
    assert (
        capsys.readouterr().out.splitlines()[1]
        == "      it gives its parts back and says “No model is here.”"
    )
    with page(tmp_path, 200, {"workers": []}):
        commands_workers.list_(tmp_path, False)
    assert "token add NAME" in capsys.readouterr().out


@pytest.mark.parametrize("called", ["games-room", "3"])
@pytest.mark.parametrize(
    ("command", "method", "path", "told"),
    [
        (commands_workers.pause, "POST", "/api/workers/tokens/3/pause", {"paused": True}),
        (commands_workers.resume, "POST", "/api/workers/tokens/3/resume", {"paused": False}),
        (commands_workers.revoke, "DELETE", "/api/workers/tokens/3", {"revoked": True}),
    ],
)
def test_a_worker_is_paused_resumed_and_revoked_by_its_name_or_id(
    tmp_path: Path,
    capsys: Capture,
    called: str,
    command: Callable[[str, Path, bool], ExitCode],
    method: str,
    path: str,
    told: dict[str, object],
) -> None:
    others = [{**ROW, "id": 1, "name": "attic"}, ROW]
    with page(tmp_path, 200, {"workers": others}) as asked:
        assert command(called, tmp_path, True) is ExitCode.DONE
    assert asked[-1] == (method, path, None)
    assert json.loads(capsys.readouterr().out) == {"id": 3, **told}


def test_a_name_goes_before_an_id(tmp_path: Path) -> None:
    rows = [{**ROW, "id": 7}, {**ROW, "id": 8, "name": "7"}]
    with page(tmp_path, 200, {"workers": rows}) as asked:
        commands_workers.pause("7", tmp_path, False)
    assert asked[-1][1] == "/api/workers/tokens/8/pause"


def test_nobody_by_that_name_is_told(tmp_path: Path) -> None:
    none = pytest.raises(BridgeError, match="No worker is called “attic”.*token list")
    with page(tmp_path, 200, {"workers": [ROW]}) as asked, none:
        commands_workers.revoke("attic", tmp_path, False)
    assert [method for method, _, _ in asked] == ["GET"]


def test_a_refusal_is_the_pages_own_sentence(tmp_path: Path) -> None:
    said = {"error": {"code": "not_found", "message": "No worker has this id; look at the list."}}
    with page(tmp_path, 404, said), pytest.raises(BridgeError, match="No worker has this id"):
        commands_workers.revoke("9", tmp_path, False)
