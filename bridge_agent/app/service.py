"""Starting the Bridge or a worker by itself: a systemd user unit, a launchd agent, or a task at log-on.

Always as the user and in the user's session: keyring, network shares and mapped drives belong to it.
"""

import os
import plistlib
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from bridge_agent.base.errors import BridgeError

_LIMIT_S = 30.0

_UNIT = """[Unit]
Description={description}
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=60
StartLimitBurst=4

[Service]
Type={type}
ExecStart={command}
{more}
Restart=on-failure
RestartSec=5
RestartPreventExitStatus=2
TimeoutStopSec={stop}
UMask=0077
NoNewPrivileges=yes

[Install]
WantedBy=default.target
"""


@dataclass(frozen=True)
class Role:
    """What the system is to start, and what it is called on each system; `stop_s` is its time to end."""

    name: str
    description: str
    command: str
    unit: str
    label: str
    task: str
    stop_s: int
    unit_type: str
    unit_more: str


BRIDGE = Role(
    name="The Bridge",
    description="The Bridge, an agent beside your audiobooks",
    command="run",
    unit="bridge-agent",
    label="org.audiobook-bridge.agent",
    task="Audiobook Bridge",
    stop_s=20,
    unit_type="notify",
    unit_more="WatchdogSec=90",
)
WORKER = Role(
    name="The worker",
    description="A worker that transcribes for the Bridge on another machine",
    command="worker",
    unit="bridge-worker",
    label="org.audiobook-bridge.worker",
    task="Audiobook Bridge worker",
    # It ends the parts it has, which takes a slow machine minutes.
    stop_s=600,
    # Its first model may take longer to come than installing waits for a sign of it.
    unit_type="exec",
    # Its engines hear those parts until it ends them itself.
    unit_more="KillMode=mixed",
)


@dataclass(frozen=True)
class Service:
    """What is to be written where, and which commands make the system take it up."""

    role: Role
    path: Path | None
    content: bytes
    commands: tuple[tuple[str, ...], ...]
    after: str


def planned(system: str = sys.platform, home: Path | None = None, role: Role = BRIDGE) -> Service:
    """Return what installing means on a system; touches nothing."""
    home = home or Path.home()
    command = (sys.executable, "-m", "bridge_agent", role.command)
    if system == "darwin":
        path = home / "Library" / "LaunchAgents" / f"{role.label}.plist"
        content = {
            "Label": role.label,
            "ProgramArguments": list(command),
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "ProcessType": "Background",
            "ExitTimeOut": role.stop_s,
        }
        target = f"gui/{os.getuid() if hasattr(os, 'getuid') else 0}"
        return Service(
            role,
            path,
            plistlib.dumps(content),
            (("launchctl", "bootstrap", target, str(path)),),
            f"launchctl bootout {target}/{role.label} takes it away.",
        )
    if system == "win32":
        line = subprocess.list2cmdline(command)
        return Service(
            role,
            None,
            b"",
            (
                ("schtasks", "/Create", "/F", "/SC", "ONLOGON", "/TN", role.task, "/TR", line),
                ("schtasks", "/Run", "/TN", role.task),
            ),
            f"schtasks /Delete /TN “{role.task}” takes it away.",
        )
    quoted = " ".join(f'"{word}"' if " " in word else word for word in command)
    unit = _UNIT.format(
        description=role.description,
        type=role.unit_type,
        command=quoted,
        more=role.unit_more,
        stop=role.stop_s,
    )
    return Service(
        role,
        home / ".config" / "systemd" / "user" / f"{role.unit}.service",
        unit.encode(),
        (
            ("systemctl", "--user", "daemon-reload"),
            ("systemctl", "--user", "enable", "--now", f"{role.unit}.service"),
        ),
        f"systemctl --user disable --now {role.unit} takes it away; without anybody logged in it runs after "
        "loginctl enable-linger.",
    )


def install(service: Service) -> list[str]:
    """Write the file and have the system take it up; return what was done, in sentences.

    Raises BridgeError with the command to run by hand when the system refuses.
    """
    done = []
    if service.path is not None:
        try:
            service.path.parent.mkdir(parents=True, exist_ok=True)
            service.path.write_bytes(service.content)
        except OSError as error:
            raise BridgeError(
                f"{service.path} can't be written ({error.strerror}); mend its permissions and try again."
            ) from error
        done.append(f"Wrote {service.path}.")
    for words in service.commands:
        _run(words, service.role)
        done.append(f"Ran {' '.join(words)}.")
    return [*done, f"{service.role.name} runs now and at each log-on.", service.after]


def _run(words: tuple[str, ...], role: Role) -> None:
    by_hand = f"run it by hand in your own session: {' '.join(words)}"
    if shutil.which(words[0]) is None:
        raise BridgeError(
            f"This machine has no {words[0]}; start “bridge-agent {role.command}” in its own way instead."
        )
    try:
        ended = subprocess.run(words, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BridgeError(f"{words[0]} did not come to an end; {by_hand}.") from error
    if ended.returncode != 0:
        said = " ".join((ended.stderr or ended.stdout).split())[:300] or f"it exited with {ended.returncode}"
        raise BridgeError(f"{words[0]} refused ({said}); {by_hand}.")
