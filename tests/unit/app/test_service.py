"""Installing as a service: what is written and run on each system, and a system that refuses."""

import plistlib
import re
import stat
import sys
from pathlib import Path

import pytest

from bridge_agent.app import commands, service
from bridge_agent.base.errors import BridgeError, ExitCode, SettingsError


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


def test_a_worker_is_a_service_of_its_own_on_each_system(tmp_path):
    linux = service.planned("linux", tmp_path, service.WORKER)
    assert linux.path == tmp_path / ".config/systemd/user/bridge-worker.service"
    text = linux.content.decode()
    assert f"ExecStart={sys.executable} -m bridge_agent worker\n" in text
    assert linux.commands[-1] == ("systemctl", "--user", "enable", "--now", "bridge-worker.service")
    mac = service.planned("darwin", tmp_path, service.WORKER)
    content = plistlib.loads(mac.content)
    assert content["ProgramArguments"] == [sys.executable, "-m", "bridge_agent", "worker"]
    assert content["Label"] != service.BRIDGE.label
    windows = service.planned("win32", tmp_path, service.WORKER)
    assert windows.commands[0][5:7] == ("/TN", "Audiobook Bridge worker")
    assert windows.commands[0][-1].endswith("-m bridge_agent worker")


def test_a_worker_is_left_the_time_to_end_its_parts_and_its_engines_are_not_stopped_beside_it(tmp_path):
    text = service.planned("linux", tmp_path, service.WORKER).content.decode()
    assert "TimeoutStopSec=600\n" in text
    assert "KillMode=mixed\n" in text
    # Its first model may take longer to come than systemd waits for a READY=1, and nothing feeds a watchdog.
    assert "Type=exec\n" in text
    assert "WatchdogSec" not in text
    content = plistlib.loads(service.planned("darwin", tmp_path, service.WORKER).content)
    assert content["ExitTimeOut"] == 600


def test_a_worker_that_would_ask_for_something_is_not_installed(tmp_path, monkeypatch):
    monkeypatch.setattr("bridge_agent.base.paths.data_folder", lambda name: tmp_path / name)
    monkeypatch.setenv("BRIDGE_WORKER_URL", "https://10.0.0.5:13381")
    file = tmp_path / "bridge-worker" / "worker.toml"
    with pytest.raises(SettingsError, match=f"url and token.*{re.escape(str(file))}"):
        commands.service_install(True, True, worker=True)
    file.parent.mkdir()
    file.write_text('url = "https://10.0.0.5:13381"\n')
    with pytest.raises(SettingsError, match="write token into"):
        commands.service_install(True, True, worker=True)


def test_a_worker_with_its_settings_in_its_file_is_installed(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("bridge_agent.base.paths.data_folder", lambda name: tmp_path / name)
    (tmp_path / "bridge-worker").mkdir()
    (tmp_path / "bridge-worker" / "worker.toml").write_text(
        f'url = "https://10.0.0.5:13381"\nfingerprint = "{"ab" * 32}"\ntoken = "wrk_secret"\n'
    )
    assert commands.service_install(True, False, worker=True) is ExitCode.DONE
    told = capsys.readouterr().out
    assert "bridge_agent worker" in told
    assert "wrk_secret" not in told


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
    assert "The Bridge runs now and at each log-on." in done


def test_a_system_that_refuses_is_told_with_the_command_to_run_by_hand(tmp_path, monkeypatch):
    fake_systemctl(tmp_path, 1)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(BridgeError, match="no bus.*run it by hand.*systemctl --user daemon-reload"):
        service.install(service.planned("linux", tmp_path / "home"))


def test_a_machine_without_such_a_manager_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BridgeError, match="has no systemctl"):
        service.install(service.planned("linux", tmp_path / "home"))
