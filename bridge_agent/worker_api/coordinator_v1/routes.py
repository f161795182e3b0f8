"""The routes of this wire."""

import contextlib
import logging
import re
from collections.abc import AsyncIterator, Iterator

from aiohttp import web

from bridge_agent.base.errors import BridgeError
from bridge_agent.base.tasks import within
from bridge_agent.store.database import StoreFull
from bridge_agent.worker_api.coordinator_v1 import answers, bodies, messages, sending
from bridge_agent.worker_api.coordinator_v1.claimed import Caller
from bridge_agent.worker_api.coordinator_v1.coordinator import Coordinator
from bridge_agent.worker_api.coordinator_v1.entry import COORDINATOR, MEMBER, entry
from bridge_agent.worker_api.coordinator_v1.form import FormReader, content_type
from bridge_agent.worker_api.uploads.intake import MAX_ATTEMPTS, Chunk
from bridge_agent.worker_api.uploads.refusals import Invalid, LeasedElsewhere, Refusal, TooLarge
from bridge_agent.worker_api.workloads.catalogue import TRANSCRIBE
from bridge_agent.worker_api.workloads.schema import whole_numbers

# Ids in braces are taken too, so what is one is left to whoever reads it.
_ID = "{id:[^/]+}"
_HEALTH_S = 2.0
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}\Z")
_PIECE = 1 << 18

_log = logging.getLogger(__name__)

# ---- the server itself


async def health(request: web.Request) -> web.Response:
    """GET /health: the truth about the stores."""
    try:
        await within(_HEALTH_S, request.app[COORDINATOR].ask())
    except Exception as error:
        _log.warning("A store of the worker listener gives no answer: %s", error)
        return answers.answer({"status": "unavailable"}, 503)
    return answers.answer({"status": "ok"})


# ---- workers


async def register(request: web.Request) -> web.Response:
    """POST /workers/register."""
    wanted = await bodies.read_body(request, messages.Register)
    return answers.answer(await request.app[COORDINATOR].register(request[MEMBER], wanted), 201)


async def claim(request: web.Request) -> web.Response:
    """POST /tasks/claim."""
    wanted = await bodies.read_body(request, messages.Claim)
    claimed = await request.app[COORDINATOR].claim(request[MEMBER], wanted.worker_id)
    return web.Response(status=204) if claimed is None else answers.answer(claimed.wire())


# ---- tasks


async def heartbeat(request: web.Request) -> web.Response:
    """POST /tasks/{id}/heartbeat; never a 5xx, for which a worker would throw its work away."""
    task_id, coordinator = bodies.in_path(request), request.app[COORDINATOR]
    said = await bodies.read_body(request, messages.Hold)
    caller = _caller(request, said.worker_id)
    with _lost_at_worst(request):
        try:
            claimed = await coordinator.renew(task_id, caller, said.attempt)
        except StoreFull:
            # What can’t be written down is no reason to end a claim.
            claimed = await coordinator.still_held(task_id, caller, said.attempt)
    return answers.answer(claimed.wire())


async def task_input(request: web.Request) -> web.StreamResponse:
    """GET /tasks/{id}/input."""
    found = await request.app[COORDINATOR].input(bodies.in_path(request), request[MEMBER])
    return await sending.send(request, found)


async def put_artifact(request: web.Request) -> web.Response:
    """PUT /tasks/{id}/artifacts/{filename}; never a 5xx, for which a worker would give the task up."""
    task_id = bodies.in_path(request)
    attempt = _attempt(request.headers.get("X-Task-Attempt", ""))
    caller = _caller(request, request.headers.get("X-Worker-ID", ""))
    coordinator = request.app[COORDINATOR]
    if (request.content_length or 0) > coordinator.uploads.limits.partial_bytes:
        raise TooLarge
    # Bytes that are no characters can neither be kept nor said again.
    name = request.match_info["filename"].encode("utf-8", "replace").decode()
    kind = content_type(request.headers.get("Content-Type"))
    with _lost_at_worst(request):
        found = await coordinator.hand_in(task_id, caller, attempt, name, kind, _pieces(request))
    return answers.answer(
        {
            "artifact_id": found.id,
            "uri": f"/artifacts/{found.id}/download",
            "sha256": found.sha256,
            "size_bytes": found.size,
        }
    )


async def result(request: web.Request) -> web.Response:
    """POST /tasks/{id}/result."""
    task_id = bodies.in_path(request)
    said = await bodies.read_body(request, messages.Result)
    settled = await request.app[COORDINATOR].complete(task_id, _caller(request, said.worker_id), said)
    return answers.answer(settled.wire())


async def failure(request: web.Request) -> web.Response:
    """POST /tasks/{id}/failure."""
    task_id = bodies.in_path(request)
    said = await bodies.read_body(request, messages.Fail)
    settled = await request.app[COORDINATOR].fail(task_id, _caller(request, said.worker_id), said)
    return answers.answer(settled.wire())


# ---- jobs


