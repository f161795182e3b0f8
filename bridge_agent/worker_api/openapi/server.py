"""The server's side of the Bridge API, as it is documented."""

from bridge_agent.protocol import bridge
from bridge_agent.protocol.bridge import API
from bridge_agent.worker_api.openapi.operations import Bytes, Content, Operation, Schema, Wire

_TEXT: Schema = {"type": "string"}
_NUMBER: Schema = {"type": "integer"}
_ANY: Schema = {"type": "object"}
_ID: Schema = {"type": "integer", "minimum": 1}


def _fields(required: str = "", optional: str = "") -> Schema:
    """Return an object's schema by its members' names; what they hold is described in words elsewhere."""
    names = [*required.split(), *optional.split()]
    return {"type": "object", "properties": {name: {} for name in names}, "required": required.split()}


def _list(name: str) -> Schema:
    return {"type": "object", "properties": {name: {"type": "array"}}, "required": [name]}


def _op(
    method: str,
    path: str,
    summary: str,
    takes: Content = None,
    gives: dict[int, Content] | None = None,
    errors: tuple[int, ...] = (),
    query: dict[str, Schema] | None = None,
    *,
    open: bool = False,
) -> Operation:
    return Operation(method, API + path, summary, takes, gives or {204: None}, errors, query or {}, open=open)


_PAGES: dict[str, Schema] = {"before": _NUMBER, "limit": _NUMBER}

