"""The coordinator's wire, as it is documented."""

from bridge_agent.worker_api.coordinator_v1 import messages
from bridge_agent.worker_api.openapi.operations import Bytes, Operation, Schema, Wire

_UUID: Schema = {"type": "string", "format": "uuid"}
_TEXT: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_SHA: Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}


def _object(required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    return {"type": "object", "properties": {**required, **(optional or {})}, "required": list(required)}


ERROR = _object({"error": _TEXT, "request_id": {"type": "string", "pattern": "^[0-9a-f]{16}$"}})
_TASK = _object(
    {
        "task_id": _UUID,
        "job_id": _UUID,
        "chunk_index": _COUNT,
        "workload": _TEXT,
        "input": _object({"uri": _TEXT, "sha256": _TEXT}),
        "parameters": {"type": "object"},
        "attempt": {"type": "integer", "minimum": 1},
        "lease_expires_at": {"type": "string", "format": "date-time"},
    }
)
_STATES = ["pending", "running", "reducing", "completed", "failed", "cancelled"]
_PROGRESS = _object(
    {
        "id": _UUID,
        "status": {"type": "string", "enum": _STATES},
        "total": _COUNT,
        "pending": _COUNT,
        "leased": _COUNT,
        "completed": _COUNT,
        "failed": _COUNT,
        "cancelled": _COUNT,
    },
    {"result_uri": _TEXT, "error_code": _TEXT},
)
_SETTLED = _object({"id": _UUID, "job_id": _UUID, "status": _TEXT})
_UPLOAD = _object(
    {"workload": _TEXT},
    {
        "parameters": {"type": "string", "description": "A JSON object"},
        "chunk_rows": {"type": "integer", "minimum": 1, "default": 1000},
        "max_rows": {"type": "integer", "minimum": 1},
        "file": {"type": "string", "contentMediaType": "application/octet-stream"},
        "dataset": {"type": "string", "contentMediaType": "application/octet-stream"},
    },
)
_HEALTH = _object({"status": _TEXT})
_RANGE: dict[str, Schema] = {"Range": _TEXT, "If-Range": _TEXT}

COORDINATOR = Wire(
    tag="coordinator",
    about=(
        "Tasks for workers of the public coordinator, version 1. Names of members match in any case, unknown "
        "ones are refused. Text fields of an upload come before its one file."
    ),
    server={"url": "/", "description": "The worker listener"},
    security=("worker",),
    error="CoordinatorError",
    path_schemas={"id": _UUID},
    operations=(
        Operation(
            "GET", "/health", "Whether the store answers", None, {200: _HEALTH, 503: _HEALTH}, open=True
        ),
        Operation("GET", "/openapi.json", "This document", None, {200: {"type": "object"}}, open=True),
        Operation(
            "POST",
            "/workers/register",
            "Make a worker known, for good",
            messages.Register,
            {201: _object({"worker_id": _UUID, "heartbeat_interval_seconds": {"type": "integer"}})},
            errors=(400,),
        ),
        Operation(
            "POST",
            "/tasks/claim",
            "Lease the next task that a worker can do",
            messages.Claim,
            {200: _TASK, 204: None},
            errors=(400, 404),
        ),
        Operation(
            "POST",
            "/tasks/{id}/heartbeat",
            "Renew a lease",
            messages.Hold,
            {200: _TASK},
            errors=(400, 404, 409),
        ),
        Operation(
            "GET",
            "/tasks/{id}/input",
            "Fetch a task's bytes",
            None,
            {200: Bytes("*/*"), 206: Bytes("*/*")},
            errors=(400, 404, 416),
            headers=_RANGE,
        ),
        Operation(
            "PUT",
            "/tasks/{id}/artifacts/{filename}",
            "Hand a partial in; of two the first stays",
            Bytes("*/*"),
            {200: _object({"artifact_id": _UUID, "uri": _TEXT, "sha256": _SHA, "size_bytes": _COUNT})},
            errors=(400, 404, 409, 413),
            headers={
                "X-Worker-ID": _TEXT,
                "!X-Task-Attempt": {"type": "integer", "minimum": 0, "maximum": 2**31 - 1},
            },
        ),
        Operation(
            "POST",
            "/tasks/{id}/result",
            "Complete a task with what was handed in",
            messages.Result,
            {200: _SETTLED},
            errors=(400, 404, 409, 503),
        ),
        Operation(
            "POST",
            "/tasks/{id}/failure",
            "Say that a task could not be done",
            messages.Fail,
            {200: _SETTLED},
            errors=(400, 404, 409, 503),
        ),
        Operation(
            "POST",
            "/jobs",
            "Make a job of inputs that have addresses",
            messages.Describe,
            {201: _object({"id": _UUID, "status": _TEXT})},
            errors=(400, 503),
        ),
        Operation(
            "POST",
            "/jobs/upload",
            "Upload a file, which is split into tasks",
            Bytes("multipart/form-data", _UPLOAD),
            {201: _object({"job_id": _UUID, "task_count": _COUNT, "input_artifact_id": _UUID})},
            errors=(400, 413, 503),
        ),
        Operation("GET", "/jobs/{id}", "How far a job is", None, {200: _PROGRESS}, errors=(400, 404)),
        Operation(
            "GET",
            "/jobs/{id}/result",
            "Fetch a job's final result",
            None,
            {200: Bytes("*/*"), 206: Bytes("*/*")},
            errors=(400, 404, 416),
            headers=_RANGE,
        ),
        Operation(
            "POST",
            "/jobs/{id}/cancel",
            "End a job",
            None,
            {200: _object({"cancelled_tasks": _COUNT, "job_id": _UUID, "status": _TEXT})},
            errors=(400, 404, 409),
        ),
        Operation(
            "GET",
            "/artifacts/{id}/download",
            "Fetch an artifact",
            None,
            {200: Bytes("*/*"), 206: Bytes("*/*")},
            errors=(400, 404, 416),
            headers=_RANGE,
        ),
    ),
)