async def upload(request: web.Request) -> web.Response:
    """POST /jobs/upload."""
    uploads = request.app[COORDINATOR].uploads
    reader = FormReader(
        request, uploads.limits.upload_bytes, speech=request.app[COORDINATOR].speech is not None
    )
    form, file = await reader.to_the_file()
    accepted = await uploads.intake.take(form, file)
    return answers.answer(
        {
            "job_id": accepted.job_id,
            "task_count": accepted.task_count,
            "input_artifact_id": accepted.input_artifact_id,
        },
        201,
    )


async def describe(request: web.Request) -> web.Response:
    """POST /jobs: a job whose inputs have addresses."""
    said = await bodies.read_body(request, messages.Describe)
    chunks = [_chunk(each, said) for each in said.chunks]
    _judge(said, chunks)
    parameters = whole_numbers(said.parameters or {})
    job_id = await request.app[COORDINATOR].uploads.intake.describe(said.workload, parameters, chunks)
    return answers.answer({"id": job_id, "status": "pending"}, 201)


async def job(request: web.Request) -> web.Response:
    """GET /jobs/{id}."""
    return answers.answer(await request.app[COORDINATOR].progress(bodies.in_path(request)))


async def job_result(request: web.Request) -> web.StreamResponse:
    """GET /jobs/{id}/result."""
    found, path = await request.app[COORDINATOR].uploads.result(bodies.in_path(request))
    stretch = sending.whole(found, path)
    return await sending.send(request, stretch, sending.attachment(found.name))


async def cancel(request: web.Request) -> web.Response:
    """POST /jobs/{id}/cancel; its body is not looked at."""
    return answers.answer(await request.app[COORDINATOR].cancel(bodies.in_path(request)))


async def download(request: web.Request) -> web.StreamResponse:
    """GET /artifacts/{id}/download."""
    found, path = await request.app[COORDINATOR].uploads.artifact(bodies.in_path(request))
    stretch = sending.whole(found, path)
    return await sending.send(request, stretch, sending.attachment(found.name))


# ---- inside


@contextlib.contextmanager
def _lost_at_worst(request: web.Request) -> Iterator[None]:
    """Make what goes wrong here a lost lease: public workers give a task up for good at a 5xx."""
    try:
        yield
    except (Refusal, web.RequestPayloadError, ConnectionError):
        raise
    except Exception as error:
        known = isinstance(error, BridgeError)
        _log.error("%s %s failed: %s", request.method, request.path, error, exc_info=None if known else error)
        raise LeasedElsewhere from error


def _caller(request: web.Request, worker_id: str) -> Caller:
    return request.app[COORDINATOR].caller(request[MEMBER], worker_id)


def _attempt(text: str) -> int:
    if not _INTEGER.match(text):
        raise Invalid("The header X-Task-Attempt is a whole number.")
    return int(text)


async def _pieces(request: web.Request) -> AsyncIterator[bytes]:
    async for piece in request.content.iter_chunked(_PIECE):
        yield piece


def _chunk(said: messages.Chunk, whole: messages.Describe) -> Chunk:
    return Chunk(
        chunk_index=said.chunk_index,
        input_uri=said.input_uri,
        input_sha256=said.input_sha256,
        workload=said.workload or whole.workload,
        parameters=whole_numbers(whole.parameters if said.parameters is None else said.parameters) or {},
        max_attempts=said.max_attempts if said.max_attempts > 0 else MAX_ATTEMPTS,
    )


def _judge(said: messages.Describe, chunks: list[Chunk]) -> None:
    """Raise Invalid for a job that can't be worked on."""
    named = {said.workload, *(chunk.workload for chunk in chunks)}
    if len({chunk.chunk_index for chunk in chunks}) != len(chunks):
        raise Invalid("Two chunks have one index.")
    if named & {"similarity-graph", TRANSCRIBE}:
        raise Invalid("This workload is not described by addresses.")
    if "similarity-search" in named and len(chunks) > 1 and "query_id" in (said.parameters or {}):
        raise Invalid("A query by its id needs all rows in one chunk.")


def add_routes(app: web.Application, coordinator: Coordinator) -> None:
    """Serve a coordinator at an application's root; /worker/v1 stays the other wire's."""
    app[COORDINATOR] = coordinator
    app.middlewares.append(entry)
    add = app.router
    add.add_get("/health", health)
    add.add_post("/workers/register", register)
    add.add_post("/tasks/claim", claim)
    add.add_post(f"/tasks/{_ID}/heartbeat", heartbeat)
    add.add_get(f"/tasks/{_ID}/input", task_input)
    add.add_put(f"/tasks/{_ID}/artifacts/{{filename:[^/]+}}", put_artifact)
    add.add_post(f"/tasks/{_ID}/result", result)
    add.add_post(f"/tasks/{_ID}/failure", failure)
    add.add_post("/jobs", describe)
    add.add_post("/jobs/upload", upload)
    add.add_get(f"/jobs/{_ID}", job)
    add.add_get(f"/jobs/{_ID}/result", job_result)
    add.add_post(f"/jobs/{_ID}/cancel", cancel)
    add.add_get(f"/artifacts/{_ID}/download", download)
