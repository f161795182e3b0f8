"""What the tests of pages share: a home server, somebody signed in to its console, a real browser."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bridge_agent.home.app import HomeServer
from tests.page.console_rig import Browser, start_home


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[HomeServer]:
    """A home server with the demo's books."""
    server = await start_home(tmp_path)
    yield server
    await server.stop()


@pytest.fixture
async def browser(home: HomeServer) -> AsyncIterator[Browser]:
    """An admin who is signed in, without a real browser."""
    one = Browser(home)
    await one.sign_in()
    yield one
    await one.close()


@pytest.fixture
async def chromium():
    """A real browser."""
    from tests.page.browsing import chromium_browser

    async with chromium_browser() as found:
        yield found
