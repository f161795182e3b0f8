"""The JSON API of the jobs that this Bridge has claimed: history, one job, cancel, try again."""

import contextlib
from collections.abc import Iterator
from typing import Any

from aiohttp import web

from bridge_agent.jobs.errors import Finished, NoSuchJob, NotWaiting
from bridge_agent.page.parts import rooms_of
from bridge_agent.protocol.states import RunState
from bridge_agent.web.bodies import id_in_path, int_query
from bridge_agent.web.errors import ApiError, json_response

MOST = 200


def add_routes(app: web.Application) -> None:
    """Add these routes."""
    one = "/api/jobs/{server_id}/{id}"
    app.router.add_get("/api/jobs", get_jobs)
    app.router.add_get(one, get_job)
    app.router.add_post(one + "/cancel", post_cancel)
    app.router.add_post(one + "/resume", post_resume)


async def get_jobs(request: web.Request) -> web.StreamResponse:
    """List jobs, newest first."""
    before = request.query.get("before") or None
    page = await rooms_of(request).jobs.history(
        _state(request), before, int_query(request, "limit", 50, 1, MOST)
    )
    return json_response(page)


def _state(request: web.Request) -> RunState | None:
    text = request.query.get("state", "")
    if text and text not in set(RunState):
        raise ApiError(400, "bad_request", f"“state” is one of {', '.join(RunState)}.")
    return RunState(text) if text else None


async def get_job(request: web.Request) -> web.StreamResponse:
    """Answer with a job's latest attempt, and all of them."""
    return json_response(await job_of(request))


async def post_cancel(request: web.Request) -> web.StreamResponse:
    """Stop a job that is running here (R-077)."""
    job = await job_of(request)
    with as_answers():
        await rooms_of(request).jobs.cancel(job["server_id"], job["job_id"])
    return json_response(await job_of(request), status=202)


async def post_resume(request: web.Request) -> web.StreamResponse:
    """Try a job that needs attention again now."""
    job = await job_of(request)
    with as_answers():
        await rooms_of(request).jobs.resume(job["server_id"], job["job_id"])
    return json_response(await job_of(request), status=202)


async def job_of(request: web.Request) -> dict[str, Any]:
    """Return the job that the path names, its latest attempt; raises ApiError 404."""
    job = await rooms_of(request).jobs.get(request.match_info["server_id"], id_in_path(request))
    if job is None:
        raise ApiError(404, NoSuchJob.code, NoSuchJob().message)
    return job


@contextlib.contextmanager
def as_answers() -> Iterator[None]:
    """Turn what the jobs refuse into the answers of the API."""
    try:
        yield
    except NoSuchJob as error:
        raise ApiError(404, error.code, error.message) from error
    except (Finished, NotWaiting) as error:
        raise ApiError(409, error.code, error.message) from error
