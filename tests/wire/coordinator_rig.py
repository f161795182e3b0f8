"""A real server on 127.0.0.1 that speaks the coordinator's wire over a rig, and a client for it."""

import asyncio
import contextlib
import hashlib
import io
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from bridge_agent.settings import Address, BridgeSettings
from bridge_agent.transcription.pipeline.policy import Retries
from bridge_agent.web.errors import json_errors
from bridge_agent.web.listen import Listener
from bridge_agent.worker_api.coordinator_v1.opening import CoordinatorRooms, open_coordinator
from bridge_agent.worker_api.gate import Gate
from bridge_agent.worker_api.transcription_v1.addresses import KEY, Addresses
from bridge_agent.worker_api.transcription_v1.wire import Wire
from bridge_agent.worker_api.uploads.uploads import Limits
from tests.fakes.clock import FakeClock
from tests.unit.worker_api.rig import WorkRig

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z")
RID = re.compile(r"[0-9a-f]{16}\Z")
NOBODY = "11111111-1111-4111-8111-111111111111"
HEADER = b"chembl_id\tcanonical_smiles"
TABLE = HEADER + b"\r\nA\tC\r\nB\tCC\r\nC\tCCC\r\nD\tN\r\nE\tO"
SEARCH = '{"query_smiles": "CCO", "top_k": 3}'
PARTIAL = b"rank,chembl_id,canonical_smiles,similarity\r\n"

Field = tuple[str, str] | tuple[str, str, bytes, str]


@dataclass(frozen=True)
class Answered:
    """An answer, read to its end."""

    status: int
    body: Any
    raw: bytes
    headers: Mapping[str, str]

    @property
    def error(self) -> tuple[int, str]:
        """Status and text of a refusal, whose form is checked."""
        assert set(self.body) == {"error", "request_id"}
        assert RID.match(self.body["request_id"])
        assert self.headers["X-Request-ID"] == self.body["request_id"]
        assert self.headers["Content-Type"] == "application/json"
        assert self.raw.endswith(b"}\n")
        return self.status, self.body["error"]

    @property
    def told(self) -> tuple[int, Any]:
        """Status and JSON."""
        return self.status, self.body


class Caller:
    """Whoever sends requests with one token (none, if that is None)."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        url: str,
        token: str | None,
        token_id: int = 0,
        clock: FakeClock | None = None,
    ) -> None:
        self.session = session
        self.url = url
        self.token = token
        self.token_id = token_id
        self.worker_id = ""
        self._clock = clock

    async def ending(self, path: str, body: object) -> Answered:
        """POST what may end a job, and let time pass while the answer waits for that end."""
        posting = asyncio.ensure_future(self.post(path, body))
        while self._clock is not None and not (await asyncio.wait({posting}, timeout=0.05))[0]:
            await self._clock.advance(0.02)
        return await posting

    async def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        raw: bytes | aiohttp.MultipartWriter | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answered:
        """Send a request: a JSON body, raw bytes, or nothing."""
        sent: dict[str, str] = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
        keywords: dict[str, Any] = {}
        if raw is not None:
            keywords["data"] = io.BytesIO(raw) if isinstance(raw, bytes) else raw
        elif body is not None:
            keywords["json"] = body
        async with self.session.request(
            method, self.url + path, headers={**sent, **(headers or {})}, allow_redirects=False, **keywords
        ) as answer:
            content = await answer.read()
            is_json = answer.content_type == "application/json" and content
            return Answered(answer.status, await answer.json() if is_json else None, content, answer.headers)

    async def post(self, path: str, body: object = None) -> Answered:
        """POST."""
        return await self.call("POST", path, body)

    async def get(self, path: str) -> Answered:
        """GET."""
        return await self.call("GET", path)

    async def register(self, *capabilities: str) -> "Caller":
        """Register as a worker; its id is kept."""
        answer = await self.post("/workers/register", {"name": "w", "capabilities": list(capabilities)})
        assert answer.status == 201, answer.raw
        self.worker_id = answer.body["worker_id"]
        return self

    async def claim(self) -> Answered:
        """Claim a task."""
        return await self.post("/tasks/claim", {"worker_id": self.worker_id})

    async def claimed(self) -> dict[str, Any]:
        """Claim a task, which must be there."""
        answer = await self.claim()
        assert answer.status == 200, (answer.status, answer.raw)
        found: dict[str, Any] = answer.body
        return found

    async def beat(self, task_id: str, attempt: object = 1) -> Answered:
        """Send a heartbeat."""
        return await self.post(
            f"/tasks/{task_id}/heartbeat", {"worker_id": self.worker_id, "attempt": attempt}
        )

    async def put(
        self,
        task_id: str,
        content: bytes = PARTIAL,
        attempt: int = 1,
        name: str = "r.csv",
        kind: str = "text/csv",
    ) -> Answered:
        """Hand a partial in."""
        headers = {"X-Worker-ID": self.worker_id, "X-Task-Attempt": str(attempt), "Content-Type": kind}
        return await self.call("PUT", f"/tasks/{task_id}/artifacts/{name}", raw=content, headers=headers)

    async def complete(self, task_id: str, artifact_id: str, attempt: int = 1, **more: object) -> Answered:
        """Complete a task."""
        body = {
            "worker_id": self.worker_id,
            "attempt": attempt,
            "result": {"artifact_id": artifact_id},
            **more,
        }
        return await self.ending(f"/tasks/{task_id}/result", body)

    async def fail(self, task_id: str, attempt: int = 1, **more: object) -> Answered:
        """Say that a task could not be done."""
        body = {"worker_id": self.worker_id, "attempt": attempt, **more}
        return await self.ending(f"/tasks/{task_id}/failure", body)

    async def do(self, task: Mapping[str, Any], content: bytes = PARTIAL) -> Answered:
        """Hand in and complete a claimed task."""
        put = await self.put(task["task_id"], content, task["attempt"])
        assert put.status == 200, put.raw
        return await self.complete(task["task_id"], put.body["artifact_id"], task["attempt"])

    async def upload(self, *fields: Field) -> Answered:
        """Upload a form of these fields: (name, text), or (name, file name, bytes, type) for a file."""
        form = aiohttp.MultipartWriter("form-data")
        for name, *rest in fields:
            if len(rest) == 1:
                part = form.append(rest[0], {"Content-Type": "text/plain"})
                part.set_content_disposition("form-data", quote_fields=False, name=name)
            else:
                filename, content, kind = rest
                part = form.append(content, {"Content-Type": kind})
                part.set_content_disposition("form-data", quote_fields=False, name=name, filename=filename)
        return await self.call("POST", "/jobs/upload", raw=form)

    async def search(self, table: bytes = TABLE, rows: int = 2, parameters: str = SEARCH) -> str:
        """Upload a table to be searched; return the job's id."""
        answer = await self.upload(
            ("workload", "similarity-search"),
            ("parameters", parameters),
            ("chunk_rows", str(rows)),
            ("file", "mols.tsv", table, "text/tab-separated-values"),
        )
        assert answer.status == 201, answer.raw
        found: str = answer.body["job_id"]
        return found

    async def described(self, workload: str = "w", chunks: int = 1, **more: object) -> str:
        """Describe a job of inputs elsewhere; return its id."""
        each = [{"chunk_index": n, "input_uri": f"s3://{n}", "input_sha256": "0" * 64} for n in range(chunks)]
        body = {"workload": workload, "input_uri": "s3://in", "chunks": each, **more}
        answer = await self.post("/jobs", body)
        assert answer.status == 201, answer.raw
        found: str = answer.body["id"]
        return found

    async def status(self, job_id: str) -> dict[str, Any]:
        """Return a job's progress."""
        answer = await self.get(f"/jobs/{job_id}")
        assert answer.status == 200, answer.raw
        found: dict[str, Any] = answer.body
        return found


