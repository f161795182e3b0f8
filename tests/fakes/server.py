"""A scripted fake home server: real HTTP on 127.0.0.1, records every call, answers what a test says.

Unscripted it speaks the Bridge's side of the API as a well-behaved server does. Operations that can be
scripted are `pair`, `status`, `next`, `report`, `book`, `artifact` and `other`.
"""

import asyncio
import contextlib
import contextvars
import datetime
import hashlib
import ipaddress
import json
import ssl
import tempfile
import time
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from bridge_agent.base import backoff
from bridge_agent.base.clock import Clock, SystemClock, later, to_text
from bridge_agent.protocol import codes

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]

SERVER_ID = "11111111-2222-4333-8444-555555555555"
CODE = "ABCD-1234"


@dataclass(frozen=True)
class Call:
    """One request as it arrived; `at` is real monotonic seconds, `clock_at` the given clock's."""

    op: str
    method: str
    path: str
    query: list[tuple[str, str]]
    headers: Mapping[str, str]
    body: bytes
    at: float
    clock_at: float

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    def values(self, name: str) -> list[str]:
        """All values of a query parameter."""
        return [value for key, value in self.query if key == name]


@dataclass
class FakeJob:
    """A job as the fake server holds it."""

    id: int
    kind: str
    library_id: int
    path: str
    params: dict[str, Any]
    state: str = "queued"
    attempt: int = 0
    cancel_requested: bool = False
    lease_seconds: float | None = 120.0
    reports: list[dict[str, Any]] = field(default_factory=list)

    @property
    def final(self) -> dict[str, Any] | None:
        """The report that ended it, if one did."""
        return next((r for r in self.reports if r["state"] in ENDED), None)


ENDED = ("done", "failed", "cancelled")


# ---- answers that a test can script -------------------------------------------------------------


def answer_json(status: int, body: object, headers: Mapping[str, str] | None = None) -> Answer:
    """Answer this status and JSON body."""

    async def give(_: web.Request) -> web.StreamResponse:
        return web.json_response(body, status=status, headers=dict(headers or {}))

    return give


def answer_error(
    status: int,
    code: str,
    message: str = "No.",
    headers: Mapping[str, str] | None = None,
    **extra: object,
) -> Answer:
    """Answer an error in this API's shape."""
    return answer_json(status, {"error": {"code": code, "message": message, **extra}}, headers)


def answer_text(
    status: int, text: str, content_type: str = "text/html", headers: Mapping[str, str] | None = None
) -> Answer:
    """Answer a body that is not this API's, a captive portal's page say."""

    async def give(_: web.Request) -> web.StreamResponse:
        return web.Response(status=status, text=text, content_type=content_type, headers=dict(headers or {}))

    return give


def answer_redirect(location: str, status: int = 302) -> Answer:
    """Answer a redirect."""
    return answer_text(status, "moved", headers={"Location": location})


