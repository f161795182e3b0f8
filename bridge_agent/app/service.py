"""Starting the Bridge by itself: a systemd user unit, a launchd agent, or a task at log-on.

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

LABEL = "org.audiobook-bridge.agent"
TASK = "Audiobook Bridge"
_LIMIT_S = 30.0

_UNIT = """[Unit]
Description=The Bridge, an agent beside your audiobooks
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=60
StartLimitBurst=4

[Service]
Type=notify
ExecStart={command}
WatchdogSec=90
Restart=on-failure
RestartSec=5
RestartPreventExitStatus=2
TimeoutStopSec=20
UMask=0077
NoNewPrivileges=yes

[Install]
WantedBy=default.target
"""


@dataclass(frozen=True)
class Service:
    """What is to be written where, and which commands make the system take it up."""

    path: Path | None
    content: bytes
    commands: tuple[tuple[str, ...], ...]
    after: str


def planned(system: str = sys.platform, home: Path | None = None) -> Service:
    """Return what installing means on a system; touches nothing."""
    home = home or Path.home()
    command = (sys.executable, "-m", "bridge_agent", "run")
    if system == "darwin":
        path = home / "Library" / "LaunchAgents" / f"{LABEL}.plist"
        content = {
            "Label": LABEL,
            "ProgramArguments": list(command),
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "ProcessType": "Background",
        }
        target = f"gui/{os.getuid() if hasattr(os, 'getuid') else 0}"
        return Service(
            path,
            plistlib.dumps(content),
            (("launchctl", "bootstrap", target, str(path)),),
            f"launchctl bootout {target}/{LABEL} takes it away.",
        )
    if system == "win32":
        line = subprocess.list2cmdline(command)
        return Service(
            None,
            b"",
            (
                ("schtasks", "/Create", "/F", "/SC", "ONLOGON", "/TN", TASK, "/TR", line),
                ("schtasks", "/Run", "/TN", TASK),
            ),
            f"schtasks /Delete /TN “{TASK}” takes it away.",
        )
    quoted = " ".join(f'"{word}"' if " " in word else word for word in command)
    return Service(
        home / ".config" / "systemd" / "user" / "bridge-agent.service",
        _UNIT.format(command=quoted).encode(),
        (
            ("systemctl", "--user", "daemon-reload"),
            ("systemctl", "--user", "enable", "--now", "bridge-agent.service"),
        ),
        "systemctl --user disable --now bridge-agent takes it away; without anybody logged in it runs after "
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
        _run(words)
        done.append(f"Ran {' '.join(words)}.")
    return [*done, "The Bridge runs now and at each log-on.", service.after]


def _run(words: tuple[str, ...]) -> None:
    by_hand = f"run it by hand in your own session: {' '.join(words)}"
    if shutil.which(words[0]) is None:
        raise BridgeError(f"This machine has no {words[0]}; start “bridge-agent run” in its own way instead.")
    try:
        ended = subprocess.run(words, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BridgeError(f"{words[0]} did not come to an end; {by_hand}.") from error
    if ended.returncode != 0:
        said = " ".join((ended.stderr or ended.stdout).split())[:300] or f"it exited with {ended.returncode}"
        raise BridgeError(f"{words[0]} refused ({said}); {by_hand}.")
