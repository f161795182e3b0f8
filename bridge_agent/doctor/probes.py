"""The doctor's instruments: every touch of network, disk and keyring, each to be exchanged by a test."""

import asyncio
import platform
import shutil
import socket
import sqlite3
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import aiohttp

from bridge_agent import __version__
from bridge_agent.base.clock import SystemClock
from bridge_agent.base.files import network_file_system
from bridge_agent.base.resolver import DaemonResolver
from bridge_agent.base.tasks import Tasks
from bridge_agent.link import failures
from bridge_agent.link.answers import Answer
from bridge_agent.link.trust import trust
from bridge_agent.mapping import sight
from bridge_agent.mapping.sight import Sight
from bridge_agent.settings import Address
from bridge_agent.transcription.cluster.scheduler import Scheduler
from bridge_agent.vault.rings import SystemRings, spoken_name, try_out

FETCH_S = 8.0
LOOK_S = 5.0
CLUSTER_S = 12.0
_MOST_BYTES = 1 << 20


def addresses_of(host: str, port: int) -> list[str]:
    """Return the addresses that a name stands for; raises OSError. Blocks."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


async def fetch(url: str, ca_file: str) -> Answer:
    """GET an address once, following no redirect; raises ServerAway with what went wrong."""
    tls = await trust(ca_file)
    timeout = aiohttp.ClientTimeout(total=FETCH_S, sock_connect=5.0, sock_read=FETCH_S)
    headers = {"User-Agent": f"bridge-agent/{__version__}", "Accept": "application/json"}
    connector = aiohttp.TCPConnector(ssl=tls, resolver=DaemonResolver(), force_close=True)
    try:
        async with (
            asyncio.timeout(FETCH_S + 2.0),
            aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar()) as session,
            session.get(url, headers=headers, timeout=timeout, allow_redirects=False) as response,
        ):
            body = await response.content.read(_MOST_BYTES)
            return Answer(response.status, response.headers, body, url)
    except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
        raise failures.worded(error, url) from error


def listen(address: Address) -> None:
    """Take a port and give it back at once; raises OSError. Blocks."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        if sys.platform != "win32":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((address.host, address.port))
        probe.listen(1)


def try_keyring() -> str:
    """Write, read and remove a trial entry in the keyring; return its name. Raises anything, blocks."""
    name, ring = SystemRings().best()
    try_out(ring)
    return spoken_name(name)


def free_bytes(folder: Path) -> int:
    """Return how many bytes are free on a folder's disk; raises OSError. Blocks."""
    return shutil.disk_usage(folder).free


async def look(path: Path) -> Sight:
    """Look at a library's root, within a limit."""
    return await sight.look(path, LOOK_S)


async def cluster(address: str) -> tuple[int, str | None]:
    """Ask a cluster's scheduler how many parts it hears at once; return that, and why if it hears none."""
    clock, tasks = SystemClock(), Tasks("doctor")
    scheduler = Scheduler(address, clock, tasks)
    scheduler.start()
    try:
        until = clock.monotonic() + CLUSTER_S
        while not scheduler.workers and scheduler.possible and clock.monotonic() < until:
            await clock.sleep(0.1)
        return sum(scheduler.workers.values()), scheduler.why_none()
    finally:
        await scheduler.close()
        await tasks.cancel()


@dataclass(frozen=True)
class Versions:
    """What runs here."""

    python: str
    sqlite: tuple[int, ...]
    aiohttp: str
    system: str


def versions() -> Versions:
    """Return the versions of what the Bridge stands on."""
    try:
        found = version("aiohttp")
    except PackageNotFoundError:
        found = aiohttp.__version__
    system = f"{platform.system()} {platform.release()}".strip()
    return Versions(platform.python_version(), sqlite3.sqlite_version_info, found, system)


@dataclass(frozen=True)
class Probes:
    """All instruments; those that block are called in threads with a limit."""

    addresses_of: Callable[[str, int], list[str]] = addresses_of
    fetch: Callable[[str, str], Awaitable[Answer]] = fetch
    listen: Callable[[Address], None] = listen
    try_keyring: Callable[[], str] = try_keyring
    free_bytes: Callable[[Path], int] = free_bytes
    network_file_system: Callable[[Path], str | None] = network_file_system
    look: Callable[[Path], Awaitable[Sight]] = look
    cluster: Callable[[str], Awaitable[tuple[int, str | None]]] = cluster
    versions: Callable[[], Versions] = versions
