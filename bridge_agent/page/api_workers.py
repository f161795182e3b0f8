"""The JSON API of workers' tokens: invite, list, pause, resume, revoke."""

import msgspec
from aiohttp import web

from bridge_agent.page import joining
from bridge_agent.page.parts import Parts, parts_of
from bridge_agent.page.status import workers_wire
from bridge_agent.page.views_speech import no_engine
from bridge_agent.web.bodies import id_in_path, read_json
from bridge_agent.web.errors import ApiError, json_response, no_content
from bridge_agent.worker_api.opening import Workers

NOTHING = "This Bridge transcribes nothing, so there is no work to share; install its speech engine first."


class TokenBody(msgspec.Struct):
    """POST /api/workers/tokens."""

    name: str
    model: str | None = None


def add_routes(app: web.Application) -> None:
    """Add these routes."""
    app.router.add_get("/api/workers", get_workers)
    app.router.add_post("/api/workers/tokens", post_token)
    app.router.add_get("/api/workers/tokens", get_tokens)
    app.router.add_delete("/api/workers/tokens/{id}", delete_token)
    app.router.add_post("/api/workers/tokens/{id}/pause", post_pause)
    app.router.add_post("/api/workers/tokens/{id}/resume", post_resume)


async def post_token(request: web.Request) -> web.StreamResponse:
    """Invite a worker: make a token, shown in this answer alone, and listen for workers."""
    body = await read_json(request, TokenBody)
    invitation = await workers_of(parts_of(request)).invite(body.name, body.model)
    return json_response(
        {
            "id": invitation.id,
            "name": invitation.name,
            "token": invitation.token,
            "url": invitation.url,
            "fingerprint": invitation.fingerprint,
        },
        status=201,
    )


async def get_tokens(request: web.Request) -> web.StreamResponse:
    """List the workers that were invited, without their tokens."""
    workers = parts_of(request).workers
    rows = [] if workers is None else workers.service.workers()
    return json_response(
        {
            "workers": [
                {
                    "id": row.id,
                    "name": row.name,
                    "model": row.model,
                    "created_at": row.created_at,
                    "last_seen_at": row.last_seen_at,
                    "state": row.state,
                }
                for row in rows
            ]
        }
    )


async def get_workers(request: web.Request) -> web.StreamResponse:
    """Say how workers are and whether they reach this Bridge: what the commands tell besides the lists.

    `model` is the one that a worker's line names where none is asked for; `problem` why nobody is listened
    to though somebody is invited.
    """
    parts = parts_of(request)
    told: dict[str, object] = {"workers": [], "problem": None}
    if parts.workers is not None:
        told = {"workers": workers_wire(parts.workers), "problem": parts.workers.listener.problem}
    return json_response({**told, "model": joining.model_of(None, parts.settings)})


async def delete_token(request: web.Request) -> web.StreamResponse:
    """Revoke a token: refused from its next call on, what its worker holds is free at once."""
    if not await workers_of(parts_of(request)).service.revoke(id_in_path(request)):
        raise no_such_worker()
    return no_content()


async def post_pause(request: web.Request) -> web.StreamResponse:
    """Give a worker no more parts; what it has it may finish."""
    if not await workers_of(parts_of(request)).service.pause(id_in_path(request)):
        raise no_such_worker()
    return no_content()


async def post_resume(request: web.Request) -> web.StreamResponse:
    """Give a worker parts again that was paused or parked."""
    if not await workers_of(parts_of(request)).service.resume(id_in_path(request)):
        raise no_such_worker()
    return no_content()


def workers_of(parts: Parts) -> Workers:
    """Return the workers' room; raises ApiError 409 `no_speech` where there is no work to share."""
    if parts.workers is None:
        why = no_engine(parts.speech, parts.settings)
        first = f"install it with {why.command}" if why is not None and why.command else "install it first"
        sentence = NOTHING if why is None else f"{why.sentence} Workers need one here too; {first}."
        raise ApiError(409, "no_speech", sentence)
    return parts.workers


def no_such_worker() -> ApiError:
    """Return the answer where no worker has the id of a request."""
    return ApiError(404, "not_found", "No worker has this id; look at the list of workers.")
