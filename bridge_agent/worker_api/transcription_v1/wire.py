"""The wire: which request means which use case, and what is answered."""

import logging
import re
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from aiohttp import web

from bridge_agent.base.clock import Clock, to_text
from bridge_agent.store.database import StoreFull
from bridge_agent.worker_api.gate import Damped, Gate, Refused
from bridge_agent.worker_api.service.lease import DifferentResult, Lease, LeaseLost, Terms, WorkerId
from bridge_agent.worker_api.service.service import WorkService
from bridge_agent.worker_api.tokens import Member
from bridge_agent.worker_api.transcription_v1 import bodies, heard, ids, objects, validation
from bridge_agent.worker_api.transcription_v1.addresses import Addresses
from bridge_agent.worker_api.transcription_v1.bodies import Body
from bridge_agent.worker_api.transcription_v1.errors import WireError, answered, not_found

MOUNT = "/worker/v1"
PUBLISH_S = 2.5
"""At least between two updates of the words that people see."""
_BEARER = re.compile(r"Bearer ([^\s]+)\Z")
_PATIENCE_S = 120.0
"""How long a result waits for room on the disk, since its worker would else throw it away."""
_LOOK_S = 5.0

_log = logging.getLogger(__name__)

T = TypeVar("T")
Answer = Callable[["Call"], Awaitable[web.StreamResponse]]
SourceUrl = Callable[[web.Request, Lease], str | None]


class Call:
    """A request by an admitted worker: who, what it sent, and on which job."""

    def __init__(self, request: web.Request, member: Member, body: Body, task_id: int) -> None:
        self.request = request
        self.worker = WorkerId(member.id, member.name, member.model)
        self.body = body
        self.task_id = task_id


