"""A link with everything below it for real: store, vault, HTTP; only time is the test's."""

from pathlib import Path
from typing import Any

from bridge_agent.base.clock import Clock
from bridge_agent.base.loops import Loops
from bridge_agent.base.tasks import Tasks
from bridge_agent.link.link import Link
from bridge_agent.settings import BridgeSettings
from bridge_agent.store.database import InlineDatabase, open_inline
from bridge_agent.vault import Vault
from tests.fakes.server import CODE, FakeServer, until

SCHEMA = "bridge_agent.store.bridge_schema"


class Heard:
    """A listener that writes down what it hears."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.changes = 0

    def link_ready(self, server_id: str) -> None:
        self.heard.append(f"ready {server_id}")

    def link_down(self, why: str) -> None:
        self.heard.append(f"down {why}")

    def link_changed(self) -> None:
        self.changes += 1


class Rig:
    """One data folder and the link in it; `restart` builds a new one over the same folder."""

    def __init__(self, folder: Path, clock: Clock, **settings: Any) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.settings = BridgeSettings(data_dir=folder, token_store="file", name="Desk", **settings)
        self.folder = folder
        self.clock = clock
        self.db: InlineDatabase = open_inline(folder / "bridge.sqlite3", SCHEMA)
        self.vault: Any = Vault("file", folder, clock)
        self.tasks = Tasks("test")
        self.loops = Loops(clock)
        self.ear = Heard()
        self.link = Link(self.settings, clock, self.db, self.vault, self.loops, self.tasks)
        self.link.listeners.append(self.ear)

    async def __aenter__(self) -> "Rig":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> "Rig":
        await self.link.start()
        return self

    async def stop(self) -> None:
        await self.link.stop()
        await self.tasks.cancel()
        await self.db.close()

    def line(self, loop: str) -> str:
        return next((a.line for a in self.loops.all() if a.name == loop), "")

    async def pair(self, server: FakeServer) -> None:
        """Pair and wait until the first heartbeat has gone through."""
        server.code = server.code or CODE
        await self.link.pair(server.url, CODE)
        await until(lambda: self.link.online)