def drop() -> Answer:
    """Cut the connection without an answer."""

    async def give(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    return give


def after(seconds: float, then: Answer | None = None) -> Answer:
    """Wait so many real seconds, then give the next answer (by default the server's own)."""

    async def give(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return await (then or _default.get())(request)

    return give


def when(event: asyncio.Event, then: Answer | None = None) -> Answer:
    """Hold the request until the test sets the event, then give the next answer."""

    async def give(request: web.Request) -> web.StreamResponse:
        await event.wait()
        return await (then or _default.get())(request)

    return give


def hang() -> Answer:
    """Never answer (until the server stops)."""
    return when(asyncio.Event())


def done_but(answer: Answer) -> Answer:
    """Do what was asked as the server would, but let this answer go out instead (a lost reply)."""

    async def give(request: web.Request) -> web.StreamResponse:
        await _default.get()(request)
        return await answer(request)

    return give


_default: contextvars.ContextVar[Answer] = contextvars.ContextVar("default")
"""What the server would answer by itself to the request of this task."""


async def until(met: Callable[[], object], within: float = 5.0) -> None:
    """Wait in real time until a condition is met; fails after `within` seconds."""
    end = time.monotonic() + within
    while not met():
        if time.monotonic() > end:
            raise AssertionError("it did not come to pass in time")
        await asyncio.sleep(0.003)


# ---- the server -----------------------------------------------------------------------------------


class FakeServer:
    """The fake; use as `async with FakeServer() as server:`, or start() and stop()."""

    def __init__(
        self,
        *,
        server_id: str = SERVER_ID,
        name: str = "Fake home",
        base_path: str = "",
        tls: bool = False,
        clock: Clock | None = None,
        code: str | None = CODE,
        date: str | None = None,
    ) -> None:
        self.server_id = server_id
        self.name = name
        self.base_path = base_path.rstrip("/")
        self.tls = tls
        self.clock = clock or SystemClock()
        self.code = code
        self.date = date
        """What the Date header says; None: the truth."""
        self.tokens: list[str] = []
        """The tokens that are taken; `revoke()` empties it."""
        self.calls: list[Call] = []
        self.libraries: list[dict[str, Any]] = [{"id": 1, "name": "Books", "root": "/srv/books"}]
        self.heartbeat: dict[str, Any] | None = None
        self.jobs: dict[int, FakeJob] = {}
        self.books: dict[tuple[int, str], dict[str, Any]] = {}
        self.samples: dict[int, str] = {}
        self.artifacts: dict[tuple[int, int, str], tuple[str, bytes]] = {}
        self.most_wait = 25.0
        self.certificate_pem = b""
        self._claims: dict[str, tuple[int, int]] = {}
        self._once: dict[str, deque[Answer]] = defaultdict(deque)
        self._always: dict[str, Answer] = {}
        self._stir = asyncio.Event()
        self._stopping = False
        self._runner: web.AppRunner | None = None
        self.port = 0
        self.host = "127.0.0.1"

    # -- life

    async def start(self, port: int = 0) -> None:
        app = web.Application(client_max_size=128 << 20)
        app.router.add_route("*", "/{tail:.*}", self._handle)
        app.on_shutdown.append(self._on_shutdown)
        self._stopping = False
        self._runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=0.2)
        await self._runner.setup()
        context = self._tls_context() if self.tls else None
        site = web.TCPSite(self._runner, self.host, port, ssl_context=context)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        self._stopping = True
        self._wake()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def restart(self) -> None:
        """Come back at the same port after `stop()`."""
        await self.start(self.port)

    async def __aenter__(self) -> "FakeServer":
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def _on_shutdown(self, _: web.Application) -> None:
        self._stopping = True
        self._wake()

    @property
    def url(self) -> str:
        """The address to pair with, its base path included."""
        scheme = "https" if self.tls else "http"
        return f"{scheme}://{self.host}:{self.port}{self.base_path}"

    # -- scripting

    def script(self, op: str, *answers: Answer) -> None:
        """Give these answers, one each, to the next calls of an operation."""
        self._once[op].extend(answers)

    def always(self, op: str, answer: Answer | None) -> None:
        """Answer every call of an operation so (after scripted ones) until told None."""
        if answer is None:
            self._always.pop(op, None)
        else:
            self._always[op] = answer

    def everywhere(self, answer: Answer | None) -> None:
        """Answer every call so (a captive portal, a proxy) until told None."""
        for op in ("pair", "status", "next", "report", "book", "artifact", "other"):
            self.always(op, answer)

    def accept(self, token: str) -> None:
        """Take this token."""
        self.tokens.append(token)

    def revoke(self) -> list[str]:
        """Refuse every token from now on; returns them, to be accepted again."""
        taken, self.tokens = self.tokens, []
        self._wake()
        return taken

    def offer(
        self,
        kind: str = "bridge.verify",
        *,
        library_id: int = 1,
        path: str = "A/Book",
        params: dict[str, Any] | None = None,
        id: int | None = None,
        lease_seconds: float | None = 120.0,
    ) -> FakeJob:
        """Queue a job."""
        number = id or max(self.jobs, default=0) + 1
        job = FakeJob(number, kind, library_id, path, params or {}, lease_seconds=lease_seconds)
        self.jobs[number] = job
        self._wake()
        return job

    def take_back(self, job_id: int) -> None:
        """Let a job's lease lapse: queued again, the next claim counts its attempt up."""
        self.jobs[job_id].state = "queued"
        self._wake()

    def add_book(
        self, library_id: int, path: str, files: list[tuple[str, int]], *, sample: bool = False
    ) -> None:
        """List a book with (path, size) of its files."""
        self.books[library_id, path] = {
            "library_id": library_id,
            "path": path,
            "title": path.rpartition("/")[2],
            "author": path.partition("/")[0],
            "files": [{"path": name, "size": size} for name, size in files],
            "chapters": [],
        }
        if sample:
            self.samples[library_id] = path

    # -- looking back

    def of(self, op: str) -> list[Call]:
        """The recorded calls of one operation."""
        return [call for call in self.calls if call.op == op]

    async def seen(self, op: str, count: int = 1, within: float = 5.0) -> list[Call]:
        """Wait until so many calls of an operation have arrived; return them."""
        await until(lambda: len(self.of(op)) >= count, within)
        return self.of(op)

    # -- answering

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        op, default = self._route(request)
        self.calls.append(
            Call(
                op,
                request.method,
                request.path,
                list(request.query.items()),
                request.headers.copy(),
                body,
                time.monotonic(),
                self.clock.monotonic(),
            )
        )
        _default.set(default)
        answer = self._once[op].popleft() if self._once[op] else self._always.get(op, default)
        response = await answer(request)
        response.headers["Date"] = self.date or _http_date(self.clock.now())
        return response

    def _route(self, request: web.Request) -> tuple[str, Answer]:
        prefix = f"{self.base_path}/api/v1/bridge"
        if not request.path.startswith(prefix + "/"):
            return "other", _not_found
        parts = request.path[len(prefix) + 1 :].split("/")
        match (request.method, *parts):
            case ("POST", "pair"):
                return "pair", self._pair
            case ("PUT", "status"):
                return "status", self._with_token(self._status)
            case ("GET", "jobs", "next"):
                return "next", self._with_token(self._next)
            case ("PATCH", "jobs", _):
                return "report", self._with_token(self._report)
            case ("GET", "libraries", _, "book"):
                return "book", self._with_token(self._book)
            case ("PUT", "jobs", _, "artifacts", _):
                return "artifact", self._with_token(self._artifact)
        return "other", _not_found

    def _with_token(self, inner: Answer) -> Answer:
        async def checked(request: web.Request) -> web.StreamResponse:
            if not self._token_is_good(request):
                return _refuse_token()
            return await inner(request)

        return checked

    def _token_is_good(self, request: web.Request) -> bool:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        return scheme == "Bearer" and token in self.tokens

    async def _pair(self, request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        if self.code is None or codes.normal(body["code"]) != codes.normal(self.code):
            return _error(401, "invalid_code", "The code is wrong, used or expired.")
        self.code = None
        self.heartbeat = None
        token = backoff.token("brg_")
        self.tokens = [token]
        return web.json_response(
            {
                "token": token,
                "server": {"id": self.server_id, "name": self.name},
                "libraries": self.libraries,
            }
        )

    async def _status(self, request: web.Request) -> web.StreamResponse:
        self.heartbeat = json.loads(await request.read())
        self._wake()
        return web.json_response({"libraries": self.libraries})

    async def _next(self, request: web.Request) -> web.StreamResponse:
        if self.heartbeat is None:
            return _error(409, "no_heartbeat", "Send a heartbeat first.")
        wait = min(float(request.query.get("wait", "0")), self.most_wait)
        kinds = request.query.getall("kind", []) or list(self.heartbeat["kinds"])
        claim_id = request.headers.get("X-Claim-Id")
        deadline = self.clock.monotonic() + wait
        while True:
            if not self._token_is_good(request):
                return _refuse_token()
            job = self._claimed_before(claim_id) or self._claim(kinds, claim_id)
            if job is not None:
                return web.json_response({"job": self._job_wire(job)})
            left = deadline - self.clock.monotonic()
            if left <= 0 or self._stopping:
                return web.Response(status=204)
            await self.clock.wait(self._stir, left)

    def _claimed_before(self, claim_id: str | None) -> FakeJob | None:
        number, attempt = self._claims.get(claim_id or "", (0, 0))
        job = self.jobs.get(number)
        if job and job.attempt == attempt and job.state in ("claimed", "running", "needs_attention"):
            return job
        return None

    def _claim(self, kinds: list[str], claim_id: str | None) -> FakeJob | None:
        for job in sorted(self.jobs.values(), key=lambda j: j.id):
            if job.state == "queued" and job.kind in kinds:
                job.state = "claimed"
                job.attempt += 1
                if claim_id:
                    self._claims[claim_id] = (job.id, job.attempt)
                return job
        return None

    def _job_wire(self, job: FakeJob) -> dict[str, Any]:
        wire: dict[str, Any] = {
            "id": job.id,
            "attempt": job.attempt,
            "kind": job.kind,
            "library_id": job.library_id,
            "path": job.path,
            "params": job.params,
            "lease_expires_at": to_text(later(self.clock.now(), job.lease_seconds or 120.0)),
        }
        if job.lease_seconds is not None:
            wire["lease_seconds"] = job.lease_seconds
        return wire

    async def _report(self, request: web.Request) -> web.StreamResponse:
        number = int(request.path.rpartition("/")[2])
        report = json.loads(await request.read())
        job = self.jobs.get(number)
        held = job is not None and job.state in ("claimed", "running", "needs_attention")
        if job is None or not held or job.attempt != report["attempt"]:
            extra = {} if job is None else {"state": job.state}
            return _error(409, "not_held", "This claim does not hold the job.", **extra)
        job.reports.append(report)
        job.state = report["state"]
        return web.json_response(
            {
                "id": job.id,
                "state": job.state,
                "attempt": job.attempt,
                "cancel_requested": job.cancel_requested,
                "lease_expires_at": to_text(later(self.clock.now(), job.lease_seconds or 120.0)),
                "lease_seconds": job.lease_seconds or 120.0,
            }
        )

    async def _book(self, request: web.Request) -> web.StreamResponse:
        library = int(request.path.split("/")[-2])
        path = request.query.get("path") or self.samples.get(library, "")
        book = self.books.get((library, path))
        if book is None:
            return _error(404, "not_found", "There is no such book.")
        return web.json_response(book)

    async def _artifact(self, request: web.Request) -> web.StreamResponse:
        parts = request.path.split("/")
        number, name, attempt = int(parts[-3]), parts[-1], int(request.headers["X-Job-Attempt"])
        content = await request.read()
        digest = hashlib.sha256(content).hexdigest()
        job = self.jobs.get(number)
        if job is None or job.attempt != attempt or job.state in (*ENDED, "queued"):
            return _error(409, "not_held", "This claim does not hold the job.")
        if digest != request.headers["X-Content-SHA256"]:
            return _error(400, "checksum_mismatch", "The bytes are not those that the sum was made of.")
        kept = self.artifacts.setdefault((number, attempt, name), (digest, content))
        if kept[0] != digest:
            return _error(409, "artifact_exists", "Other bytes are kept under this name.")
        answer = {"artifact_id": len(self.artifacts), "name": name, "sha256": digest}
        return web.json_response({**answer, "size_bytes": len(content)})

    def _wake(self) -> None:
        self._stir.set()
        self._stir = asyncio.Event()

    def _tls_context(self) -> ssl.SSLContext:
        certificate, key = self_signed(self.host)
        self.certificate_pem = certificate
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.TemporaryDirectory() as folder:
            both = Path(folder) / "both.pem"
            both.write_bytes(certificate + key)
            context.load_cert_chain(both)
        return context


def self_signed(host: str) -> tuple[bytes, bytes]:
    """Make a certificate that only its own key vouches for; returns (certificate, key) in PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    now = datetime.datetime.now(datetime.UTC)
    names: list[x509.GeneralName] = [x509.DNSName("localhost")]
    with contextlib.suppress(ValueError):
        names.append(x509.IPAddress(ipaddress.ip_address(host)))
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=30))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    return certificate.public_bytes(serialization.Encoding.PEM), key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _http_date(moment: datetime.datetime) -> str:
    return moment.strftime("%a, %d %b %Y %H:%M:%S GMT")


def _error(status: int, code: str, message: str, **extra: object) -> web.Response:
    return web.json_response({"error": {"code": code, "message": message, **extra}}, status=status)


def _refuse_token() -> web.Response:
    return _error(401, "unauthorized", "This token is not taken here.")


async def _not_found(_: web.Request) -> web.StreamResponse:
    return _error(404, "not_found", "There is nothing at this address.")
