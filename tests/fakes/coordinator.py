"""A scripted coordinator: a real server on 127.0.0.1 that can be unplugged, lie, refuse and expire leases."""

import asyncio
import hashlib
import json
import ssl
import time
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from aiohttp import web

from bridge_agent.base.clock import Clock, SystemClock


class HurriedClock(SystemClock):
    """The machine's own clock, many times as fast: what waits a minute waits for less than a second."""

    def __init__(self, times: float = 50.0) -> None:
        super().__init__()
        self._times = times
        self._began = time.monotonic()
        self._start = datetime.now(UTC)
        self.slept = 0.0
        """How long the machine slept: time that no timer noticed."""

    def monotonic(self) -> float:
        return (time.monotonic() - self._began) * self._times + self.slept

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self.monotonic())

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / self._times)

    async def wait(self, event: asyncio.Event, seconds: float) -> bool:
        return await super().wait(event, seconds / self._times)


TOKEN = "wrk_" + "t" * 43


@dataclass
class Task:
    """One part, as the coordinator has it."""

    content: bytes
    parameters: dict[str, Any]
    index: int
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    status: str = "pending"
    attempt: int = 0
    owner: str = ""
    ends: float = 0.0
    artifacts: dict[int, tuple[str, bytes]] = field(default_factory=dict)
    result: bytes | None = None
    failures: list[dict[str, Any]] = field(default_factory=list)

    @property
    def partial(self) -> dict[str, Any]:
        assert self.result is not None
        return dict(json.loads(self.result))


