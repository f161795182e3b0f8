"""The demo: both halves on this machine, paired over HTTP, with the sample library and one verified book."""

import contextlib
import dataclasses
import logging
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import aiohttp

from bridge_agent.app.bridge import Bridge
from bridge_agent.base import paths
from bridge_agent.base.clock import Clock, SystemClock
from bridge_agent.base.errors import BridgeError
from bridge_agent.base.files import private_folder, read_secret_file, write_private
from bridge_agent.base.threads import in_thread
from bridge_agent.home.app import HomeServer
from bridge_agent.protocol.bridge import API, VERIFY, family
from bridge_agent.protocol.capability import offers
from bridge_agent.settings import BridgeSettings, HomeSettings, NamedFolder
from bridge_agent.web.passwords import generate

_log = logging.getLogger(__name__)

SAMPLES = Path(__file__).resolve().parent.parent / "demo_library"
LIBRARY = "Samples"
_PATIENCE_S = 60.0
_STEP_S = 0.1


class DemoFailed(BridgeError):
    """The demo did not come up; the log above says why."""

    code = "demo_failed"


def demo_folder() -> Path:
    """Return the demo's own folder."""
    return paths.data_folder("bridge-agent-demo")


class Demo:
    """A home server and a Bridge in one process, introduced to each other as a person would do it."""

    def __init__(
        self, environ: Mapping[str, str], say: Callable[[str], None], clock: Clock | None = None
    ) -> None:
        """Prepare both in the demo's folder, or where the two data folder settings say."""
        self.clock = clock or SystemClock()
        self._say = say
        bridge_dir = None if environ.get("BRIDGE_DATA_DIR") else demo_folder() / "bridge"
        home_dir = None if environ.get("BRIDGE_HOME_DATA_DIR") else demo_folder() / "home"
        home = HomeSettings.load(environ, data_dir=home_dir)
        self._library = home.data_dir / "sample-library"
        self._password = home.admin_password
        if not home.libraries:
            home = dataclasses.replace(home, libraries=(NamedFolder(LIBRARY, self._library),))
        self._home_settings = home
        settings = BridgeSettings.load(environ, data_dir=bridge_dir)
        if settings.origins["token_store"].source == "default":
            # A first look should not begin with a question from the keyring.
            settings = dataclasses.replace(settings, token_store="file")
        self.bridge = Bridge(settings, self.clock, say)
        self.home: HomeServer | None = None

    def healthy(self) -> bool:
        """Whether the Bridge's loops run."""
        return self.bridge.healthy()

    async def start(self) -> None:
        """Start both, pair them if they are not, verify a book, say what to click."""
        await in_thread(self._lay_out)
        self.home = HomeServer(
            dataclasses.replace(self._home_settings, admin_password=self._password), self.clock, self._say
        )
        await self.home.start()
        await self.bridge.start()
        self._say(self._addresses())
        async with aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(20, sock_connect=5, sock_read=20)
        ) as http:
            visitor = _Visitor(http, self.home.url, self.bridge.url, self.clock)
            await visitor.sign_in(self._password)
            await visitor.pair()
            self._say("  ✓ Paired: the Bridge has a token that opens nothing but the Bridge's own routes.")
            self._say(f"  ✓ {await visitor.verify()}")
        self._say(_WHAT_TO_CLICK)

    async def stop(self) -> None:
        """Stop both, the Bridge first."""
        await self.bridge.stop()
        if self.home is not None:
            await self.home.stop()

    def _lay_out(self) -> None:
        """Make the folders, copy missing samples, keep the admin's password for the next run."""
        folder = private_folder(self._home_settings.data_dir)
        if not self._library.exists():
            aside = self._library.with_suffix(".part")
            shutil.rmtree(aside, ignore_errors=True)
            shutil.copytree(SAMPLES, aside)
            aside.rename(self._library)
        if not self._password:
            kept = folder / "demo-password"
            with contextlib.suppress(FileNotFoundError):
                self._password = read_secret_file(kept)
            if not self._password:
                self._password = generate()
                write_private(kept, self._password.encode() + b"\n")

    def _addresses(self) -> str:
        assert self.home is not None
        return (
            "\n  The home server, its console   "
            f"{self.home.url}\n      sign in as  admin   password  {self._password}\n"
            f"  The Bridge, its own page       {self.bridge.url}\n"
        )


