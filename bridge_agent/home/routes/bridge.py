"""The Bridge's own routes: its heartbeat, its claims, its reports, the books it asks for (R-027)."""

import math
import re

from aiohttp import web

from bridge_agent.home import heartbeats, reports
from bridge_agent.home.access import credential, takes, unauthorized
from bridge_agent.home.bridge_jobs import NoSuchBook, NotHeld
from bridge_agent.home.job import Job
from bridge_agent.home.keys import HOME
from bridge_agent.home.waits import Ask, Nothing
from bridge_agent.protocol.bridge import (
    API,
    CLAIM_ID,
    MAX_KINDS,
    MAX_WAIT_S,
    RUN_ID,
    ClaimAnswer,
    HeartbeatAnswer,
    plain,
)
from bridge_agent.web.bodies import id_in_path, read_limited
from bridge_agent.web.errors import ApiError, json_response, no_content
from bridge_agent.web.security import HEADERS

_STATUS_BYTES = 4 << 20
_ID_LENGTH = 100
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?\Z")


@takes("bridge")
async def put_status(request: web.Request) -> web.Response:
    """PUT /bridge/status: keeps the heartbeat, answers the libraries (R-037…R-040)."""
    home = request.app[HOME]
    heartbeat = heartbeats.parse(await read_limited(request, _STATUS_BYTES))
    run = request.headers.get(RUN_ID, "")[:_ID_LENGTH] or None
    if not await home.bridge.put(credential(request).hash, heartbeat, run):
        raise unauthorized()
    libraries = [library.for_bridge() for library in home.library.libraries()]
    return json_response(plain(HeartbeatAnswer(libraries=libraries)))


@takes("bridge")
async def next_job(request: web.Request) -> web.StreamResponse:
    """GET /bridge/jobs/next: a job, or 204 when the wait is over (R-053…R-060)."""
    home = request.app[HOME]
    ask = _ask(request)
    outcome = await home.jobs.next(ask, _wait(request), lambda: _can_be_told(request))
    if isinstance(outcome, Job):
        return await _tell(request, ask, outcome)
    if outcome is Nothing.REFUSED:
        raise unauthorized()
    if outcome is Nothing.NO_HEARTBEAT:
        raise ApiError(409, "no_heartbeat", "Send a heartbeat before asking for work, then ask again.")
    return no_content()


async def _tell(request: web.Request, ask: Ask, job: Job) -> web.StreamResponse:
    """Send a claim; one that can't be sent is given back, unless its poll will be repeated (law 3)."""
    home = request.app[HOME]
    answer = ClaimAnswer(job=job.claimed(home.settings.lease_seconds))
    response = json_response(plain(answer), headers=HEADERS)
    try:
        if not _can_be_told(request):
            raise ConnectionResetError("the poller has gone")
        await response.prepare(request)
        await response.write_eof()
    except BaseException:
        if ask.claim_id is None:
            await home.tasks.shielded(home.jobs.give_back(job), "give a claim back")
        raise
    return response


def _can_be_told(request: web.Request) -> bool:
    transport = request.transport
    return transport is not None and not transport.is_closing()


def _ask(request: web.Request) -> Ask:
    kinds = request.query.getall("kind", [])
    if len(kinds) > MAX_KINDS:
        raise ApiError(400, "bad_request", f"“kind” may be given {MAX_KINDS} times at most.")
    claim_id = request.headers.get(CLAIM_ID, "").strip() or None
    if claim_id is not None and (len(claim_id) > _ID_LENGTH or not claim_id.isascii()):
        raise ApiError(400, "bad_request", f"{CLAIM_ID} takes a UUID.")
    return Ask(credential(request).hash, tuple(kinds) if kinds else None, claim_id)


def _wait(request: web.Request) -> float:
    text = request.query.get("wait", "0")
    # float() would take “1_0” and the figures of other scripts too.
    seconds = float(text) if _NUMBER.match(text) else math.nan
    if not math.isfinite(seconds) or seconds < 0:
        raise ApiError(400, "bad_request", "“wait” takes a number of seconds from 0 to 25.")
    return min(seconds, MAX_WAIT_S)


def job_in_path(request: web.Request) -> int:
    """Read the id of the job that a holder names; raises NotHeld where no job can have it (R-064)."""
    try:
        return id_in_path(request)
    except ApiError as error:
        raise NotHeld(None) from error


@takes("bridge")
async def report(request: web.Request) -> web.Response:
    """PATCH /bridge/jobs/{id}: what the holder says; 409 `not_held` to everybody else (R-064)."""
    raw = await read_limited(request, reports.MOST_BYTES, "result_too_large")
    taken = reports.parse(raw)
    home = request.app[HOME]
    answer = await home.jobs.report(credential(request).hash, job_in_path(request), taken)
    return json_response(plain(answer))


@takes("bridge")
async def book(request: web.Request) -> web.Response:
    """GET /bridge/libraries/{id}/book: a book's files, the sample book's where no path is given."""
    library = request.app[HOME].library
    library_id = id_in_path(request)
    path = request.query.get("path")
    found = await (library.sample_book(library_id) if path is None else library.book(library_id, path))
    if found is None:
        raise NoSuchBook
    return json_response(plain(found))


def add_routes(app: web.Application) -> None:
    """Add these routes."""
    app.router.add_put(f"{API}/bridge/status", put_status)
    app.router.add_get(f"{API}/bridge/jobs/next", next_job, allow_head=False)
    app.router.add_patch(f"{API}/bridge/jobs/{{id}}", report)
    app.router.add_get(f"{API}/bridge/libraries/{{id}}/book", book)