class Coordinator:
    """The server; everything on it may be changed while it runs."""

    def __init__(
        self,
        *,
        lease_s: float = 120.0,
        interval_s: float = 15.0,
        tls: ssl.SSLContext | None = None,
        clock: Clock | None = None,
    ):
        self.clock = clock or SystemClock()
        self.lease_s = lease_s
        self.interval_s = interval_s
        self.tasks: list[Task] = []
        self.workers: dict[str, dict[str, Any]] = {}
        self.token = TOKEN
        self.job_id = "11111111-1111-1111-1111-111111111111"
        self.calls: list[tuple[str, str]] = []
        self.at: list[float] = []
        self.paused = False
        self.broken_inputs = 0
        self.false_sums = 0
        self.lost_answers: Counter[str] = Counter()
        """How many answers of a route are lost after their work was done."""
        self.instead: Callable[[web.Request], Awaitable[web.StreamResponse | None]] | None = None
        self.clock_shift = 0.0
        self.most_leased = 0
        self.changed = asyncio.Event()
        self._tls = tls
        self._runner: web.AppRunner | None = None
        self.port = 0

    # ---- by the test's hand

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    async def plug_in(self) -> None:
        app = web.Application(middlewares=[self._middle], client_max_size=64 << 20)
        app.router.add_get("/health", self._health)
        app.router.add_get("/jobs/{id}", self._job)
        app.router.add_post("/workers/register", self._register)
        app.router.add_post("/tasks/claim", self._claim)
        app.router.add_post("/tasks/{id}/heartbeat", self._heartbeat)
        app.router.add_get("/tasks/{id}/input", self._input)
        app.router.add_put("/tasks/{id}/artifacts/{name}", self._put)
        app.router.add_post("/tasks/{id}/result", self._result)
        app.router.add_post("/tasks/{id}/failure", self._failure)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port, ssl_context=self._tls)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def unplug(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def add(self, content: bytes, **parameters: Any) -> Task:
        task = Task(content, parameters, len(self.tasks))
        self.tasks.append(task)
        return task

    def expire(self, task: Task) -> None:
        task.ends = 0.0

    def count(self, name: str) -> int:
        return sum(1 for _, called in self.calls if called == name)

    def done(self) -> int:
        return sum(task.status == "completed" for task in self.tasks)

    async def until(self, there: Callable[[], bool], patience: float = 20.0) -> None:
        """Wait until something is true after some call."""
        async with asyncio.timeout(patience):
            while not there():
                self.changed.clear()
                try:
                    async with asyncio.timeout(0.05):
                        await self.changed.wait()
                except TimeoutError:
                    continue

    # ---- the wire

    @web.middleware
    async def _middle(self, request: web.Request, handler: Any) -> web.StreamResponse:
        name = _NAMES.get(request.path.rsplit("/", 1)[-1], "")
        if not name:
            name = "put" if request.method == "PUT" else request.path.split("/")[1]
        self.calls.append((request.method, name))
        self.at.append(self.clock.monotonic())
        try:
            if self.instead is not None and (answer := await self.instead(request)) is not None:
                return answer
            if name != "health" and request.headers.get("Authorization") != f"Bearer {self.token}":
                return self._no(401, "unauthorized")
            answer = await handler(request)
            if self.lost_answers[name]:
                self.lost_answers[name] -= 1
                assert request.transport is not None
                request.transport.close()
            return answer
        finally:
            self.changed.set()

    def _no(self, status: int, text: str) -> web.Response:
        return web.json_response({"error": text, "request_id": "0" * 16}, status=status)

    async def _health(self, _: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    async def _job(self, _: web.Request) -> web.Response:
        return self._no(404, "job not found")

    async def _register(self, request: web.Request) -> web.Response:
        worker_id = str(uuid.uuid4())
        self.workers[worker_id] = await request.json()
        return web.json_response(
            {"worker_id": worker_id, "heartbeat_interval_seconds": self.interval_s}, status=201
        )

    async def _claim(self, request: web.Request) -> web.Response:
        body = await request.json()
        if body["worker_id"] not in self.workers:
            return self._no(404, "worker not found")
        for task in self.tasks:
            if task.status in ("leased", "running") and task.ends < self.clock.monotonic():
                task.status = "pending"
        task = next((task for task in self.tasks if task.status == "pending"), None)
        if task is None or self.paused:
            return web.Response(status=204)
        task.status, task.owner, task.attempt = "leased", body["worker_id"], task.attempt + 1
        task.ends = self.clock.monotonic() + self.lease_s
        leased = sum(each.status in ("leased", "running") for each in self.tasks)
        self.most_leased = max(self.most_leased, leased)
        return web.json_response(self._wire(task), headers=self._date())

    async def _heartbeat(self, request: web.Request) -> web.Response:
        task = self._task(request)
        if (no := self._held(task, await request.json())) is not None:
            return no
        assert task is not None
        task.status, task.ends = "running", self.clock.monotonic() + self.lease_s
        return web.json_response(self._wire(task), headers=self._date())

    async def _input(self, request: web.Request) -> web.Response:
        task = self._task(request)
        if task is None:
            return self._no(404, "task not found")
        content = task.content
        if self.broken_inputs:
            self.broken_inputs -= 1
            content = content[:-1] + bytes([content[-1] ^ 1])
        return web.Response(body=content, content_type="audio/flac")

    async def _put(self, request: web.Request) -> web.Response:
        task, content = self._task(request), await request.read()
        who = {"worker_id": request.headers["X-Worker-ID"], "attempt": int(request.headers["X-Task-Attempt"])}
        if (no := self._held(task, who)) is not None:
            return no
        assert task is not None
        artifact, kept = task.artifacts.setdefault(task.attempt, (str(uuid.uuid4()), content))
        digest = hashlib.sha256(kept).hexdigest()
        if self.false_sums:
            self.false_sums -= 1
            digest = "0" * 64
        return web.json_response(
            {
                "artifact_id": artifact,
                "uri": f"/artifacts/{artifact}/download",
                "sha256": digest,
                "size_bytes": len(kept),
            }
        )

    async def _result(self, request: web.Request) -> web.Response:
        task, body = self._task(request), await request.json()
        named = (body.get("result") or {}).get("artifact_id")
        found = [at for each in self.tasks for at, (id_, _) in each.artifacts.items() if id_ == named]
        if task is None or not found:
            return self._no(404, "artifact not found")
        if task.artifacts.get(body["attempt"], ("", b""))[0] != named:
            return self._no(409, "different result already recorded")
        if task.status != "completed":
            if (no := self._held(task, body)) is not None:
                return no
            task.status, task.result = "completed", task.artifacts[task.attempt][1]
        return web.json_response({"id": task.id, "job_id": "j", "status": "completed"})

    async def _failure(self, request: web.Request) -> web.Response:
        task, body = self._task(request), await request.json()
        if (no := self._held(task, body)) is not None:
            return no
        assert task is not None
        task.failures.append(body)
        task.status = "pending" if body["retryable"] else "failed"
        return web.json_response({"id": task.id, "job_id": "j", "status": task.status})

    # ---- helpers

    def _task(self, request: web.Request) -> Task | None:
        return next((task for task in self.tasks if task.id == request.match_info["id"]), None)

    def _held(self, task: Task | None, body: dict[str, Any]) -> web.Response | None:
        if task is None:
            return self._no(404, "task not found")
        if task.status not in ("leased", "running"):
            return self._no(409, "task is not currently leased")
        if task.owner != body["worker_id"]:
            return self._no(409, "task leased to another worker")
        if task.attempt != body["attempt"]:
            return self._no(409, "attempt does not match lease")
        if task.ends < self.clock.monotonic():
            return self._no(409, "task leased to another worker")
        return None

    def _now(self) -> datetime:
        return self.clock.now() + timedelta(seconds=self.clock_shift)

    def _date(self) -> dict[str, str]:
        return {"Date": self._now().strftime("%a, %d %b %Y %H:%M:%S GMT")}

    def _wire(self, task: Task) -> dict[str, Any]:
        ends = self._now() + timedelta(seconds=task.ends - self.clock.monotonic())
        return {
            "task_id": task.id,
            "job_id": self.job_id,
            "chunk_index": task.index,
            "workload": "transcribe",
            "input": {"uri": f"/tasks/{task.id}/input", "sha256": hashlib.sha256(task.content).hexdigest()},
            "parameters": task.parameters,
            "attempt": task.attempt,
            "lease_expires_at": ends.isoformat().replace("+00:00", "Z"),
        }


_NAMES = {name: name for name in ("register", "claim", "heartbeat", "input", "result", "failure", "health")}