_WHAT_TO_CLICK = """
  What to do now:
    1. Open the Bridge's page: it says whom it is connected to and what it did last.
    2. Open the console, sign in, go to Libraries, press Verify, and watch both pages.
    3. Open a book there; under More, let the job hold for 30 seconds, then Verify this book.
       Press Cancel on either page: the other follows.
  Ctrl-C stops both. The next start goes on from here.
"""


class _Visitor:
    """Does over HTTP what a person does in a browser, on both pages."""

    def __init__(self, http: aiohttp.ClientSession, home: str, bridge: str, clock: Clock) -> None:
        self._http = http
        self._home = home + API
        self._bridge = bridge + "/api"
        self._clock = clock
        self._headers: dict[str, str] = {}

    async def sign_in(self, password: str) -> None:
        answer = await self._send(
            "POST", f"{self._home}/auth/login", {"username": "admin", "password": password}
        )
        self._headers = {"Authorization": f"Bearer {answer['token']}"}

    async def pair(self) -> None:
        if (await self._settled_link())["state"] == "online":
            return
        if (await self._link())["state"] != "unpaired":
            await self._send("POST", f"{self._bridge}/unpair", {})
        made = await self._send("POST", f"{self._home}/admin/bridge/pair", {}, self._headers)
        await self._send(
            "POST",
            f"{self._bridge}/pair",
            {"server_url": self._home.removesuffix(API), "code": made["code"]},
        )
        await self._until(self._is_online, "the first heartbeat")

    async def verify(self) -> str:
        library = await self._until(self._scanned, "the scan of the sample library")
        job = await self._send(
            "POST",
            f"{self._home}/admin/bridge/jobs",
            {"kind": VERIFY, "library_id": library["id"]},
            self._headers,
        )
        ended = await self._until(lambda: self._ended(job["id"]), "the verify")
        result = ended["result"] or {}
        files = result.get("files", [])
        good = sum(1 for file in files if file["ok"])
        if ended["state"] != "done":
            raise DemoFailed(f"The verify of “{ended['path']}” ended as {ended['state']}: {ended['error']}")
        written = "can be written" if result["writable"] else "can't be written"
        return (
            f"Verified “{result['path']}”: {good} of {len(files)} files match, the folder {written}, "
            f"{result['elapsed_ms']} ms."
        )

    async def _link(self) -> dict[str, Any]:
        status = await self._send("GET", f"{self._bridge}/status")
        link: dict[str, Any] = status["link"]
        return link

    async def _settled_link(self) -> dict[str, Any]:
        async def settled() -> dict[str, Any] | None:
            link = await self._link()
            return None if link["state"] == "connecting" else link

        return await self._until(settled, "the Bridge's link")

    async def _is_online(self) -> dict[str, Any] | None:
        server = await self._send("GET", f"{self._home}/server")
        return server if offers(server, family(VERIFY)) else None

    async def _scanned(self) -> dict[str, Any] | None:
        listed = await self._send("GET", f"{self._home}/libraries", None, self._headers)
        library: dict[str, Any] = listed["libraries"][0]
        return library if library["scan"]["state"] in ("done", "failed") and library["books"] else None

    async def _ended(self, job_id: int) -> dict[str, Any] | None:
        job = await self._send("GET", f"{self._home}/admin/bridge/jobs/{job_id}", None, self._headers)
        return job if job["state"] in ("done", "failed", "cancelled") else None

    async def _until(self, look: Callable[[], Any], what: str) -> dict[str, Any]:
        end = self._clock.monotonic() + _PATIENCE_S
        while self._clock.monotonic() < end:
            found: dict[str, Any] | None = await look()
            if found is not None:
                return found
            await self._clock.sleep(_STEP_S)
        raise DemoFailed(f"The demo waited {_PATIENCE_S:.0f} s for {what} in vain; the log above says why.")

    async def _send(
        self, method: str, url: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        try:
            async with self._http.request(method, url, json=body, headers=headers) as response:
                answer: dict[str, Any] = await response.json(content_type=None)
                if response.status >= 400:
                    raise DemoFailed(str(answer["error"]["message"]))
                return answer
        except (TimeoutError, aiohttp.ClientError) as error:
            raise DemoFailed(f"The demo's own request to {url} failed ({error}); try again.") from error
