"""Answers of this wire: JSON with a newline, the contract's error texts, a request id in each."""

import json
import logging
import secrets
from typing import Any

from aiohttp import web

from bridge_agent.base.errors import BridgeError, TryLater
from bridge_agent.store.database import StoreFull
from bridge_agent.transcription.pipeline.troubles import Trouble
from bridge_agent.worker_api.uploads import refusals

REQUEST_ID = "X-Request-ID"
NOT_FOUND = "404 page not found\n"
NOT_ALLOWED = "Method Not Allowed\n"
INVALID = "invalid input"
UNAUTHORIZED = "unauthorized"
INTERNAL = "internal error"
ELSEWHERE = "task leased to another worker"

_REQUEST_ID: web.RequestKey[str] = web.RequestKey("request_id", str)
_TEXTS: dict[type[refusals.Refusal], tuple[int, str]] = {
    refusals.Invalid: (400, INVALID),
    refusals.TooLarge: (413, "request body too large"),
    refusals.NoSuchJob: (404, "job not found"),
    refusals.NoSuchTask: (404, "task not found"),
    refusals.NoSuchArtifact: (404, "artifact not found"),
    refusals.LeasedElsewhere: (409, ELSEWHERE),
    refusals.StaleAttempt: (409, "attempt does not match lease"),
    refusals.OtherResult: (409, "different result already recorded"),
    refusals.NotLeased: (409, "task is not currently leased"),
    refusals.NotCancellable: (409, "job cannot be cancelled"),
}
_ESCAPES = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)

_log = logging.getLogger(__name__)


class NoSuchWorker(refusals.Refusal):
    """There is no worker registered with this id by this token."""

    code = "worker_not_found"


class Disabled(refusals.Refusal):
    """Nothing of this workload is done here."""

    code = "workload_disabled"


_TEXTS[NoSuchWorker] = (404, "worker not found")
_TEXTS[Disabled] = (400, "workload is disabled")


def request_id(request: web.Request) -> str:
    """Return a request's id: 16 hexadecimal digits, made when it is first asked for."""
    found = request.get(_REQUEST_ID)
    if found is None:
        found = secrets.token_hex(8)
        request[_REQUEST_ID] = found
    return found


def encoded(body: object) -> bytes:
    """Return JSON as the original writes it: compact, HTML's own signs escaped, a newline at its end."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return text.translate(_ESCAPES).encode() + b"\n"


def answer(body: object, status: int = 200) -> web.Response:
    """Return a JSON answer."""
    return web.Response(body=encoded(body), status=status, content_type="application/json")


def error(request: web.Request, status: int, text: str, **headers: str) -> web.Response:
    """Return an error of the contract's shape."""
    response = answer({"error": text, "request_id": request_id(request)}, status)
    response.headers.update(headers)
    return response


def plain(status: int, text: str, **headers: str) -> web.Response:
    """Return the text that the original's router gives."""
    return web.Response(text=text, status=status, headers={"X-Content-Type-Options": "nosniff", **headers})


def of_error(request: web.Request, raised: Exception) -> web.Response:
    """Return the answer for anything that a handler raises; what nobody foresaw is logged."""
    if isinstance(raised, refusals.Refusal):
        status, text = _TEXTS[type(raised)]
        return error(request, status, text)
    if isinstance(raised, web.HTTPNotFound):
        return plain(404, NOT_FOUND)
    if isinstance(raised, web.HTTPMethodNotAllowed):
        return plain(405, NOT_ALLOWED, Allow=", ".join(sorted(raised.allowed_methods)))
    if isinstance(raised, web.RequestPayloadError):
        return error(request, 400, INVALID)
    if isinstance(raised, web.HTTPException):
        return error(request, raised.status, raised.reason.lower())
    if isinstance(raised, (StoreFull, TryLater, Trouble)):
        return error(request, 503, INTERNAL, **{"Retry-After": "30"})
    known = isinstance(raised, BridgeError)
    _log.error("%s %s failed: %s", request.method, request.path, raised, exc_info=None if known else raised)
    return error(request, 500, INTERNAL)


def fields(**members: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON of any shape
    """Return members in the order given, without those that are None."""
    return {name: value for name, value in members.items() if value is not None}
