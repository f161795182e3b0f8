"""Artifacts: handed in by the Bridge, listed and fetched by admins."""

from aiohttp import hdrs, web

from bridge_agent.home.access import credential, takes
from bridge_agent.home.artifact_files import ArtifactTooLarge
from bridge_agent.home.artifacts import NoSuchArtifact, Offer
from bridge_agent.home.keys import HOME
from bridge_agent.home.routes.bridge import job_in_path
from bridge_agent.protocol.bridge import API, ARTIFACT_BYTES, CONTENT_SHA256, JOB_ATTEMPT, plain
from bridge_agent.web.bodies import id_in_path
from bridge_agent.web.delivery import OWN_HEADERS, Content, LocalFile, deliver
from bridge_agent.web.errors import json_response

_CHUNK = 1 << 18


@takes("bridge", raw_body=True)
async def put(request: web.Request) -> web.Response:
    """PUT /bridge/jobs/{id}/artifacts/{name}: the bytes, streamed to the disk."""
    if (request.content_length or 0) > ARTIFACT_BYTES:
        raise ArtifactTooLarge
    attempt = request.headers.get(JOB_ATTEMPT, "")
    offer = Offer(
        job_id=job_in_path(request),
        attempt=int(attempt) if attempt.isascii() and attempt.isdigit() and len(attempt) < 100 else None,
        name=request.match_info["name"],
        content_type=request.content_type,
        sha256=request.headers.get(CONTENT_SHA256, "").strip().lower(),
    )
    answer = await request.app[HOME].artifacts.put(
        credential(request).hash, offer, request.content.iter_chunked(_CHUNK)
    )
    return json_response(plain(answer))


@takes("session", "api_key", admin=True)
async def list_artifacts(request: web.Request) -> web.Response:
    """GET /admin/bridge/jobs/{id}/artifacts: those of the latest attempt that has any."""
    found = await request.app[HOME].artifacts.list(id_in_path(request))
    return json_response({"artifacts": [artifact.wire() for artifact in found]})


@takes("session", "api_key", admin=True)
async def fetch(request: web.Request) -> web.StreamResponse:
    """GET /admin/bridge/jobs/{id}/artifacts/{name}: bytes to keep, never shown as a page of this site."""
    artifact, path = await request.app[HOME].artifacts.get(id_in_path(request), request.match_info["name"])
    file = LocalFile(path)
    content = Content(
        tag=f'"{artifact.sha256}"',
        size=artifact.size_bytes,
        content_type=artifact.content_type,
        read=file.read,
        headers={**OWN_HEADERS, hdrs.CONTENT_DISPOSITION: f'attachment; filename="{artifact.name}"'},
    )
    try:
        return await deliver(request, content)
    except FileNotFoundError as error:
        # Its library was removed just now, or somebody cleared the folder away.
        raise NoSuchArtifact from error
    finally:
        file.close()


def add_routes(app: web.Application) -> None:
    """Add these routes."""
    app.router.add_put(f"{API}/bridge/jobs/{{id}}/artifacts/{{name:[^/]+}}", put)
    app.router.add_get(f"{API}/admin/bridge/jobs/{{id}}/artifacts", list_artifacts)
    app.router.add_get(f"{API}/admin/bridge/jobs/{{id}}/artifacts/{{name:[^/]+}}", fetch)
