"""The Bridge's calls to the server, one typed method each, with a limit on every wait."""

import hashlib
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

import aiohttp

from bridge_agent import __version__
from bridge_agent.base.clock import Clock, later, unix_time
from bridge_agent.base.questions import Questions
from bridge_agent.base.resolver import DaemonResolver
from bridge_agent.base.threads import in_thread
from bridge_agent.link import answers, failures
from bridge_agent.link.answers import Answer
from bridge_agent.link.errors import ServerAway
from bridge_agent.link.trust import Trust
from bridge_agent.protocol.bridge import (
    API,
    CLAIM_ID,
    CONTENT_SHA256,
    JOB_ATTEMPT,
    RUN_ID,
    ArtifactAnswer,
    Book,
    ClaimAnswer,
    ClaimedJob,
    Heartbeat,
    HeartbeatAnswer,
    PairAnswer,
    PairRequest,
    Report,
    ReportAnswer,
    encode,
)

_log = logging.getLogger(__name__)

_MOST_BYTES = 16 << 20
_PIECE = 256 << 10
_KEEP_ALIVE_S = 4.0


@dataclass(frozen=True)
class Limits:
    """How long one call may take, in seconds: as a whole, to connect, and between pieces of the answer."""

    total: float
    connect: float = 5.0
    read: float = 10.0


SHORT = Limits(total=10.0)
BOOK = Limits(total=30.0, read=20.0)
UPLOAD = Limits(total=600.0, read=60.0)
POLL_SLACK_S = 10.0


@dataclass(frozen=True)
class _Call:
    method: str
    path: str
    body: bytes | AsyncIterator[bytes] | None = None
    query: Sequence[tuple[str, str]] = ()
    headers: Mapping[str, str] | None = None
    limits: Limits | None = None
    fresh: bool = False


