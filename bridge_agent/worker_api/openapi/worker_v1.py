"""The wire `/worker/v1`, as it is documented."""

from bridge_agent.worker_api.openapi.operations import Bytes, Operation, Schema, Wire

_TEXT: Schema = {"type": "string"}
_WORD: Schema = {"type": "string", "pattern": "^[0-9A-Za-z._-]{1,100}$"}
_ANY: Schema = {"type": "object"}
_BUCKET: Schema = {"type": "object", "properties": {"bucket": {"enum": ["oldest", "newest"]}}}
_JOB: Schema = {
    "type": "object",
    "required": ["job"],
    "properties": {
        "job": {
            "type": "object",
            "required": ["id", "status", "attempts", "chatId", "telegramChatId", "sourceMessageId"],
            "properties": {
                "id": _TEXT,
                "status": {
                    "enum": [
                        "queued_for_download",
                        "downloading",
                        "ready",
                        "transcribing",
                        "processing",
                        "completed",
                        "failed",
                    ]
                },
                "attempts": {"type": "integer", "minimum": 1},
                "sourceUrl": _TEXT,
                "localSourcePath": _TEXT,
            },
        }
    },
}
_SOURCE: Schema = {
    "type": "object",
    "required": ["source"],
    "properties": {"source": {"type": "object", "required": ["jobId", "fileId", "sourceKind"]}},
}
_PART: Schema = {"type": "object", "properties": {"timeCode": _TEXT, "text": _TEXT}}
_HEARD: Schema = {
    "type": "object",
    "required": ["text"],
    "properties": {
        "text": {"type": "string", "maxLength": 100_000},
        "parts": {"type": "array", "maxItems": 5000, "items": _PART},
        "language": _TEXT,
        "engine": _TEXT,
        "duration": {"type": "number", "minimum": 0},
        "metadata": _ANY,
    },
}
_FAILURE: Schema = {"type": "object", "properties": {"error": _TEXT, "retryable": {"type": "boolean"}}}
_DOWNLOADED: Schema = {
    "type": "object",
    "required": ["localSourcePath"],
    "properties": {"localSourcePath": _TEXT},
}
ERROR: Schema = {"type": "object", "properties": {"error": _TEXT}, "required": ["error"]}


def _claim(name: str, summary: str) -> Operation:
    path = f"/worker/v1/jobs/{name}"
    return Operation("POST", path, summary, _BUCKET, {200: _JOB, 204: None}, optional_body=True)


def _step(name: str, summary: str, takes: Schema | None = None) -> Operation:
    return Operation(
        "POST", f"/worker/v1/jobs/{{id}}/{name}", summary, takes, {200: _JOB}, errors=(400, 404, 503)
    )


WORKER_V1 = Wire(
    tag="worker/v1",
    about="Parts of books for workers of the public transcription project; each miss is a 404.",
    server={"url": "/", "description": "The worker listener"},
    security=("worker",),
    error="WorkerError",
    path_schemas={"id": _WORD, "name": _WORD},
    operations=(
        _claim("claim-download", "Claim the next part"),
        _claim("claim-ready", "Find a part again that one has ready"),
        _claim("claim", "Claim a part as older workers do"),
        Operation("GET", "/worker/v1/jobs/{id}", "A part in hand", None, {200: _JOB}, errors=(400, 404)),
        Operation(
            "GET",
            "/worker/v1/jobs/{id}/source",
            "Where its audio is",
            None,
            {200: _SOURCE},
            errors=(400, 404),
        ),
        _step("downloaded", "Say that the audio is here", _DOWNLOADED),
        _step("transcribe", "Begin with it"),
        _step("heartbeat", "Give a sign of life"),
        _step("progress", "Tell the words so far", _HEARD),
        _step("result", "Hand the words in", _HEARD),
        _step("failure", "Say that it could not be done", _FAILURE),
        Operation(
            "GET",
            "/worker/v1/audio/{name}",
            "Fetch a part's audio by the address of its claim",
            None,
            {200: Bytes("audio/flac"), 206: Bytes("audio/flac")},
            errors=(404,),
            open=True,
        ),
    ),
)