class CoordinatorRig:
    """The server over a rig of the pipeline, both wires on it."""

    def __init__(
        self, folder: Path, clock: FakeClock, *, lease_s: float = 120.0, limits: Limits | None = None
    ) -> None:
        self.folder = folder
        self.clock = clock
        self.limits = limits
        settings = BridgeSettings(data_dir=folder, worker_lease_seconds=lease_s)
        retries = Retries(most_tries=3, first_pause_s=5.0)
        self.work = WorkRig(folder, clock, retries=retries, settings=settings)
        self.rooms: CoordinatorRooms

    async def start(self, *, first: bool = True) -> None:
        """Open everything and serve."""
        if first:
            await self.work.open_up()
        work = self.work
        self.gate = Gate(work.tokens, work.clock)
        self.rooms = await open_coordinator(
            work.settings, work.clock, work.tasks, self.gate, work.service, work.pipeline, self.limits
        )
        await self.rooms.tidy()
        await self.rooms.start()
        self.app = web.Application(middlewares=[json_errors("/")])
        addresses = Addresses(await work.tokens.key(KEY))
        Wire(work.service, self.gate, work.clock, 900.0, addresses).add_routes(self.app)
        self.rooms.add_routes(self.app)
        self._listener = Listener(self.app, Address("127.0.0.1", 0), "TEST")
        await self._listener.start()
        self._session = aiohttp.ClientSession()

    async def stop(self) -> None:
        """End it, as a stop does."""
        await self._session.close()
        await self._listener.stop()
        await self.work.tasks.cancel()
        await self.rooms.close()

    async def restart(self, callers: Sequence[Caller] = ()) -> None:
        """Stop and begin anew over the same folder; callers find the new server."""
        await self.stop()
        await self.work.restart()
        await self.start(first=False)
        for caller in callers:
            caller.session, caller.url = self._session, self.url

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._listener.port}"

    def caller(self, token: str | None, token_id: int = 0) -> Caller:
        """Return a client with that token."""
        return Caller(self._session, self.url, token, token_id, self.clock)

    async def invited(self, name: str, model: str | None = None) -> Caller:
        """Invite somebody."""
        made = await self.work.tokens.add(name, model)
        return self.caller(made.token, made.member.id)

    async def worker(self, name: str, *capabilities: str, model: str | None = None) -> Caller:
        """Invite somebody who registers for these workloads."""
        caller = await self.invited(name, model)
        return await caller.register(*(capabilities or ("similarity-search", "w")))

    async def pass_time(self, seconds: float) -> None:
        """Let time pass, and threads do their work meanwhile."""
        await self.clock.advance(seconds)
        await asyncio.sleep(0.01)

    def stored(self) -> list[str]:
        """Return the files of all jobs on the disk."""
        folder = self.folder / "coordinator"
        return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@contextlib.asynccontextmanager
async def serving(
    folder: Path, clock: FakeClock, *, lease_s: float = 120.0, limits: Limits | None = None
) -> AsyncIterator[CoordinatorRig]:
    """Serve for as long as the test lasts."""
    rig = CoordinatorRig(folder, clock, lease_s=lease_s, limits=limits)
    await rig.start()
    try:
        yield rig
    finally:
        await rig.stop()


def sha(content: bytes) -> str:
    """Return the SHA-256 in hexadecimal."""
    return hashlib.sha256(content).hexdigest()
