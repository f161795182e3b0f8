"""What the doctor looks at on this machine's ports: the page's, and the one where workers come in."""

import errno
from dataclasses import dataclass

import msgspec

from bridge_agent.base import threads
from bridge_agent.base.errors import BridgeError
from bridge_agent.doctor.findings import Finding, bad, from_message, ok, warn
from bridge_agent.doctor.machine import LIMIT_S
from bridge_agent.doctor.probes import Probes
from bridge_agent.doctor.state import Running
from bridge_agent.settings import Address, BridgeSettings

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}


@dataclass(frozen=True)
class _Door:
    """What listens: how its codes begin, its name, its setting, the address that always works."""

    code: str
    name: str
    setting: str
    example: str


_PAGE = _Door("", "the page", "BRIDGE_LISTEN", "127.0.0.1:13380")
_WORKERS = _Door("worker_", "the workers’ listener", "BRIDGE_WORKER_LISTEN", "0.0.0.0:13381")


async def page(settings: BridgeSettings, probes: Probes, running: Running | None) -> list[Finding]:
    """Tell whether the page can listen, or does already."""
    if running is not None:
        return [ok("bridge_running", f"A Bridge runs on this data folder and answers at {running.url}.")]
    address = settings.listen
    if address.port == 0:
        return [ok("port_any", "The page takes any free port at its start.")]
    error = await _tried(_PAGE, address, probes)
    if isinstance(error, Finding):
        return [error]
    if error is None:
        return [ok("port_free", f"The page’s address {address} is free, so no Bridge runs there now.")]
    if _is_taken(error) and await _is_a_bridge(address, probes):
        return [ok("bridge_running", f"A Bridge is running and answers at {address}.")]
    return [_refused(_PAGE, address, error)]


async def workers(settings: BridgeSettings, probes: Probes, running: Running | None) -> list[Finding]:
    """Tell whether workers can come in, or do already; for a Bridge that has invited some."""
    address = settings.worker_listen
    if running is not None:
        if running.workers_problem is not None:
            return [from_message("worker_listener_off", "bad", running.workers_problem)]
        return [ok("worker_listener_on", "The Bridge that runs here listens for workers.")]
    if address.port == 0:
        return [ok("worker_port_any", "The workers’ listener takes any free port at its start.")]
    error = await _tried(_WORKERS, address, probes)
    if isinstance(error, Finding):
        return [error]
    if error is None:
        return [ok("worker_port_free", f"The address {address}, where workers come in, is free.")]
    return [_refused(_WORKERS, address, error)]


async def _tried(door: _Door, address: Address, probes: Probes) -> OSError | Finding | None:
    """Try to listen; return what the system says against it."""
    try:
        await threads.files.call(LIMIT_S, probes.listen, address)
    except TimeoutError:
        sentence = f"Whether {address} is free could not be told."
        return warn(f"{door.code}port_unknown", sentence, "Try again.")
    except OSError as error:
        return error
    return None


def _is_taken(error: OSError) -> bool:
    return error.errno in (errno.EADDRINUSE, getattr(errno, "WSAEADDRINUSE", -1))


def _refused(door: _Door, address: Address, error: OSError) -> Finding:
    if _is_taken(error):
        return bad(
            f"{door.code}port_taken",
            f"Another program has the address {address} of {door.name}.",
            f"Stop that program, or choose another port with {door.setting}.",
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        return bad(
            f"{door.code}port_refused",
            f"The system does not let this user listen at {address}.",
            f"Choose a port from 1024 on with {door.setting}.",
        )
    return bad(
        f"{door.code}address_unavailable",
        f"{door.name[:1].upper()}{door.name[1:]} can’t listen at {address} ({error.strerror or error}).",
        f"Set {door.setting} to an address of this machine, like {door.example}.",
    )


async def _is_a_bridge(address: Address, probes: Probes) -> bool:
    local = Address(_EVERYWHERE.get(address.host, address.host), address.port)
    try:
        answer = await probes.fetch(f"http://{local}/healthz", "")
        body = msgspec.json.decode(answer.body)
    except (BridgeError, msgspec.DecodeError, UnicodeDecodeError):
        return False
    return isinstance(body, dict) and "alive" in body and "paired" in body