class Wire:
    """The routes of `/worker/v1` over the service."""

    def __init__(
        self,
        service: WorkService,
        gate: Gate,
        clock: Clock,
        stale_s: float,
        addresses: Addresses,
        source_url: SourceUrl | None = None,
    ) -> None:
        """Prepare; `source_url` makes a part's audio address, on this very listener unless told otherwise."""
        self._service = service
        self._gate = gate
        self._clock = clock
        self._terms = Terms(stale_s, strict=False)
        self._addresses = addresses
        self._source_url = source_url or self._own_address
        self._published: dict[tuple[int, int], float] = {}
        self._claims: dict[str, Answer] = {
            "claim-download": self._claim_download,
            "claim-ready": self._claim_ready,
            "claim": self._claim,
        }
        self._gets: dict[str, Answer] = {"": self._get, "source": self._source}
        self._posts: dict[str, Answer] = {
            "downloaded": self._downloaded,
            "transcribe": self._transcribe,
            "heartbeat": self._heartbeat,
            "progress": self._progress,
            "result": self._result,
            "failure": self._failure,
        }

    def add_routes(self, app: web.Application) -> None:
        """Mount it: its paths are taken in any case, and with a slash at their end."""
        app.router.add_route("*", "/{worker:(?i:worker/v1)}{tail:(?:/(?s:.*))?}", self.handle)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer a request; whatever goes wrong is JSON, and never a page."""
        try:
            return await self._handled(request)
        except WireError as refusal:
            return refusal.response()
        except StoreFull as full:
            _log.error("%s", full.message)
            return WireError(503, "worker_api_error", retry_after=30).response()
        except ConnectionError:
            raise
        except Exception as error:
            _log.error("A worker’s request failed: %s", error, exc_info=error)
            return WireError(500, "worker_api_error").response()

    # ---- from the path to the use case

    async def _handled(self, request: web.Request) -> web.StreamResponse:
        pieces = request.match_info["tail"].removesuffix("/").split("/")[1:]
        if len(pieces) == 2 and pieces[0].lower() == "audio":
            return await self._audio(request, pieces[1])
        member = await self._admitted(request)
        answer, id_ = self._route(request.method, pieces)
        body = await bodies.read(request)
        return await answer(Call(request, member, body, 0 if id_ is None else ids.from_wire(id_)))

    async def _admitted(self, request: web.Request) -> Member:
        match = _BEARER.match(request.headers.get("Authorization", ""))
        try:
            return await self._gate.admit(match[1] if match else None, request.remote or "")
        except Refused as refused:
            code = "invalid_worker_token" if match else "missing_worker_token"
            raise WireError(401, code) from refused
        except Damped as damped:
            raise WireError(429, "too_many_requests", retry_after=damped.retry_after) from damped

    def _route(self, method: str, pieces: list[str]) -> tuple[Answer, str | None]:
        """Return what answers a path, and the id of the job it names."""
        unknown = WireError(404, "not_found")
        if not 2 <= len(pieces) <= 3 or pieces[0].lower() != "jobs" or not pieces[1]:
            raise unknown
        if method == "POST" and len(pieces) == 2:
            claim = self._claims.get(pieces[1].lower())
            if claim is None:
                raise unknown
            return claim, None
        found = {"GET": self._gets, "HEAD": self._gets, "POST": self._posts}.get(method, {})
        answer = found.get(pieces[2].lower() if len(pieces) == 3 else "")
        if answer is None:
            raise unknown
        return answer, pieces[1]

    # ---- claims

    async def _claim_download(self, call: Call) -> web.StreamResponse:
        newest = validation.newest(call.body)
        return self._claimed(call, await self._service.claim(call.worker, self._terms, newest=newest))

    async def _claim_ready(self, call: Call) -> web.StreamResponse:
        newest = validation.newest(call.body)
        return self._claimed(call, await self._service.take_up(call.worker, self._terms, newest=newest))

    async def _claim(self, call: Call) -> web.StreamResponse:
        """Answer a worker of the older kind: what it has ready, always the oldest, else a part at once."""
        lease = await self._service.take_up(call.worker, self._terms)
        if lease is None:
            notes = {objects.LEGACY: True}
            lease = await self._service.claim(call.worker, self._terms, phase="transcribing", notes=notes)
        return self._claimed(call, lease)

    # ---- a job in the caller's hands

    async def _get(self, call: Call) -> web.StreamResponse:
        return self._job(call, await self._held(call))

    async def _source(self, call: Call) -> web.StreamResponse:
        lease = await self._held(call)
        return answered(objects.source(lease, lambda each: self._source_url(call.request, each)))

    async def _downloaded(self, call: Call) -> web.StreamResponse:
        notes = {"localSourcePath": validation.local_source_path(call.body)}
        return await self._step(call, phase="ready", was=("downloading",), notes=notes)

    async def _transcribe(self, call: Call) -> web.StreamResponse:
        return await self._step(call, phase="transcribing", was=("ready",))

    async def _heartbeat(self, call: Call) -> web.StreamResponse:
        return await self._step(call)

    async def _progress(self, call: Call) -> web.StreamResponse:
        sent = validation.progress(call.body)
        lease = await self._held(call)
        now = self._now()
        notes: dict[str, Any] = {**sent.said, "lastProgressAt": now}
        if sent.text is not None:
            notes["partialResultText"] = sent.text
        if sent.parts is not None:
            notes["partialResultParts"] = sent.parts
        if not self._publishes(lease):
            return await self._step(call, was=("transcribing",), notes=notes, lease=lease)
        notes["lastProgressPublishedAt"] = now
        words = (
            sent.text if sent.text and sent.text.strip() else " ".join(p["text"] for p in sent.parts or ())
        )
        try:
            lease = await self._service.progress(lease.ref, self._terms, words, notes)
        except LeaseLost as lost:
            raise not_found() from lost
        self._publish(lease)
        return self._job(call, lease)

    async def _result(self, call: Call) -> web.StreamResponse:
        sent = validation.result(call.body)
        lease = await self._held(call)
        if lease.phase != "transcribing":
            raise not_found()
        partial = heard.partial(sent, lease.notes, lease.task.samples)
        try:
            done = await self._patiently(
                lambda: self._service.complete(lease.ref, self._terms, call.worker, partial)
            )
        except (LeaseLost, DifferentResult) as lost:
            raise not_found() from lost
        return self._job(call, lease, objects.Left("completed", done.updated_at))

    async def _failure(self, call: Call) -> web.StreamResponse:
        sent = validation.failure(call.body)
        lease = await self._held(call)
        try:
            fallen = await self._service.fail(
                lease.ref, self._terms, call.worker, sent.error, retryable=sent.retryable
            )
        except LeaseLost as lost:
            raise not_found() from lost
        left = objects.Left("queued_for_download" if fallen == "again" else "failed", self._now())
        return self._job(call, lease, left)

    # ---- pieces

    async def _held(self, call: Call) -> Lease:
        lease = await self._service.held(call.worker, call.task_id)
        if lease is None:
            raise not_found()
        return lease

    async def _step(self, call: Call, *, lease: Lease | None = None, **said: Any) -> web.StreamResponse:  # noqa: ANN401
        """Take a sign of life, and whatever comes with it."""
        held = lease or await self._held(call)
        try:
            return self._job(call, await self._service.renew(held.ref, self._terms, **said))
        except LeaseLost as lost:
            raise not_found() from lost

    def _publishes(self, lease: Lease) -> bool:
        last = self._published.get((lease.task.id, lease.task.attempt))
        return last is None or self._clock.monotonic() - last >= PUBLISH_S

    def _publish(self, lease: Lease) -> None:
        now = self._clock.monotonic()
        self._published[lease.task.id, lease.task.attempt] = now
        # An older one holds nothing back any more, whatever became of its claim.
        self._published = {claim: at for claim, at in self._published.items() if now - at < PUBLISH_S}

    async def _patiently(self, work: Callable[[], Awaitable[T]]) -> T:
        until = self._clock.monotonic() + _PATIENCE_S
        while True:
            try:
                return await work()
            except StoreFull:
                if self._clock.monotonic() >= until:
                    raise
                await self._clock.sleep(_LOOK_S)

    def _claimed(self, call: Call, lease: Lease | None) -> web.StreamResponse:
        return web.Response(status=204) if lease is None else self._job(call, lease)

    def _job(self, call: Call, lease: Lease, left: objects.Left | None = None) -> web.Response:
        return answered(objects.job(lease, lambda each: self._source_url(call.request, each), left))

    def _now(self) -> str:
        return to_text(self._clock.now())

    def _own_address(self, request: web.Request, lease: Lease) -> str | None:
        return f"{request.scheme}://{request.host}{MOUNT}/audio/{self._addresses.of(lease.ref)}"

    async def _audio(self, request: web.Request, name: str) -> web.StreamResponse:
        """Answer with a part's audio, to whoever knows its address (law 11: it is in no log)."""
        task = await self._addresses.task(name, self._service)
        file = None
        if task is not None and request.method in ("GET", "HEAD"):
            file = await self._service.input(task, mine=True)
        if file is None:
            answer = WireError(404, "not_found").response()
            # Their worker lingers over an answer that it does not read to its end.
            answer.force_close()
            return answer
        headers = {
            "Content-Type": "audio/flac",
            "Cache-Control": "no-store",
            "X-Checksum-SHA256": file.sha256,
        }
        return web.FileResponse(file.path, headers=headers)
