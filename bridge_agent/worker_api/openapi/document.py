"""The document, put together from its wires; served by the worker listener at /openapi.json."""

from functools import cache
from typing import Any

import msgspec
from aiohttp import web

from bridge_agent import __version__
from bridge_agent.worker_api.openapi import coordinator, server, worker_v1
from bridge_agent.worker_api.openapi.coordinator import COORDINATOR
from bridge_agent.worker_api.openapi.operations import Wire, Writer, types_of
from bridge_agent.worker_api.openapi.page import PAGE
from bridge_agent.worker_api.openapi.server import BRIDGE, SERVER
from bridge_agent.worker_api.openapi.worker_v1 import WORKER_V1

PATH = "/openapi.json"
WIRES: tuple[Wire, ...] = (COORDINATOR, WORKER_V1, SERVER, BRIDGE, PAGE)
_REFERENCES = "#/components/schemas/{name}"


def _bearer(about: str) -> dict[str, str]:
    return {"type": "http", "scheme": "bearer", "description": about}


_SECURITY: dict[str, dict[str, str]] = {
    "worker": _bearer("A worker's token, `wrk_…`, as the invitation shows it"),
    "session": _bearer("A session, `ses_…`"),
    "cookie": {"type": "apiKey", "in": "cookie", "name": "home_session"},
    "key": _bearer("An API key, `key_…`"),
    "bridge": _bearer("A Bridge's token, `brg_…`"),
    "page": {
        "type": "apiKey",
        "in": "cookie",
        "name": "bridge_INSTANCE",
        "description": "The page's session; the name ends with this Bridge's own id",
    },
    "control": _bearer("The control token in the data folder, for the command line"),
}


@cache
def document() -> dict[str, Any]:
    """Return the whole document."""
    kinds = types_of(WIRES)
    schemas, components = msgspec.json.schema_components(kinds, ref_template=_REFERENCES)
    writer = Writer(dict(zip(kinds, schemas, strict=True)))
    paths: dict[str, Any] = {}
    for wire in WIRES:
        paths.update(writer.paths(wire))
    own = {"CoordinatorError": coordinator.ERROR, "WorkerError": worker_v1.ERROR, "Job": server.JOB}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "The Bridge",
            "version": __version__,
            "description": "Both worker wires, the server's side of the Bridge API, the Bridge's own page.",
        },
        "tags": [{"name": wire.tag, "description": wire.about} for wire in WIRES],
        "paths": dict(sorted(paths.items())),
        "components": {"schemas": {**components, **own}, "securitySchemes": _SECURITY},
    }


async def get_document(_request: web.Request) -> web.Response:
    """GET /openapi.json: no secret is in it."""
    return web.Response(body=msgspec.json.encode(document()), content_type="application/json")


def add_routes(app: web.Application) -> None:
    """Serve the document."""
    app.router.add_get(PATH, get_document)
