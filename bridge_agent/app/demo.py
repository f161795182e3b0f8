"""The demo: both halves on this machine, paired over HTTP, a sample book verified and transcribed."""

import contextlib
import dataclasses
import logging
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import aiohttp

from bridge_agent.app.bridge import Bridge
from bridge_agent.app.demo_speech import LEFT_OUT, DemoSpeech, with_small_model
from bridge_agent.app.visitor import Visitor
from bridge_agent.base import paths
from bridge_agent.base.clock import Clock, SystemClock
from bridge_agent.base.files import private_folder, read_secret_file, write_private
from bridge_agent.base.tasks import Tasks
from bridge_agent.base.threads import in_thread
from bridge_agent.home.app import HomeServer
from bridge_agent.settings import BridgeSettings, HomeSettings, NamedFolder
from bridge_agent.web.passwords import generate

_log = logging.getLogger(__name__)

SAMPLES = Path(__file__).resolve().parent.parent / "demo_library"
LIBRARY = "Samples"


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
        settings = with_small_model(settings)
        self.bridge = Bridge(settings, self.clock, say)
        self.home: HomeServer | None = None
        self._speech = DemoSpeech(settings, demo_folder() / "models", say, self.clock)
        self._closing = contextlib.AsyncExitStack()
        self._tasks = Tasks("demo")

    def healthy(self) -> bool:
        """Whether the Bridge's loops run."""
        return self.bridge.healthy()

    async def start(self) -> None:
        """Start both, pair them if they are not, verify a book, say what to click.

        The transcription of that book goes on beside, and says itself where to read it.
        """
        await in_thread(self._lay_out)
        self.home = HomeServer(
            dataclasses.replace(self._home_settings, admin_password=self._password), self.clock, self._say
        )
        await self.home.start()
        await self.bridge.start()
        self._say(self._addresses())
        http = await self._closing.enter_async_context(
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(20, sock_connect=5, sock_read=20))
        )
        visitor = Visitor(http, self.home.url, self.bridge.url, self.clock)
        await visitor.sign_in(self._password)
        await visitor.pair()
        self._say("  ✓ Paired: the Bridge has a token that opens nothing but the Bridge's own routes.")
        verified = await visitor.verify()
        self._say(f"  ✓ {_verified(verified['result'])}")
        self._say(_WHAT_TO_CLICK.format(more=_READ if self._speech.offered else ""))
        if not self._speech.offered:
            self._say(LEFT_OUT)
            return
        book = self._speech.run(visitor, verified["library_id"], verified["result"]["path"], self.bridge.url)
        self._tasks.spawn(book, "transcription")

    async def stop(self) -> None:
        """Stop both, the Bridge first."""
        await self._tasks.cancel()
        await self._closing.aclose()
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


def _verified(result: Mapping[str, Any]) -> str:
    files = result["files"]
    good = sum(1 for file in files if file["ok"])
    written = "can be written" if result["writable"] else "can't be written"
    return (
        f"Verified “{result['path']}”: {good} of {len(files)} files match, the folder {written}, "
        f"{result['elapsed_ms']} ms."
    )


_WHAT_TO_CLICK = """
  What to do now:
    1. Open the Bridge's page: it says whom it is connected to and what it did last.
    2. Open the console, sign in, go to Libraries, press Verify, and watch both pages.
    3. Open a book there; under More, let the job hold for 30 seconds, then Verify this book.
       Press Cancel on either page: the other follows.
{more}  Ctrl-C stops both. The next start goes on from here.
"""
_READ = "    4. On the Bridge's page, open Transcripts: read a book, find in it, search in all of them.\n"
