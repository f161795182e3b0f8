"""A real server on 127.0.0.1 that speaks `/worker/v1` over a rig, and a client for it."""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
from aiohttp import web

from bridge_agent.settings import Address
from bridge_agent.web.listen import Listener
from bridge_agent.worker_api.gate import Gate
from bridge_agent.worker_api.transcription_v1.addresses import KEY, Addresses
from bridge_agent.worker_api.transcription_v1.wire import SourceUrl, Wire
from tests.unit.worker_api.rig import WorkRig

NF = (404, {"error": "job_not_found"})
_FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@dataclass(frozen=True)
class Answered:
    """An answer, read to its end."""

    status: int
    body: Any
    raw: bytes
    headers: Mapping[str, str]

    @property
    def job(self) -> dict[str, Any]:
        """The job of a 200."""
        assert self.status == 200, (self.status, self.raw)
        found: dict[str, Any] = self.body["job"]
        return found

    @property
    def told(self) -> tuple[int, Any]:
        """Status and JSON."""
        return self.status, self.body


class Caller:
    """A worker of the public project, as its requests look."""

    def __init__(
        self, session: aiohttp.ClientSession, url: str, token: str | None, token_id: int = 0
    ) -> None:
        self._session = session
        self.url = url
        self.token = token
        self.token_id = token_id

    async def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        raw: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answered:
        """Send a request under /worker/v1: a JSON body, raw bytes, or nothing as a form, as axios does."""
        sent: dict[str, str] = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
        keywords: dict[str, Any] = {}
        if raw is not None:
            keywords["data"] = io.BytesIO(raw)
            sent["Content-Type"] = "application/json"
        elif body is not None:
            keywords["json"] = body
        elif method == "POST":
            sent.update(_FORM)
        url = path if path.startswith("http") else f"{self.url}/worker/v1/{path}"
        async with self._session.request(
            method, url, headers={**sent, **(headers or {})}, **keywords
        ) as answer:
            content = await answer.read()
            is_json = answer.content_type == "application/json" and content
            return Answered(answer.status, await answer.json() if is_json else None, content, answer.headers)

    async def post(self, path: str, body: object = None) -> Answered:
        """POST under /worker/v1."""
        return await self.call("POST", path, body)

    async def get(self, path: str) -> Answered:
        """GET under /worker/v1."""
        return await self.call("GET", path)

    async def claim(self, bucket: object = None) -> dict[str, Any]:
        """Claim a part that must be there."""
        answer = await self.post("jobs/claim-download", None if bucket is None else {"bucket": bucket})
        return answer.job

    async def claim_soon(self, rig: WorkRig) -> dict[str, Any]:
        """Claim until there is a part: a book that nobody was there for goes on within seconds."""
        for _ in range(20):
            answer = await self.post("jobs/claim-download")
            if answer.status == 200:
                return answer.job
            await rig.pass_time(0.5)
        raise AssertionError("no part came")

    async def ready(self) -> dict[str, Any]:
        """Claim a part and have it on disk."""
        job = await self.claim()
        return (await self.post(f"jobs/{job['id']}/downloaded", {"localSourcePath": f"/w/{job['id']}"})).job

    async def transcribing(self) -> dict[str, Any]:
        """Claim a part and begin with it."""
        job = await self.ready()
        return (await self.post(f"jobs/{job['id']}/transcribe")).job


class WireRig:
    """The server over a rig."""

    def __init__(self, rig: WorkRig, source_url: SourceUrl | None = None, stale_s: float = 900.0) -> None:
        self.rig = rig
        self._source_url = source_url
        self._stale_s = stale_s
        self._listener: Listener | None = None
        self._session: aiohttp.ClientSession | None = None

    async def start(self) -> None:
        """Serve what the rig has now, as after a restart."""
        rig = self.rig
        self.wire = Wire(
            rig.service,
            Gate(rig.tokens, rig.clock),
            rig.clock,
            self._stale_s,
            Addresses(await rig.tokens.key(KEY)),
            self._source_url,
        )
        app = web.Application()
        self.wire.add_routes(app)
        self._listener = Listener(app, Address("127.0.0.1", 0), "TEST")
        await self._listener.start()
        self._session = aiohttp.ClientSession()

    async def stop(self) -> None:
        """Serve no more."""
        if self._session is not None:
            await self._session.close()
        if self._listener is not None:
            await self._listener.stop()

    @property
    def url(self) -> str:
        """Where it listens."""
        assert self._listener is not None
        return f"http://127.0.0.1:{self._listener.port}"

    def caller(self, token: str | None, token_id: int = 0) -> Caller:
        """Return a client with that token."""
        assert self._session is not None
        return Caller(self._session, self.url, token, token_id)

    async def worker(self, name: str, model: str | None = "tiny") -> Caller:
        """Invite a worker that has called."""
        invited = await self.rig.tokens.add(name, model)
        await self.rig.tokens.saw(invited.member)
        return self.caller(invited.token, invited.member.id)

    async def soon(self, seconds: float = 0.5) -> None:
        """Let some time pass."""
        await self.rig.pass_time(seconds)
