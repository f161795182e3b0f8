"""The jobs, as admins see and steer them."""

import msgspec
from aiohttp import web

from bridge_agent.home.access import takes
from bridge_agent.home.bridge_jobs import MOST_LISTED
from bridge_agent.home.job import Json
from bridge_agent.home.keys import HOME
from bridge_agent.protocol.bridge import API
from bridge_agent.protocol.states import JobState
from bridge_agent.web.bodies import id_in_path, int_query, read_json
from bridge_agent.web.errors import ApiError, json_response

_LARGEST = (1 << 63) - 1


class NewJob(msgspec.Struct):
    """The body of POST /admin/bridge/jobs."""

    kind: str
    library_id: int
    path: str | None = None
    params: Json | None = None
    priority: int | None = None


@takes("session", "api_key", admin=True)
async def queue(request: web.Request) -> web.Response:
    """POST /admin/bridge/jobs: 201 a new job, 200 the open one (R-051)."""
    body = await read_json(request, NewJob, code="invalid_params")
    job, created = await request.app[HOME].jobs.queue(
        body.kind, body.library_id, body.path, body.params, body.priority or 0
    )
    return json_response(job.wire(), status=201 if created else 200)


@takes("session", "api_key", admin=True)
async def list_jobs(request: web.Request) -> web.Response:
    """GET /admin/bridge/jobs: newest first."""
    state = request.query.get("state") or None
    if state is not None and state != "open" and state not in JobState._value2member_map_:
        raise ApiError(400, "bad_request", "“state” takes a job’s state, or “open” for all that are open.")
    page = await request.app[HOME].jobs.list(
        state=state,
        kind=request.query.get("kind") or None,
        library_id=_asked(request, "library_id"),
        before=_asked(request, "before"),
        limit=int_query(request, "limit", MOST_LISTED, 1, MOST_LISTED),
    )
    return json_response({"jobs": [job.wire() for job in page.jobs], "next_before": page.next_before})


def _asked(request: web.Request, name: str) -> int | None:
    """Read an id that narrows the list; one that no row can have leaves nothing, and an absent one all."""
    given = int_query(request, name, -1, 0, _LARGEST)
    return None if given == -1 else given


@takes("session", "api_key", admin=True)
async def get_job(request: web.Request) -> web.Response:
    """GET /admin/bridge/jobs/{id}."""
    job = await request.app[HOME].jobs.get(id_in_path(request))
    return json_response(job.wire())


@takes("session", "api_key", admin=True)
async def cancel(request: web.Request) -> web.Response:
    """POST /admin/bridge/jobs/{id}/cancel (R-071, R-072, R-075)."""
    job = await request.app[HOME].jobs.cancel(id_in_path(request))
    return json_response(job.wire())


def add_routes(app: web.Application) -> None:
    """Add these routes."""
    app.router.add_post(f"{API}/admin/bridge/jobs", queue)
    app.router.add_get(f"{API}/admin/bridge/jobs", list_jobs)
    app.router.add_get(f"{API}/admin/bridge/jobs/{{id}}", get_job)
    app.router.add_post(f"{API}/admin/bridge/jobs/{{id}}/cancel", cancel)
