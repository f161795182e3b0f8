"""The Bridge's coordinator as a worker asks it: one typed question each, with a limit on every wait."""

import hashlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, TypeVar
from urllib.parse import urljoin, urlsplit

import aiohttp
import msgspec
from yarl import URL

from bridge_agent import __version__
from bridge_agent.base.clock import Clock
from bridge_agent.base.logs import Outage
from bridge_agent.base.questions import Questions
from bridge_agent.base.resolver import DaemonResolver
from bridge_agent.base.threads import in_thread
from bridge_agent.protocol import coordinator as wire
from bridge_agent.worker import answers, failures, lease
from bridge_agent.worker.answers import Answer
from bridge_agent.worker.errors import BadInput, BridgeAway, NotTaken, Unfit, WorkerUnknown, WrongCertificate
from bridge_agent.worker.gate import Gate
from bridge_agent.worker.lease import Lease
from bridge_agent.worker.trust import Trust

_DOOR = "/jobs/00000000-0000-0000-0000-000000000000"
_MOST_ANSWER = 1 << 20
_MOST_INPUT = 1 << 30
_PIECE = 256 << 10
_KEEP_ALIVE_S = 4.0

_log = logging.getLogger(__name__)

T = TypeVar("T", bound=wire.Message)

Take = Callable[[bytes], Awaitable[None]]
"""Takes the pieces of an answer as they come."""


@dataclass(frozen=True)
class Limits:
    """How long one question may take, in seconds: in all, to connect, and between pieces of the answer."""

    total: float = 15.0
    connect: float = 5.0
    read: float = 12.0


SHORT = Limits()
LONG = Limits(total=600.0, read=30.0)


class _Named(TypedDict):
    worker_id: str
    attempt: int


@dataclass(frozen=True)
class Ref:
    """Which claim speaks."""

    worker_id: str
    task_id: str
    attempt: int

    @property
    def named(self) -> "_Named":
        """What every question about the claim names."""
        return {"worker_id": self.worker_id, "attempt": self.attempt}


@dataclass(frozen=True)
class Claimed:
    """A claim that was won: whose it is, what is to be done, and for how long it is held."""

    ref: Ref
    task: wire.ClaimedTask
    lease: Lease


