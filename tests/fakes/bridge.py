"""An HTTP client that plays a Bridge against a server under test, with the hands of a person beside it."""

import contextlib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp

API = "/api/v1"
VERIFY = "bridge.verify"


@dataclass
class Answer:
    """What a call was answered: `body` is the JSON, or None where there is none."""

    status: int
    body: Any
    raw: bytes
    headers: Mapping[str, str]

    @property
    def code(self) -> str:
        """The error's code."""
        return str(self.body["error"]["code"])

    def __getitem__(self, name: str) -> Any:
        return self.body[name]


class Caller:
    """Calls the API with one credential (or none), each call with a header of its own and no cookies."""

    def __init__(self, http: aiohttp.ClientSession, url: str, token: str | None = None) -> None:
        self.http = http
        self.url = url
        self.token = token

    async def call(self, method: str, path: str, body: object = None, **options: Any) -> Answer:
        """Make one call to a path below /api/v1."""
        headers = dict(options.pop("headers", {}))
        if self.token is not None:
            headers.setdefault("Authorization", f"Bearer {self.token}")
        if body is not None:
            options["json"] = body
        async with self.http.request(method, self.url + API + path, headers=headers, **options) as answer:
            raw = await answer.read()
            parsed = None
            if answer.content_type == "application/json":
                with contextlib.suppress(ValueError):
                    parsed = json.loads(raw)
            return Answer(answer.status, parsed, raw, answer.headers)

    async def get(self, path: str, **options: Any) -> Answer:
        return await self.call("GET", path, **options)

    async def post(self, path: str, body: object = None, **options: Any) -> Answer:
        return await self.call("POST", path, body, **options)

    async def patch(self, path: str, body: object = None, **options: Any) -> Answer:
        return await self.call("PATCH", path, body, **options)

    async def put(self, path: str, body: object = None, **options: Any) -> Answer:
        return await self.call("PUT", path, body, **options)

    async def delete(self, path: str, **options: Any) -> Answer:
        return await self.call("DELETE", path, **options)


class FakeBridge(Caller):
    """The Bridge's side of the protocol, one method a call."""

    async def pair(self, code: str, **more: Any) -> Answer:
        """Exchange a code and keep the token."""
        answer = await Caller(self.http, self.url).post("/bridge/pair", {"code": code, **more})
        if answer.status == 200:
            self.token = answer["token"]
        return answer

    async def beat(self, kinds: tuple[str, ...] = (VERIFY,), **more: Any) -> Answer:
        """Send a heartbeat."""
        body = {"version": "1.0", "kinds": list(kinds), "libraries": [], "workers": [], "ui_url": None}
        return await self.put("/bridge/status", {**body, **more})

    async def next(self, wait: float | None = None, *kinds: str, claim_id: str | None = None) -> Answer:
        """Ask for a job."""
        params: list[tuple[str, str]] = [("kind", kind) for kind in kinds]
        if wait is not None:
            params.append(("wait", str(wait)))
        headers = {} if claim_id is None else {"X-Claim-Id": claim_id}
        return await self.get("/bridge/jobs/next", params=params, headers=headers)

    async def claim(self) -> dict[str, Any]:
        """Ask for a job that must be there."""
        answer = await self.next()
        assert answer.status == 200, answer
        job: dict[str, Any] = answer["job"]
        return job

    async def report(self, job: Mapping[str, Any], state: str, **more: Any) -> Answer:
        """Report on a claimed job."""
        body = {"attempt": job["attempt"], "state": state, **more}
        return await self.patch(f"/bridge/jobs/{job['id']}", body)

    async def put_artifact(
        self,
        job: Mapping[str, Any],
        name: str,
        content: bytes,
        *,
        kind: str = "application/json",
        sha256: str | None = None,
    ) -> Answer:
        """Hand in an artifact."""
        headers = {
            "X-Job-Attempt": str(job["attempt"]),
            "Content-Type": kind,
            "X-Content-SHA256": sha256 or hashlib.sha256(content).hexdigest(),
        }
        return await self.call(
            "PUT", f"/bridge/jobs/{job['id']}/artifacts/{name}", data=content, headers=headers
        )
