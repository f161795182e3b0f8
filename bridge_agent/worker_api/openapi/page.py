"""The JSON of the Bridge's own page, as it is documented."""

from bridge_agent.protocol import bridge
from bridge_agent.worker_api.openapi.operations import Bytes, Content, Operation, Schema, Wire

_TEXT: Schema = {"type": "string"}
_NUMBER: Schema = {"type": "integer"}
_ANY: Schema = {"type": "object"}
_ID: Schema = {"type": "integer", "minimum": 1}
_STATUS: Schema = {
    "type": "object",
    "required": ["version", "link", "libraries", "lanes", "jobs", "workers", "ui_url"],
}


def _op(
    method: str,
    path: str,
    summary: str,
    takes: Content = None,
    gives: dict[int, Content] | None = None,
    errors: tuple[int, ...] = (403,),
    query: dict[str, Schema] | None = None,
    *,
    open: bool = False,
) -> Operation:
    return Operation(method, path, summary, takes, gives or {200: _ANY}, errors, query or {}, open=open)


def _object(*names: str) -> Schema:
    return {"type": "object", "properties": {name: {} for name in names}, "required": list(names)}


_PAGES: dict[str, Schema] = {"q": _TEXT, "before": _TEXT, "limit": _NUMBER}
_FAILED = (400, 403, 409, 422, 502)

PAGE = Wire(
    tag="page",
    about="The Bridge's own page as JSON; no password is asked on this machine unless one is set.",
    server={"url": "http://127.0.0.1:13380", "description": "The Bridge's page"},
    security=("page", "control"),
    error=bridge.ErrorAnswer,
    path_schemas={"library_id": _ID},
    operations=(
        _op("GET", "/api/status", "How the Bridge is", None, {200: _STATUS}),
        _op("GET", "/api/events", "The same as events", None, {200: Bytes("text/event-stream")}),
        _op("POST", "/api/login", "Sign in", _object("password"), None, (400, 401, 403, 429), open=True),
        _op("PUT", "/api/password", "Set the page's password", _ANY, None, (400, 403)),
        _op("GET", "/api/token", "Whether this Bridge holds a token, and where"),
        _op(
            "POST", "/api/pair", "Pair with a server", _object("server_url", "code"), {200: _STATUS}, _FAILED
        ),
        _op("POST", "/api/unpair", "Forget the server", None, {200: _STATUS}),
        _op(
            "PUT",
            "/api/mappings/{library_id}",
            "Say where a library is",
            _object("path"),
            None,
            (400, 403, 404),
        ),
        _op("DELETE", "/api/mappings/{library_id}", "Forget where it is", None, None, (403, 404)),
        _op("POST", "/api/mappings/{library_id}/check", "Look at it now", None, None, (403, 404)),
        _op(
            "GET",
            "/api/jobs",
            "What was done, newest first",
            None,
            {200: _object("jobs")},
            (400, 403),
            {"state": _TEXT, "before": _TEXT, "limit": _NUMBER},
        ),
        _op("GET", "/api/jobs/{server_id}/{id}", "A job with its attempts", None, None, (403, 404)),
        _op("POST", "/api/jobs/{server_id}/{id}/cancel", "Cancel it", None, {202: _ANY}, (403, 404, 409)),
        _op(
            "POST",
            "/api/jobs/{server_id}/{id}/resume",
            "Try it again now",
            None,
            {202: _ANY},
            (403, 404, 409),
        ),
        _op(
            "GET",
            "/api/transcripts",
            "Transcripts kept here",
            None,
            {200: _object("transcripts")},
            (400, 403),
            _PAGES,
        ),
        _op("POST", "/api/transcripts/mend", "Make their index anew", None, {200: _ANY}, (403,)),
        _op("GET", "/api/transcripts/{id}", "A transcript", None, None, (403, 404)),
        _op(
            "GET",
            "/api/transcripts/{id}/{name}",
            "One of its files",
            None,
            {200: Bytes("*/*"), 206: Bytes("*/*"), 304: None},
            (403, 404, 416),
        ),
        _op(
            "GET",
            "/api/search",
            "Search all transcripts",
            None,
            {200: _object("hits")},
            (400, 403),
            {"q": _TEXT, "after": _TEXT, "limit": _NUMBER},
        ),
        _op(
            "GET",
            "/api/workers",
            "How workers are, and whether they reach this Bridge",
            None,
            {200: _object("workers", "problem", "model")},
        ),
        _op(
            "POST",
            "/api/workers/tokens",
            "Invite a worker; its token is shown once",
            {**_object("name"), "properties": {"name": _TEXT, "model": _TEXT}},
            {201: _object("id", "name", "token", "url", "fingerprint")},
            (400, 403, 409),
        ),
        _op("GET", "/api/workers/tokens", "All workers", None, {200: _object("workers")}),
        _op(
            "DELETE", "/api/workers/tokens/{id}", "Take a worker's token back", None, {204: None}, (403, 404)
        ),
        _op(
            "POST",
            "/api/workers/tokens/{id}/pause",
            "Give a worker no more parts",
            None,
            {204: None},
            (403, 404, 409),
        ),
        _op(
            "POST",
            "/api/workers/tokens/{id}/resume",
            "Give a worker parts again",
            None,
            {204: None},
            (403, 404, 409),
        ),
        _op("GET", "/healthz", "Whether the Bridge works", None, {200: _ANY, 503: _ANY}, (), open=True),
        _op("GET", "/metrics", "Figures for Prometheus", None, {200: Bytes("text/plain")}),
    ),
)