class ServerClient:
    """A client of one server. Never follows a redirect, never speaks without certificate verification.

    Every method raises ServerAway, TokenRefused and Rejected besides what it names; `answers.fail` says when.
    """

    def __init__(
        self, base_url: str, token: str | None, clock: Clock, tls: Trust, short: Limits = SHORT
    ) -> None:
        """Prepare calls below `base_url`, whose path is kept; opens nothing yet.

        `short` limits the calls that the server answers at once: pairing, heartbeat, report.
        """
        self.base_url = base_url
        self.clock_skew_s: float | None = None
        self._token = token
        self._clock = clock
        self._tls = tls
        self._short = short
        self._pooled: aiohttp.ClientSession | None = None
        self._fresh: aiohttp.ClientSession | None = None
        self._questions = Questions()
        self._closed = False

    async def pair(self, request: PairRequest) -> PairAnswer:
        """Exchange a code for a token. Sent once, never again by itself."""
        return answers.value(await self.pair_raw(request), PairAnswer)

    async def pair_raw(self, request: PairRequest) -> Answer:
        """Exchange a code and return the answer unjudged: at pairing each status has its own sentence."""
        return await self._send(_Call("POST", "/bridge/pair", encode(request), fresh=True))

    async def heartbeat(self, beat: Heartbeat, run_id: str | None = None) -> HeartbeatAnswer:
        """Send a heartbeat (R-036); the answer lists the server's libraries."""
        headers = {RUN_ID: run_id} if run_id else None
        answer = await self._send(_Call("PUT", "/bridge/status", encode(beat), headers=headers))
        return answers.value(answer, HeartbeatAnswer)

    async def next_job(self, kinds: Sequence[str], wait: float, claim_id: str) -> ClaimedJob | None:
        """Ask for a job, waiting at the server up to `wait` seconds; None when there is none.

        On a connection of its own: a reused one that just died would be retried unseen. Raises NoHeartbeat.
        """
        query = [("wait", f"{wait:g}"), *(("kind", kind) for kind in kinds)]
        limits = Limits(total=wait + POLL_SLACK_S + SHORT.connect, read=wait + POLL_SLACK_S)
        call = _Call(
            "GET", "/bridge/jobs/next", query=query, headers={CLAIM_ID: claim_id}, limits=limits, fresh=True
        )
        answer = await self._send(call)
        if answer.status == 204:
            return None
        return answers.value(answer, ClaimAnswer).job

    async def report(self, job_id: int, report: Report) -> ReportAnswer:
        """Report on a job, which renews its lease; raises NotHeld.

        A final one goes over a connection of its own: lost on one that the server had just closed, it would
        wait for its next try without need.
        """
        final = report.state != "running"
        path = f"/bridge/jobs/{job_id}"
        answer = await self._send(_Call("PATCH", path, encode(report), fresh=final))
        taken = answers.value(answer, ReportAnswer)
        if not answers.speaks_of(answer, ReportAnswer):
            raise answers.not_this_api(answer)
        return taken

    async def book(self, library_id: int, path: str | None) -> Book:
        """Return a book's files, of the library's sample book without a path; Rejected 404 for none."""
        query = () if path is None else (("path", path),)
        answer = await self._send(
            _Call("GET", f"/bridge/libraries/{library_id}/book", query=query, limits=BOOK)
        )
        return answers.value(answer, Book)

    async def put_artifact(
        self, job_id: int, attempt: int, name: str, content_type: str, content: Path
    ) -> ArtifactAnswer:
        """Upload a file as an artifact, streamed.

        Raises NotHeld, OSError, and Rejected 404 or 405 from a server that has no artifacts.
        """
        digest, size = await in_thread(_sum, content)
        headers = {
            JOB_ATTEMPT: str(attempt),
            "Content-Type": content_type,
            "Content-Length": str(size),
            CONTENT_SHA256: digest,
        }
        path = f"/bridge/jobs/{job_id}/artifacts/{quote(name, safe='')}"
        answer = await self._send(_Call("PUT", path, _pieces(content), headers=headers, limits=UPLOAD))
        if answer.status != 200:
            answers.fail(answer, route_may_be_missing=True)
        return answers.value(answer, ArtifactAnswer)

    async def drop_connections(self) -> None:
        """Cut every connection, used or idle: after a suspend they may be dead without a word.

        What is being asked ends with ServerAway.
        """
        self._questions.cut_short()
        sessions, self._pooled, self._fresh = (self._pooled, self._fresh), None, None
        for session in sessions:
            if session is not None:
                await session.close()

    async def close(self) -> None:
        """End for good: calls under way fail with ServerAway."""
        self._closed = True
        await self.drop_connections()

    async def _send(self, call: _Call) -> Answer:
        if self._closed:
            raise ServerAway("This link has ended; the Bridge asks over its new one.")
        url = f"{self.base_url}{API}{call.path}"
        headers = {"User-Agent": f"bridge-agent/{__version__}", "Accept": "application/json"}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        if call.body is not None:
            headers["Content-Type"] = "application/json"
        limits = call.limits or self._short
        timeout = aiohttp.ClientTimeout(
            total=limits.total, sock_connect=limits.connect, sock_read=limits.read, connect=None
        )
        began = self._clock.now()
        try:
            # The library's own limits have been seen to miss a dead socket; this one can't.
            async with (
                self._questions.limited(limits.total + 2.0),
                self._session(call.fresh).request(
                    call.method,
                    url,
                    params=list(call.query),
                    data=call.body,
                    headers={**headers, **(call.headers or {})},
                    timeout=timeout,
                    allow_redirects=False,
                ) as response,
            ):
                body = await _read(response)
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
            raise failures.worded(error, url) from error
        answer = Answer(response.status, response.headers, body, url)
        self._compare_clocks(answer, began)
        return answer

    def _session(self, fresh: bool) -> aiohttp.ClientSession:
        kept = self._fresh if fresh else self._pooled
        if kept is not None and not kept.closed:
            return kept
        if fresh:
            connector = aiohttp.TCPConnector(ssl=self._tls, resolver=DaemonResolver(), force_close=True)
        else:
            connector = aiohttp.TCPConnector(
                ssl=self._tls, resolver=DaemonResolver(), keepalive_timeout=_KEEP_ALIVE_S
            )
        session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
        if fresh:
            self._fresh = session
        else:
            self._pooled = session
        return session

    def _compare_clocks(self, answer: Answer, began: datetime) -> None:
        """Note how far this machine's clock is ahead of the server's; a web page's clock says nothing."""
        theirs = answer.date()
        if theirs is None or answer.is_page:
            return
        ended = self._clock.now()
        # The header is cut to whole seconds: anything between the call's begin and end agrees.
        early = unix_time(later(began, -1.0)) - unix_time(theirs)
        late = unix_time(ended) - unix_time(theirs)
        self.clock_skew_s = 0.0 if early <= 0 <= late else min(early, late, key=abs)


async def _read(response: aiohttp.ClientResponse) -> bytes:
    raw = bytearray()
    async for piece in response.content.iter_chunked(1 << 16):
        raw += piece
        if len(raw) > _MOST_BYTES:
            raise ValueError("the answer is too long")
    return bytes(raw)


def _sum(path: Path) -> tuple[str, int]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
        return digest.hexdigest(), file.tell()


async def _pieces(path: Path) -> AsyncIterator[bytes]:
    file = await in_thread(path.open, "rb")
    try:
        while piece := await in_thread(file.read, _PIECE):
            yield piece
    finally:
        file.close()