_FOR_PEOPLE = (
    _op("GET", "/server", "What this server is and can do", None, {200: _ANY}, open=True),
    _op(
        "POST",
        "/auth/login",
        "Sign in",
        _fields("username password"),
        {200: _fields("user token")},
        (400, 401, 429),
        open=True,
    ),
    _op("POST", "/auth/logout", "End this session"),
    _op("GET", "/auth/devices", "Sessions and API keys of one's own", None, {200: _list("devices")}),
    _op(
        "POST", "/auth/sign-out", "End all sessions", _fields("", "except_this"), {200: _fields("signed_out")}
    ),
    _op("POST", "/auth/device-code", "A code for another device", None, {201: _fields("code expires_at")}),
    _op(
        "POST",
        "/auth/redeem",
        "Sign in with such a code",
        _fields("code", "name"),
        {200: _fields("user token")},
        (400, 401, 429),
        open=True,
    ),
    _op("GET", "/admin/users", "All users", None, {200: _list("users")}, (403,)),
    _op(
        "POST",
        "/admin/users",
        "A new user",
        _fields("username password role"),
        {201: _fields("id username role enabled")},
        (400, 403, 409),
    ),
    _op(
        "PATCH",
        "/admin/users/{id}",
        "Change a user",
        _fields("", "enabled role password"),
        {200: _fields("id username role enabled")},
        (400, 403, 404, 409),
    ),
    _op(
        "POST",
        "/admin/api-keys",
        "A new API key",
        _fields("name"),
        {201: _fields("id name token")},
        (400, 403),
    ),
    _op("GET", "/admin/api-keys", "All API keys", None, {200: _list("api_keys")}, (403,)),
    _op("DELETE", "/admin/api-keys/{id}", "Take an API key back", None, None, (403, 404)),
    _op("GET", "/libraries", "All libraries", None, {200: _list("libraries")}),
    _op(
        "GET",
        "/libraries/{id}/books",
        "A library's books",
        None,
        {200: _fields("books next_after")},
        (400, 404),
        {"q": _TEXT, "after": _TEXT, "limit": _NUMBER},
    ),
    _op("POST", "/admin/libraries", "Add a library", _fields("name root"), {201: _ANY}, (400, 403, 409)),
    _op("DELETE", "/admin/libraries/{id}", "Remove a library, its jobs with it", None, None, (403, 404)),
    _op("POST", "/admin/libraries/{id}/scan", "Scan a library", None, {202: None}, (403, 404)),
    _op("POST", "/media/cast", "A token for a player", None, {201: _fields("token expires_at")}),
    _op(
        "GET",
        "/media/{library_id}/{path}",
        "An audio file or a cover",
        None,
        {200: Bytes("*/*"), 206: Bytes("*/*"), 304: None},
        (404, 416),
        {"token": _TEXT},
    ),
)
_FOR_ADMINS_OF_THE_BRIDGE = (
    _op(
        "POST",
        "/admin/bridge/pair",
        "A code to pair a Bridge with",
        None,
        {201: _fields("code expires_at server_url env")},
        (403,),
    ),
    _op("GET", "/admin/bridge", "The Bridge as last heard of", None, {200: _fields("paired online")}, (403,)),
    _op("DELETE", "/admin/bridge", "Unpair the Bridge; its jobs stay", None, None, (403,)),
    _op(
        "POST",
        "/admin/bridge/jobs",
        "Queue a job",
        _fields("kind library_id", "path params priority"),
        {201: "Job", 200: "Job"},
        (400, 403, 404, 409),
    ),
    _op(
        "GET",
        "/admin/bridge/jobs",
        "All jobs, newest first",
        None,
        {200: _fields("jobs next_before")},
        (400, 403),
        {"state": _TEXT, "kind": _TEXT, "library_id": _ID, **_PAGES},
    ),
    _op("GET", "/admin/bridge/jobs/{id}", "A job", None, {200: "Job"}, (403, 404)),
    _op("POST", "/admin/bridge/jobs/{id}/cancel", "Cancel a job", None, {200: "Job"}, (403, 404, 409)),
    _op(
        "GET",
        "/admin/bridge/jobs/{id}/artifacts",
        "A job's files",
        None,
        {200: _list("artifacts")},
        (403, 404),
    ),
    _op(
        "GET",
        "/admin/bridge/jobs/{id}/artifacts/{name}",
        "One of them",
        None,
        {200: Bytes("*/*"), 206: Bytes("*/*"), 304: None},
        (403, 404, 416),
    ),
)
_FOR_THE_BRIDGE = (
    _op(
        "POST",
        "/bridge/pair",
        "Exchange a code for a token",
        bridge.PairRequest,
        {200: bridge.PairAnswer},
        (400, 401, 429),
        open=True,
    ),
    _op("PUT", "/bridge/status", "The heartbeat", bridge.Heartbeat, {200: bridge.HeartbeatAnswer}, (400,)),
    Operation(
        "GET",
        f"{API}/bridge/jobs/next",
        "Claim the next job, waiting for one",
        None,
        {200: bridge.ClaimAnswer, 204: None},
        (400, 409),
        {"wait": {"type": "number"}, "kind": {"type": "array", "items": _TEXT}},
        {bridge.CLAIM_ID: {"type": "string", "format": "uuid"}},
    ),
    _op(
        "PATCH",
        "/bridge/jobs/{id}",
        "Report on a job, which renews its lease",
        bridge.Report,
        {200: bridge.ReportAnswer},
        (400, 404, 409, 413),
    ),
    _op(
        "GET",
        "/bridge/libraries/{id}/book",
        "A book's files in reading order",
        None,
        {200: bridge.Book},
        (404,),
        {"path": _TEXT},
    ),
    Operation(
        "PUT",
        f"{API}/bridge/jobs/{{id}}/artifacts/{{name}}",
        "Hand in a file of a job",
        Bytes("*/*"),
        {200: bridge.ArtifactAnswer},
        (400, 404, 409, 413),
        headers={f"!{bridge.JOB_ATTEMPT}": _ID, f"!{bridge.CONTENT_SHA256}": _TEXT},
    ),
)

JOB: Schema = _fields(
    "id kind library_id path params state priority attempts lease_expires_at cancel_requested progress "
    "result error created_at updated_at finished_at"
)

_HOME = {"url": "http://127.0.0.1:13390", "description": "The home server"}

SERVER = Wire(
    tag="server",
    about="The audiobook server and its console, for people and their programs.",
    server=_HOME,
    security=("session", "cookie", "key"),
    error=bridge.ErrorAnswer,
    path_schemas={"id": _ID, "library_id": _ID},
    operations=(*_FOR_PEOPLE, *_FOR_ADMINS_OF_THE_BRIDGE),
)
BRIDGE = Wire(
    tag="bridge",
    about="The server, for its Bridge.",
    server=_HOME,
    security=("bridge",),
    error=bridge.ErrorAnswer,
    path_schemas={"id": _ID},
    operations=_FOR_THE_BRIDGE,
)
