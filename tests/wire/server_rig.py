"""A real home server on a free port with a clock that tests move, and callers for each credential."""

import asyncio
import contextlib
import wave
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import aiohttp

from bridge_agent.base.clock import Clock
from bridge_agent.home.app import HomeServer
from bridge_agent.home.kinds import KNOWN, Kinds
from bridge_agent.settings import Address, HomeSettings, NamedFolder
from bridge_agent.web import passwords
from tests.fakes.bridge import VERIFY, Answer, Caller, FakeBridge
from tests.fakes.clock import FakeClock

PASSWORD = "correct horse"
BOOKS = 6
KINDS: Kinds = {**KNOWN, "test.other": lambda params: dict(params)}
"""The known kinds and one more, for tests that need two."""


class Rig:
    """The server under test and the hands of an admin."""

    def __init__(self, home: HomeServer, http: aiohttp.ClientSession, clock: Clock, books: Path) -> None:
        self.home = home
        self.http = http
        self.clock = clock
        self.books = books
        self.nobody = Caller(http, home.url)
        self.admin = Caller(http, home.url)

    @property
    def time(self) -> FakeClock:
        """The clock, where the test moves it."""
        assert isinstance(self.clock, FakeClock)
        return self.clock

    @property
    def library_id(self) -> int:
        return self.home.library.libraries()[0].id

    def caller(self, token: str | None) -> Caller:
        return Caller(self.http, self.home.url, token)

    async def sign_in(self, username: str = "admin", password: str = PASSWORD) -> Caller:
        answer = await self.nobody.post("/auth/login", {"username": username, "password": password})
        assert answer.status == 200, answer
        return self.caller(answer["token"])

    async def code(self) -> str:
        answer = await self.admin.post("/admin/bridge/pair")
        assert answer.status == 201, answer
        return str(answer["code"])

    async def pair(self, *kinds: str) -> FakeBridge:
        """Return a paired Bridge that has sent a heartbeat with these kinds (bridge.verify if none)."""
        bridge = FakeBridge(self.http, self.home.url)
        assert (await bridge.pair(await self.code())).status == 200
        assert (await bridge.beat(kinds or (VERIFY,))).status == 200
        return bridge

    def again(self, bridge: FakeBridge) -> FakeBridge:
        """Return a Bridge that was paired before a restart."""
        return FakeBridge(self.http, self.home.url, bridge.token)

    async def queue(self, number: int = 1, **more: Any) -> Answer:
        """Queue a verify of “Book {number}”."""
        body = {"kind": VERIFY, "library_id": self.library_id, "path": f"Book {number}", **more}
        return await self.admin.post("/admin/bridge/jobs", body)

    async def queued(self, number: int = 1, **more: Any) -> int:
        answer = await self.queue(number, **more)
        assert answer.status == 201, answer
        return int(answer["id"])

    async def job(self, job_id: int) -> Mapping[str, Any]:
        answer = await self.admin.get(f"/admin/bridge/jobs/{job_id}")
        assert answer.status == 200, answer
        job: Mapping[str, Any] = answer.body
        return job

    async def written(self) -> None:
        """Wait until what was begun in the background has been written."""
        await asyncio.sleep(0)
        await self.home.db.write(lambda c: None)

    async def until_parked(self, count: int = 1) -> None:
        """Wait until that many polls are parked."""
        while len(self.home.jobs.waits) != count:
            await asyncio.sleep(0.005)


def lay_out_books(root: Path, count: int = BOOKS) -> None:
    """Make folders “Book 1”… with one short recording each."""
    for number in range(1, count + 1):
        folder = root / f"Book {number}"
        folder.mkdir(parents=True, exist_ok=True)
        with wave.open(str(folder / "all.wav"), "wb") as out:
            out.setnchannels(1)
            out.setsampwidth(2)
            out.setframerate(8000)
            out.writeframes(bytes(2 * 8000 + 2 * number))


@contextlib.asynccontextmanager
async def serving(
    folder: Path, clock: Clock, *, books: int = BOOKS, known_kinds: Kinds = KINDS, **settings: Any
) -> AsyncIterator[Rig]:
    """Run a home server with a library of a few books, an admin signed in."""
    root = folder / "books"
    lay_out_books(root, books)
    given = {
        "data_dir": folder / "home",
        "listen": Address("127.0.0.1", 0),
        "admin_password": PASSWORD,
        "libraries": (NamedFolder("Books", root),),
        **settings,
    }
    # What makes a password dear to guess would make each of these tests dear to run.
    cheap = mock.patch.object(passwords, "_N", 4)
    home = HomeServer(HomeSettings(**given), clock, lambda _: None, known_kinds)
    connector = aiohttp.TCPConnector(limit=0, ssl=False)
    jar = aiohttp.DummyCookieJar()
    async with aiohttp.ClientSession(connector=connector, cookie_jar=jar) as http:
        with cheap:
            try:
                await home.start()
                await home.library.settled()
                rig = Rig(home, http, clock, root)
                rig.admin = await rig.sign_in()
                yield rig
            finally:
                await home.stop()
