"""A visitor: does over HTTP what a person does in a browser, on the console and the Bridge's page."""

from collections.abc import Callable
from typing import Any

import aiohttp

from bridge_agent.base.clock import Clock
from bridge_agent.base.errors import BridgeError
from bridge_agent.protocol.bridge import API, VERIFY, family
from bridge_agent.protocol.capability import offers

PATIENCE_S = 60.0
_STEP_S = 0.1
ENDED = ("done", "failed", "cancelled")


class DemoFailed(BridgeError):
    """The demo did not come up; the log above says why."""

    code = "demo_failed"


class Visitor:
    """Does over HTTP what a person does in a browser, on both pages."""

    def __init__(self, http: aiohttp.ClientSession, home: str, bridge: str, clock: Clock) -> None:
        self._http = http
        self._home = home + API
        self._bridge = bridge + "/api"
        self._clock = clock
        self._headers: dict[str, str] = {}

    async def sign_in(self, password: str) -> None:
        """Sign in to the console as its admin."""
        answer = await self.send(
            "POST", f"{self._home}/auth/login", {"username": "admin", "password": password}
        )
        self._headers = {"Authorization": f"Bearer {answer['token']}"}

    async def pair(self) -> None:
        """Pair the two, if they are not."""
        if (await self._settled_link())["state"] == "online":
            return
        if (await self._link())["state"] != "unpaired":
            await self.send("POST", f"{self._bridge}/unpair", {})
        made = await self.send("POST", f"{self._home}/admin/bridge/pair", {})
        await self.send(
            "POST",
            f"{self._bridge}/pair",
            {"server_url": self._home.removesuffix(API), "code": made["code"]},
        )
        await self.until(self._is_online, "the first heartbeat")

    async def verify(self) -> dict[str, Any]:
        """Verify the sample book and return the job, done; raises DemoFailed."""
        library = await self.until(self._scanned, "the scan of the sample library")
        job = await self.queue(VERIFY, library["id"])
        ended = await self.until(lambda: self._ended(job["id"]), "the verify")
        if ended["state"] != "done":
            raise DemoFailed(f"The verify of “{ended['path']}” ended as {ended['state']}: {ended['error']}")
        return ended

    async def queue(self, kind: str, library_id: int, path: str | None = None) -> dict[str, Any]:
        """Queue a job, or find the open one."""
        body = {"kind": kind, "library_id": library_id, **({} if path is None else {"path": path})}
        return await self.send("POST", f"{self._home}/admin/bridge/jobs", body)

    async def job(self, job_id: int) -> dict[str, Any]:
        """Return a job."""
        return await self.send("GET", f"{self._home}/admin/bridge/jobs/{job_id}")

    async def transcripts(self) -> list[dict[str, Any]]:
        """Return the newest transcripts that the Bridge keeps."""
        found: list[dict[str, Any]] = (await self.send("GET", f"{self._bridge}/transcripts"))["transcripts"]
        return found

    async def _link(self) -> dict[str, Any]:
        status = await self.send("GET", f"{self._bridge}/status")
        link: dict[str, Any] = status["link"]
        return link

    async def _settled_link(self) -> dict[str, Any]:
        async def settled() -> dict[str, Any] | None:
            link = await self._link()
            return None if link["state"] == "connecting" else link

        return await self.until(settled, "the Bridge's link")

    async def _is_online(self) -> dict[str, Any] | None:
        server = await self.send("GET", f"{self._home}/server")
        return server if offers(server, family(VERIFY)) else None

    async def _scanned(self) -> dict[str, Any] | None:
        listed = await self.send("GET", f"{self._home}/libraries")
        library: dict[str, Any] = listed["libraries"][0]
        return library if library["scan"]["state"] in ("done", "failed") and library["books"] else None

    async def _ended(self, job_id: int) -> dict[str, Any] | None:
        job = await self.job(job_id)
        return job if job["state"] in ENDED else None

    async def until(self, look: Callable[[], Any], what: str) -> dict[str, Any]:
        """Look until there is something to see; raises DemoFailed after a minute."""
        end = self._clock.monotonic() + PATIENCE_S
        while self._clock.monotonic() < end:
            found: dict[str, Any] | None = await look()
            if found is not None:
                return found
            await self._clock.sleep(_STEP_S)
        raise DemoFailed(f"The demo waited {PATIENCE_S:.0f} s for {what} in vain; the log above says why.")

    async def send(self, method: str, url: str, body: object = None) -> dict[str, Any]:
        """Make a request; the console's ones carry the sign-in. Raises DemoFailed."""
        headers = self._headers if url.startswith(self._home) else {}
        try:
            async with self._http.request(method, url, json=body, headers=headers) as response:
                answer: dict[str, Any] = await response.json(content_type=None)
                if response.status >= 400:
                    raise DemoFailed(str(answer["error"]["message"]))
                return answer
        except (TimeoutError, aiohttp.ClientError) as error:
            raise DemoFailed(f"The demo's own request to {url} failed ({error}); try again.") from error
