"""A page on stand-ins for the rooms below it, with a real store and a real HTTP client."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiohttp import CookieJar
from aiohttp.test_utils import TestClient, TestServer

from bridge_agent.page import app as page
from bridge_agent.settings import BridgeSettings
from bridge_agent.store import open_database
from tests.fakes.clock import FakeClock
from tests.fakes.rooms import Household, household

Client = TestClient[Any, Any]


@dataclass
class Page:
    """A served page: what stands behind it, and a client."""

    house: Household
    client: Client
    clock: FakeClock
    printed: list[str]

    @property
    def token(self) -> str:
        return self.house.parts.control_token


MakePage = Callable[..., Awaitable[Page]]


@pytest.fixture
async def make_page(tmp_path: Path) -> AsyncIterator[MakePage]:
    """Return a function that serves a page with settings given as in the environment."""
    pages: list[tuple[Client, Any]] = []

    async def make(opened: bool = True, **environ: str) -> Page:
        folder = tmp_path / str(len(pages))
        folder.mkdir()
        settings = BridgeSettings.load(
            {f"BRIDGE_{k.upper()}": v for k, v in environ.items()}, data_dir=folder
        )
        clock = FakeClock()
        store = await open_database(
            folder / "bridge.sqlite3", "bridge_agent.store.bridge_schema", clock=clock
        )
        house = household(settings, store.database, clock)
        client: Client = TestClient(TestServer(page.build(house.parts)), cookie_jar=CookieJar(unsafe=True))
        await client.start_server()
        pages.append((client, store.database))
        printed: list[str] = []
        if opened:
            await page.open_to_users(house.parts, client.port or 0, printed.append)
        return Page(house, client, clock, printed)

    yield make
    for client, database in pages:
        await client.close()
        await database.close()


@pytest.fixture
async def served(make_page: MakePage) -> Page:
    """Return a page on loopback without a password, not paired."""
    return await make_page()
