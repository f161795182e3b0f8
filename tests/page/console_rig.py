"""What the console’s tests share: a real home server, a browser without scripts, a Bridge in a few calls."""

import re
from html import unescape
from pathlib import Path

import aiohttp

import bridge_agent
from bridge_agent.base.clock import SystemClock
from bridge_agent.home.app import HomeServer
from bridge_agent.settings import Address, HomeSettings, NamedFolder

PASSWORD = "a-password-for-tests"
DEMO = Path(bridge_agent.__file__).parent / "demo_library"
API = "/api/v1"


async def start_home(folder: Path, **settings) -> HomeServer:
    """Start a server with the sample library, its first scan done."""
    wanted = {
        "data_dir": folder / "home",
        "listen": Address("127.0.0.1", 0),
        "name": "Maple House",
        "admin_password": PASSWORD,
        "libraries": (NamedFolder("Fables", DEMO),),
        **settings,
    }
    home = HomeServer(HomeSettings(**wanted), SystemClock())
    await home.start()
    await home.library.settled()
    return home


class Page:
    """An answer as a person has it before their eyes."""

    def __init__(self, status: int, headers, html: str, url: str) -> None:
        self.status = status
        self.headers = headers
        self.html = html
        self.url = url

    @property
    def text(self) -> str:
        """The words on the page, without marks and with single spaces."""
        body = re.sub(r"<(script|style).*?</\1>", " ", self.html, flags=re.S)
        return " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split())

    def form_token(self) -> str:
        found = re.search(r'name="csrf" value="([^"]+)"', self.html)
        return found[1] if found else ""


class Browser:
    """A browser that follows links and sends forms, and runs no script."""

    def __init__(self, home: HomeServer) -> None:
        self._home = home
        self.session = aiohttp.ClientSession(
            f"http://127.0.0.1:{home.port}", cookie_jar=aiohttp.CookieJar(unsafe=True)
        )

    async def close(self) -> None:
        await self.session.close()

    async def get(self, path: str, *, follow: bool = True) -> Page:
        async with self.session.get(path, allow_redirects=follow) as answer:
            return Page(answer.status, answer.headers, await answer.text(), str(answer.url.relative()))

    async def send(
        self, path: str, fields=None, *, page: Page | None = None, token=None, headers=None, follow=True
    ) -> Page:
        """Send a form with the token of the page that shows it (or of the libraries' page)."""
        if token is None:
            token = (page or await self.get("/libraries")).form_token()
        data = {"csrf": token, **(fields or {})}
        async with self.session.post(path, data=data, headers=headers, allow_redirects=follow) as answer:
            return Page(answer.status, answer.headers, await answer.text(), str(answer.url.relative()))

    async def sign_in(self, username="admin", password=PASSWORD, next="/") -> Page:
        page = await self.get("/sign-in")
        fields = {"username": username, "password": password, "next": next}
        return await self.send("/sign-in", fields, page=page)


class OtherHalf:
    """A Bridge in a few calls, which says what a test tells it to."""

    def __init__(self, home: HomeServer, token: str) -> None:
        self._home = home
        self._session = aiohttp.ClientSession(
            f"http://127.0.0.1:{home.port}", headers={"Authorization": f"Bearer {token}"}
        )

    @classmethod
    async def paired(cls, browser: Browser, home: HomeServer) -> "OtherHalf":
        """Pair with a code read off the console's page, and beat once."""
        page = await browser.send("/settings/bridge/code")
        code = re.search(r'id="code">\s*([0-9A-Z]{4}-[0-9A-Z]{4})', page.html)[1]
        async with aiohttp.ClientSession(f"http://127.0.0.1:{home.port}") as session:
            answer = await session.post(f"{API}/bridge/pair", json={"code": code})
            token = (await answer.json())["token"]
        other = cls(home, token)
        await other.beat()
        return other

    async def close(self) -> None:
        await self._session.close()

    async def beat(self, **status) -> int:
        body = {
            "version": "9.9",
            "kinds": ["bridge.verify"],
            "libraries": [],
            "workers": [],
            "ui_url": None,
            **status,
        }
        async with self._session.put(f"{API}/bridge/status", json=body) as answer:
            return answer.status

    async def claim(self) -> dict:
        async with self._session.get(f"{API}/bridge/jobs/next?wait=1") as answer:
            return (await answer.json())["job"]

    async def report(self, job: dict, state: str, **more) -> dict:
        body = {"attempt": job["attempt"], "state": state, **more}
        async with self._session.patch(f"{API}/bridge/jobs/{job['id']}", json=body) as answer:
            return await answer.json()

    async def hand_in(self, job: dict, name: str, content_type: str, raw: bytes, sha256: str) -> int:
        headers = {
            "X-Job-Attempt": str(job["attempt"]),
            "Content-Type": content_type,
            "X-Content-SHA256": sha256,
        }
        url = f"{API}/bridge/jobs/{job['id']}/artifacts/{name}"
        async with self._session.put(url, data=raw, headers=headers) as answer:
            return answer.status
