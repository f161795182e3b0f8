"""What each command does, from its words to its exit code."""

import asyncio
import dataclasses
import getpass
import json
import os
import sys
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge_agent.app.running import run
from bridge_agent.base import logs
from bridge_agent.base.clock import SystemClock
from bridge_agent.base.errors import BridgeError, ExitCode, SettingsError, TryLater
from bridge_agent.settings import BridgeSettings, HomeSettings, Settings, WorkerSettings, warn_of_unknown

if TYPE_CHECKING:
    from bridge_agent.doctor import Running

_LOOK_S = 8.0


def run_bridge(listen: str | None, data_dir: Path | None) -> ExitCode:
    """Run the Bridge in the foreground until a signal."""
    from bridge_agent.app.bridge import Bridge

    settings = BridgeSettings.load(os.environ, {"listen": listen}, data_dir)
    _begin(settings, "bridge")
    clock = SystemClock()
    return asyncio.run(run(Bridge(settings, clock, _on_terminal), clock))


def run_home_server(listen: str | None, data_dir: Path | None) -> ExitCode:
    """Run the home server in the foreground until a signal."""
    from bridge_agent.home.app import HomeServer

    settings = HomeSettings.load(os.environ, {"listen": listen}, data_dir)
    _begin(settings, "home")
    clock = SystemClock()
    return asyncio.run(run(HomeServer(settings, clock, _on_terminal), clock))


def run_worker(
    given: Mapping[str, str | None], once: bool, idle_exit: bool, data_dir: Path | None
) -> ExitCode:
    """Run a worker in the foreground; the token is asked for where no setting holds it."""
    from bridge_agent.app import worker

    settings = WorkerSettings.load(os.environ, given, data_dir)
    worker.examine(settings)
    with worker.held(settings.data_dir):
        if not settings.token:
            settings = dataclasses.replace(settings, token=_ask_secretly("The worker's token: "))
        _begin(settings, "worker")
        clock = SystemClock()
        asked = worker.Asked(once=once, idle_exit=idle_exit)
        return asyncio.run(worker.run(worker.WorkerApp(settings, clock, asked, _on_terminal)))


def run_demo() -> ExitCode:
    """Run both halves with the sample library until a signal."""
    from bridge_agent.app.demo import Demo, demo_folder

    level = os.environ.get("BRIDGE_LOG_LEVEL") or "warning"
    logs.set_up(level, demo_folder() / "logs", "demo")
    clock = SystemClock()
    return asyncio.run(run(Demo(dict(os.environ), _on_terminal, clock), clock))


def pair(server_url: str, code: str | None, data_dir: Path | None, as_json: bool) -> ExitCode:
    """Pair the running Bridge; without a code ask for it."""
    typed = code or _ask("The code that the console shows: ")
    answer = call(data_dir, "POST", "/api/pair", {"server_url": server_url, "code": typed})
    name = answer["link"]["server_name"]
    return tell(answer, as_json, f"Paired with {name}. The first heartbeat is on its way.")


def unpair(data_dir: Path | None, as_json: bool) -> ExitCode:
    """Make the running Bridge forget its token."""
    answer = call(data_dir, "POST", "/api/unpair")
    return tell(answer, as_json, "The token is forgotten here; unpair in the server's console too.")


def status(data_dir: Path | None, as_json: bool) -> ExitCode:
    """Say how the running Bridge is."""
    from bridge_agent.app.terminal import status_lines

    answer = call(data_dir, "GET", "/api/status")
    if as_json:
        return tell(answer, as_json)
    return tell(answer, as_json, *status_lines(answer, call(data_dir, "GET", "/api/workers")))


def doctor(data_dir: Path | None, as_json: bool) -> ExitCode:
    """Look for what keeps a Bridge from working; 1 when a finding is bad."""
    from bridge_agent.app.terminal import finding_lines
    from bridge_agent.doctor import run as examine

    settings = BridgeSettings.load(os.environ, None, data_dir)
    findings = asyncio.run(examine(settings, SystemClock(), running=_running(data_dir)))
    wire = [finding.wire() for finding in findings]
    tell({"findings": wire}, as_json, *finding_lines(wire))
    return ExitCode.FAILED if any(f["level"] == "bad" for f in wire) else ExitCode.DONE


def service_install(show: bool, as_json: bool, *, worker: bool = False) -> ExitCode:
    """Have the system start the Bridge, or a worker, by itself, or say what that would do."""
    from bridge_agent.app import service

    if worker:
        _refuse_to_be_asked()
    planned = service.planned(role=service.WORKER if worker else service.BRIDGE)
    if not show:
        done = service.install(planned)
        return tell({"done": done}, as_json, *done)
    path = "" if planned.path is None else str(planned.path)
    commands = [" ".join(words) for words in planned.commands]
    answer = {"path": path, "content": planned.content.decode(), "commands": commands}
    return tell(answer, as_json, *filter(None, [path, planned.content.decode(), *commands]))


def paths(data_dir: Path | None, as_json: bool) -> ExitCode:
    """Say where everything lies."""
    from bridge_agent.app.demo import demo_folder

    bridge = BridgeSettings.load(os.environ, None, data_dir)
    home, worker = HomeSettings.load(os.environ), WorkerSettings.load(os.environ)
    found = {
        "bridge_data": bridge.data_dir,
        "bridge_settings": bridge.data_dir / bridge.file_name(),
        "bridge_secrets": bridge.data_dir / "secrets",
        "bridge_logs": bridge.data_dir / "logs",
        "home_server_data": home.data_dir,
        "home_server_settings": home.data_dir / home.file_name(),
        "worker_data": worker.data_dir,
        "worker_settings": worker.data_dir / worker.file_name(),
        "demo": demo_folder(),
    }
    answer = {name: str(path) for name, path in found.items()}
    width = max(map(len, answer))
    return tell(answer, as_json, *(f"{name:<{width}}  {path}" for name, path in answer.items()))


