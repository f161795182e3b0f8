"""Whole processes under test: `bridge-agent …` as a user starts it, on free ports, in own folders."""

import asyncio
import contextlib
import os
import re
import signal
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp

PATIENCE_S = 30.0


def free_port() -> int:
    """Return a port that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Process:
    """One `bridge-agent` process."""

    def __init__(self, words: list[str], environ: dict[str, str], log: Path) -> None:
        self.words = words
        self.environ = environ
        self.log = log
        self.process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("BRIDGE_")}
        with self.log.open("ab") as out:
            self.process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "bridge_agent",
                *self.words,
                env={**clean, **self.environ},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=out,
                stderr=out,
            )

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    @property
    def said(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    async def stop(self, how: signal.Signals = signal.SIGTERM, patience: float = PATIENCE_S) -> int:
        """End it with a signal and return its exit code."""
        if self.process is None:
            return 0
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(how)
        async with asyncio.timeout(patience):
            return await self.process.wait()


class Household:
    """A home server and a Bridge as two processes, with a person's hands on both over HTTP."""

    def __init__(self, folder: Path, **environ: str) -> None:
        self.folder = folder
        self.home_port, self.bridge_port = free_port(), free_port()
        self.home_url = f"http://127.0.0.1:{self.home_port}"
        self.bridge_url = f"http://127.0.0.1:{self.bridge_port}"
        common = {"PYTHONUNBUFFERED": "1", "HOME": str(folder), **environ}
        self.home = Process(
            ["home-server"],
            {
                "BRIDGE_HOME_LISTEN": f"127.0.0.1:{self.home_port}",
                "BRIDGE_HOME_DATA_DIR": str(folder / "home"),
                "BRIDGE_HOME_ADMIN_PASSWORD": "correct horse battery",
                **common,
            },
            folder / "home.log",
        )
        self.bridge = Process(
            ["run"],
            {
                "BRIDGE_LISTEN": f"127.0.0.1:{self.bridge_port}",
                "BRIDGE_DATA_DIR": str(folder / "bridge"),
                "BRIDGE_TOKEN_STORE": "file",
                **common,
            },
            folder / "bridge.log",
        )
        self.http: aiohttp.ClientSession = None  # type: ignore[assignment]
        self.admin: dict[str, str] = {}

    async def __aenter__(self) -> "Household":
        self.http = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(30))
        return self

    async def __aexit__(self, *_: object) -> None:
        for process in (self.bridge, self.home):
            if process.process is not None and process.process.returncode is None:
                await process.stop(signal.SIGKILL)
        await self.http.close()

    async def start_home(self) -> None:
        await self.home.start()
        await self.answers(f"{self.home_url}/api/v1/server")
        if not self.admin:
            answer = await self.send(
                "POST",
                f"{self.home_url}/api/v1/auth/login",
                {"username": "admin", "password": "correct horse battery"},
            )
            self.admin = {"Authorization": f"Bearer {answer['token']}"}

    async def start_bridge(self) -> None:
        await self.bridge.start()
        await self.answers(f"{self.bridge_url}/api/status")

    async def pair(self) -> None:
        made = await self.api("POST", "/admin/bridge/pair", {})
        await self.send(
            "POST", f"{self.bridge_url}/api/pair", {"server_url": self.home_url, "code": made["code"]}
        )
        await self.until(self.online)

    async def add_library(self, name: str, root: Path) -> int:
        """Add a library and wait for its first scan; return its id."""
        library = await self.api("POST", "/admin/libraries", {"name": name, "root": str(root)})

        async def scanned() -> bool:
            listed = (await self.api("GET", "/libraries"))["libraries"]
            return all(one["scan"]["state"] == "done" for one in listed if one["id"] == library["id"])

        await self.until(scanned)
        return int(library["id"])

    async def online(self) -> bool:
        return bool((await self.send("GET", f"{self.bridge_url}/api/status"))["link"]["online"])

    async def job(self, job_id: int) -> dict[str, Any]:
        return await self.api("GET", f"/admin/bridge/jobs/{job_id}")

    async def job_in(self, job_id: int, *states: str) -> dict[str, Any]:
        """Wait until a job is in one of the states; return it."""
        found: dict[str, Any] = {}

        async def there() -> bool:
            found.update(await self.job(job_id))
            return found["state"] in states

        await self.until(there)
        return found

    async def api(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """Call the server as its admin."""
        return await self.send(method, f"{self.home_url}/api/v1{path}", body, self.admin)

    async def send(
        self, method: str, url: str, body: object = None, headers: dict[str, str] | None = None
    ) -> dict[str, Any]:
        async with self.http.request(method, url, json=body, headers=headers) as response:
            text = await response.text()
            assert response.status < 400, f"{method} {url}: {response.status} {text}"
            return dict(await response.json(content_type=None)) if text else {}

    async def answers(self, url: str) -> None:
        """Wait until an address answers with a 200."""

        async def there() -> bool:
            try:
                async with self.http.get(url) as response:
                    return response.status == 200
            except aiohttp.ClientError:
                return False

        await self.until(there, 0.01)

    async def until(self, there: Any, pause: float = 0.05) -> None:
        """Wait until a coroutine function says true."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not await there():
                    await asyncio.sleep(pause)
        except TimeoutError:
            raise AssertionError(
                f"waited in vain\n--- home ---\n{tail(self.home)}\n--- bridge ---\n{tail(self.bridge)}"
            ) from None


def tail(process: Process) -> str:
    """Return the last lines a process said."""
    return "\n".join(process.said.splitlines()[-25:]) if process.log.exists() else "(nothing)"


@contextlib.asynccontextmanager
async def household(folder: Path, **environ: str) -> AsyncIterator[Household]:
    """Give a paired household with both processes running; both are ended with it."""
    async with Household(folder, **environ) as home:
        await home.start_home()
        await home.start_bridge()
        await home.pair()
        yield home


def secrets_in(text: str) -> list[str]:
    """Return what looks like a token in a text."""
    return re.findall(r"\b(?:ses|key|cst|brg|wrk)_[A-Za-z0-9_-]{16,}", text)
