"""Installing as a service: what is written and run on each system, and a system that refuses."""

import plistlib
import stat
import sys
from pathlib import Path

import pytest

from bridge_agent.app import service
from bridge_agent.base.errors import BridgeError


def test_linux_gets_a_user_unit_that_runs_this_very_installation(tmp_path):
    planned = service.planned("linux", tmp_path)
    assert planned.path == tmp_path / ".config/systemd/user/bridge-agent.service"
    text = planned.content.decode()
    assert f"ExecStart={sys.executable} -m bridge_agent run\n" in text
    assert "Type=notify\n" in text
    assert planned.commands[-1] == ("systemctl", "--user", "enable", "--now", "bridge-agent.service")


def test_macos_gets_an_agent_of_the_user_s_session(tmp_path):
    planned = service.planned("darwin", tmp_path)
    content = plistlib.loads(planned.content)
    assert content["ProgramArguments"] == [sys.executable, "-m", "bridge_agent", "run"]
    assert content["RunAtLoad"] is True
    assert planned.path is not None
    assert planned.path.parent == tmp_path / "Library" / "LaunchAgents"


def test_windows_gets_a_task_at_log_on(tmp_path):
    planned = service.planned("win32", tmp_path)
    assert planned.path is None
    assert planned.commands[0][:6] == ("schtasks", "/Create", "/F", "/SC", "ONLOGON", "/TN")


def fake_systemctl(folder: Path, code: int) -> None:
    program = folder / "systemctl"
    program.write_text(f'#!/bin/sh\necho "$@" >> "{folder}/asked"\necho no bus >&2\nexit {code}\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)


def test_installing_writes_the_unit_and_has_it_started(tmp_path, monkeypatch):
    fake_systemctl(tmp_path, 0)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    planned = service.planned("linux", tmp_path / "home")
    done = service.install(planned)
    assert planned.path is not None
    assert planned.path.read_bytes() == planned.content
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked == ["--user daemon-reload", "--user enable --now bridge-agent.service"]
    assert any("each log-on" in sentence for sentence in done)


def test_a_system_that_refuses_is_told_with_the_command_to_run_by_hand(tmp_path, monkeypatch):
    fake_systemctl(tmp_path, 1)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(BridgeError, match="no bus.*run it by hand.*systemctl --user daemon-reload"):
        service.install(service.planned("linux", tmp_path / "home"))


def test_a_machine_without_such_a_manager_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BridgeError, match="has no systemctl"):
        service.install(service.planned("linux", tmp_path / "home"))