def password(data_dir: Path | None, as_json: bool = False) -> ExitCode:
    """Set the page's password, in the running Bridge or in its data folder."""
    if sys.stdin.isatty():
        first = getpass.getpass("A new password for the Bridge's page: ")
        if first != getpass.getpass("The same once more: "):
            raise BridgeError("The two are not the same; nothing was changed, start again.")
    else:
        first = sys.stdin.readline().rstrip("\r\n")
    if not first:
        raise BridgeError("An empty password protects nothing; nothing was changed.")
    answer = call(data_dir, "PUT", "/api/password", {"password": first})
    return tell(answer, as_json, "The page's password is set; who was signed in signs in anew.")


def token_where(data_dir: Path | None, as_json: bool) -> ExitCode:
    """Say where the token is kept."""
    answer = call(data_dir, "GET", "/api/token")
    return tell(answer, as_json, str(answer["sentence"]))


def _refuse_to_be_asked() -> None:
    """Raise SettingsError where a worker without a terminal and this environment lacks what it needs."""
    settings = WorkerSettings.load({})
    lacking = [name for name in ("url", "token") if not getattr(settings, name)]
    if lacking:
        raise SettingsError(
            f"A service can’t ask, and reads no settings but its file’s; write {' and '.join(lacking)} into "
            f"{settings.data_dir / settings.file_name()}, as “Add a worker” on the Bridge’s page shows them."
        )


def _begin(settings: Settings, name: str) -> None:
    try:
        logs.set_up(settings.log_level, settings.data_dir / "logs", name)
    except OSError as error:
        raise BridgeError(
            f"The data folder {settings.data_dir} can't be written ({error.strerror}); mend its permissions, "
            "or choose another one with --data-dir."
        ) from error
    warn_of_unknown(os.environ)
    for declared in settings.options():
        if declared.metadata["secret"]:
            secret = getattr(settings, declared.name)
            if secret:
                logs.masks.register(secret)
            # What has been read need not be there for every child and crash report to see.
            os.environ.pop(settings.env_name(declared.name), None)


def _on_terminal(text: str) -> None:
    """Print for the person at the terminal: never through the log, which keeps what it is told."""
    print(text, flush=True)  # noqa: T201


def _ask(prompt: str) -> str:
    if not sys.stdin.isatty():
        return sys.stdin.readline().strip()
    return input(prompt).strip()


def tell(answer: object, as_json: bool, *lines: str) -> ExitCode:
    """Print an answer, as JSON or in lines."""
    _on_terminal(json.dumps(answer, ensure_ascii=False, indent=2) if as_json else "\n".join(lines))
    return ExitCode.DONE


def _running(data_dir: Path | None) -> "Running | None":
    """Return the Bridge that runs on a data folder, as it says itself; None where none answers."""
    from bridge_agent.doctor import Running
    from bridge_agent.page.control import find

    control = find(BridgeSettings.load(os.environ, None, data_dir).data_dir)
    try:
        told = call(data_dir, "GET", "/api/workers", limit_s=_LOOK_S)
    except BridgeError:
        return None
    return None if control is None or "problem" not in told else Running(control.url, told["problem"])


def call(
    data_dir: Path | None, method: str, path: str, body: object = None, *, limit_s: float = 60.0
) -> dict[str, Any]:
    """Ask the running Bridge over its page; raises BridgeError with its sentence, TryLater when none runs."""
    from bridge_agent.page.control import Control, find

    settings = BridgeSettings.load(os.environ, None, data_dir)
    control = find(settings.data_dir)
    if control is None:
        raise _not_running(settings)

    async def ask(control: Control) -> dict[str, Any]:
        import aiohttp

        timeout = aiohttp.ClientTimeout(total=limit_s, sock_connect=5, sock_read=limit_s)
        headers = {"Authorization": f"Bearer {control.token}"}
        async with (
            aiohttp.ClientSession(timeout=timeout, headers=headers) as http,
            http.request(method, control.url + path, json=body) as response,
        ):
            answer: dict[str, Any] = dict(await response.json(content_type=None) or {})
            if response.status == 503:
                raise TryLater(str(answer["error"]["message"]))
            if response.status >= 400:
                raise BridgeError(str(answer["error"]["message"]))
            return answer

    return _answered(ask(control), settings)


def _answered(asking: Coroutine[Any, Any, dict[str, Any]], settings: BridgeSettings) -> dict[str, Any]:
    import aiohttp

    try:
        return asyncio.run(asking)
    except (aiohttp.ClientConnectorError, FileNotFoundError) as error:
        raise _not_running(settings) from error
    except (aiohttp.ClientError, TimeoutError, ValueError, LookupError, TypeError) as error:
        raise TryLater(f"The Bridge did not answer as it should ({error}); try again.") from error


def _not_running(settings: BridgeSettings) -> TryLater:
    return TryLater(
        f"No Bridge runs on the data folder {settings.data_dir}; start it with “bridge-agent run”, "
        "or name its folder with --data-dir."
    )


def _ask_secretly(prompt: str) -> str:
    """Ask for a secret: unseen at a terminal, else one line from standard input."""
    if sys.stdin is None or not sys.stdin.isatty():
        return "" if sys.stdin is None else sys.stdin.readline().strip()
    return getpass.getpass(prompt).strip()