class Coordinator:
    """Speaks to one Bridge. Never follows a redirect, never sends the token to another origin.

    Every question raises BridgeAway, TokenRefused and NotTaken besides what it names.
    """

    def __init__(
        self, url: str, token: str, trust: Trust, clock: Clock, gate: Gate, *, short: Limits = SHORT
    ) -> None:
        """Prepare questions below `url`, whose path is kept; opens nothing yet."""
        self.url = url
        self.interval = 15.0
        self._token = token
        self._trust = trust
        self._clock = clock
        self._gate = gate
        self._short = short
        self._outage = Outage(_log, clock, f"Speaking to the Bridge at {url}")
        self._session: aiohttp.ClientSession | None = None
        self._questions = Questions()

    @property
    def refused(self) -> bool:
        """Whether the Bridge refuses this worker's token, so that nothing can be told to it."""
        return self._gate.refused

    @property
    def stays(self) -> bool:
        """Whether a refusal is waited out, rather than this worker's end."""
        return self._gate.stays

    async def greet(self) -> None:
        """Ask whether this worker is taken, which changes nothing there."""
        await self._ask(wire.Message, "GET", _DOOR)

    async def register(self, wanted: wire.Registration) -> wire.Registered:
        """Make this worker known."""
        answer, found = await self._ask(wire.Registered, "POST", "/workers/register", wanted)
        if found is None:
            raise answers.fail(answer, held=False)
        self.interval = found.heartbeat_interval_seconds
        return found

    async def claim(self, worker_id: str, capabilities: Sequence[str]) -> Claimed | None:
        """Claim the next task, None where there is none; raises WorkerUnknown."""
        wanted = wire.ClaimRequest(worker_id=worker_id, capabilities=list(capabilities))
        answer, task = await self._ask(wire.ClaimedTask, "POST", "/tasks/claim", wanted)
        if answer.status == 204:
            return None
        if answer.status == 404:
            raise WorkerUnknown
        if task is None:
            raise answers.fail(answer, held=False)
        return Claimed(Ref(worker_id, task.task_id, task.attempt), task, self._lease(answer, task))

    async def heartbeat(self, ref: Ref) -> Lease:
        """Renew a claim; raises ClaimLost."""
        answer, task = await self._ask(
            wire.ClaimedTask, "POST", f"/tasks/{ref.task_id}/heartbeat", wire.Hold(**ref.named)
        )
        if task is None:
            raise answers.fail(answer)
        return self._lease(answer, task)

    async def fetch(self, given: wire.Input, target: Path) -> None:
        """Fetch a task's bytes to a file, checked; raises BadInput, ClaimLost, Unfit."""
        address = self._address(given.uri)
        digest = hashlib.sha256()

        async def take(piece: bytes) -> None:
            digest.update(piece)
            try:
                await in_thread(out.write, piece)
            except OSError as error:
                raise no_room(error) from error

        try:
            out = await in_thread(target.open, "wb")
            try:
                answer, _ = await self._ask(wire.Message, "GET", address, limits=LONG, take=take)
            finally:
                # The last bytes go to the disk only now.
                await in_thread(out.close)
        except OSError as error:
            raise no_room(error) from error
        if answer.status != 200:
            raise answers.fail(answer)
        if digest.hexdigest() != given.sha256.lower():
            raise BadInput

    async def upload(self, ref: Ref, name: str, content: bytes) -> wire.Uploaded:
        """Store a partial for a claim; raises ClaimLost."""
        headers = {
            wire.WORKER_ID: ref.worker_id,
            wire.TASK_ATTEMPT: str(ref.attempt),
            "Content-Type": wire.PARTIAL_TYPE,
        }
        path = f"/tasks/{ref.task_id}/artifacts/{name}"
        answer, found = await self._ask(wire.Uploaded, "PUT", path, content, headers=headers, limits=LONG)
        if found is None:
            raise answers.fail(answer)
        return found

    async def complete(self, ref: Ref, result: wire.Manifest, metrics: Mapping[str, float]) -> None:
        """Hand in a stored partial as the result; again with the same is fine. Raises ClaimLost."""
        done = wire.Completion(**ref.named, result=result, metrics=dict(metrics))
        answer, found = await self._ask(wire.Message, "POST", f"/tasks/{ref.task_id}/result", done)
        if found is None:
            raise answers.fail(answer)

    async def fail(self, ref: Ref, code: str, message: str, *, retryable: bool = True) -> None:
        """Say that a claim came to nothing; raises ClaimLost."""
        failure = wire.Failure(**ref.named, error_code=code, error_message=message, retryable=retryable)
        answer, found = await self._ask(wire.Message, "POST", f"/tasks/{ref.task_id}/failure", failure)
        if found is None:
            raise answers.fail(answer)

    async def drop_connections(self) -> None:
        """Cut every connection, used or idle: after a sleep they may be dead without a word.

        What is being asked ends with BridgeAway.
        """
        self._questions.cut_short()
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def close(self) -> None:
        """End all connections."""
        await self.drop_connections()

    # ---- one question

    async def _accepted(self) -> bool:
        """Ask at a door that answers 404 whoever is welcome; raises BridgeAway."""
        answer = await self._send("GET", _DOOR)
        if answer.status == 401 and answer.refusal() is not None:
            return False
        if answer.status == 200 or answer.refusal() is not None:
            return True
        raise answers.fail(answer)

    async def _ask(
        self,
        kind: type[T],
        method: str,
        path: str,
        body: msgspec.Struct | bytes | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        limits: Limits | None = None,
        take: Take | None = None,
    ) -> tuple[Answer, T | None]:
        """Ask once; a success comes with its body, a refusal of the coordinator's own without."""
        await self._gate.enter(self._accepted)
        try:
            answer = await self._send(method, path, body, headers=headers, limits=limits, take=take)
            if answer.status == 429:
                self._gate.hush(answer.retry_after())
            if answer.status == 401 and answer.refusal() is not None:
                await self._gate.turned_away(self._accepted)
                raise BridgeAway("The Bridge refused this worker once and then took it; it is asked again.")
            streamed = take is not None and answer.status == 200
            found = None if streamed or answer.status == 204 else answers.value(answer, kind)
        except BridgeAway as away:
            # A worker that ends with this sentence tells it then.
            if self._gate.stays or not isinstance(away, WrongCertificate):
                self._outage.failed(away.message)
            raise
        self._gate.welcome()
        self._outage.went_well()
        return answer, found

    async def _send(
        self,
        method: str,
        path: str,
        body: msgspec.Struct | bytes | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        limits: Limits | None = None,
        take: Take | None = None,
    ) -> Answer:
        url = path if "://" in path else self.url + path
        limits = limits or self._short
        sent = {"Authorization": f"Bearer {self._token}", "User-Agent": f"bridge-agent/{__version__}"}
        if isinstance(body, msgspec.Struct):
            sent["Content-Type"] = "application/json"
            body = msgspec.json.encode(body)
        timeout = aiohttp.ClientTimeout(
            total=limits.total, sock_connect=limits.connect, sock_read=limits.read, connect=None
        )
        began = self._clock.monotonic()
        try:
            # The library's own limits have been seen to miss a dead socket; this one can't.
            async with (
                self._questions.limited(limits.total + 2.0),
                self._http().request(
                    method,
                    URL(url, encoded=True),
                    data=body,
                    headers={**sent, **(headers or {})},
                    timeout=timeout,
                    allow_redirects=False,
                ) as response,
            ):
                streams = take if response.status == 200 else None
                taken = await (_read(response) if streams is None else _hand_on(response, streams))
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
            raise failures.worded(error, self.url) from error
        return Answer(response.status, response.headers, taken, began, self.url)

    def _http(self) -> aiohttp.ClientSession:
        if self._session is None or self._session.closed:
            connector = aiohttp.TCPConnector(
                ssl=self._trust, resolver=DaemonResolver(), keepalive_timeout=_KEEP_ALIVE_S
            )
            self._session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
        return self._session

    def _address(self, uri: str) -> str:
        """Return the absolute address of an input; raises NotTaken for one of another origin."""
        own = urlsplit(self.url)
        # A proxy that has the Bridge below a path need not tell it so; one that is told may name it.
        if uri.startswith("/") and not uri.startswith(("//", f"{own.path}/")):
            uri = own.path + uri
        try:
            found = urljoin(self.url + "/", uri)
            at_home = urlsplit(found)[:2] == own[:2]
        except ValueError:
            at_home = False
        if not at_home:
            raise NotTaken(
                "The Bridge names a place on another server for a part’s audio, where this worker’s token is "
                "not sent; update the Bridge."
            )
        return found

    def _lease(self, answer: Answer, task: wire.ClaimedTask) -> Lease:
        left = lease.seconds_left(task.lease_expires_at, answer.date(), self._clock.now())
        return Lease(answer.began, 2 * self.interval if left is None else left, self.interval)


def no_room(error: OSError) -> Unfit:
    """Return what it means that a file can't be written."""
    return Unfit(
        f"A part can’t be kept on this machine ({error.strerror or type(error).__name__}); free some room "
        "on the disk of the worker’s data folder."
    )


async def _hand_on(response: aiohttp.ClientResponse, take: Take) -> bytes:
    size = 0
    async for piece in response.content.iter_chunked(_PIECE):
        size += len(piece)
        if size > _MOST_INPUT:
            raise ValueError("the input is too long")
        await take(piece)
    return b""


async def _read(response: aiohttp.ClientResponse) -> bytes:
    raw = bytearray()
    async for piece in response.content.iter_chunked(1 << 16):
        raw += piece
        if len(raw) > _MOST_ANSWER:
            raise ValueError("the answer is too long")
    return bytes(raw)
