"""Errors of the JSON routes: one shape, `{"error": {"code", "message"}}`, whatever went wrong."""

import logging
from collections.abc import Awaitable, Callable, Mapping

from aiohttp import web
from aiohttp.typedefs import Middleware

from bridge_agent.base.errors import BridgeError, TryLater
from bridge_agent.protocol.bridge import encode
from bridge_agent.store.database import StoreFull

_log = logging.getLogger(__name__)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_WORDS = {
    404: ("not_found", "There is nothing at this address; check its spelling."),
    405: ("method_not_allowed", "This address does not take this method; see the header Allow."),
    413: ("too_large", "What was sent is too large for this address."),
}


class ApiError(Exception):
    """An answer that a JSON route gives instead of what was asked for."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        retry_after: float | None = None,
        extra: Mapping[str, object] | None = None,
    ) -> None:
        """Hold status, stable code and one sentence; `extra` joins them inside the error object."""
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.retry_after = retry_after
        self.extra = dict(extra or {})

    def response(self) -> web.Response:
        """Return the answer; a 429 or 503 carries Retry-After in whole seconds, at least 1."""
        wait = self.retry_after
        if wait is None and self.status in (429, 503):
            wait = 5
        headers = {} if wait is None else {"Retry-After": str(max(1, round(wait)))}
        body = {"error": {"code": self.code, "message": self.message, **self.extra}}
        return json_response(body, status=self.status, headers=headers)


def json_response(
    body: object, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> web.Response:
    """Return a JSON answer that no cache keeps."""
    return web.Response(
        body=encode(body),
        status=status,
        content_type="application/json",
        headers={"Cache-Control": "no-store", **(headers or {})},
    )


def no_content() -> web.Response:
    """Return a 204."""
    return web.Response(status=204, headers={"Cache-Control": "no-store"})


def as_api_error(error: Exception, what: str) -> ApiError:
    """Turn any exception into the answer for it; an unknown one is logged and says nothing of its inside."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, web.HTTPException):
        code, message = _WORDS.get(error.status, ("error", error.reason or "The request was refused."))
        return ApiError(error.status, code, message)
    if isinstance(error, web.RequestPayloadError):
        return ApiError(400, "bad_request", "The body can’t be read to its end; send it whole and unpacked.")
    if isinstance(error, StoreFull):
        # Whoever looks after this machine reads its log, not the answers that others get.
        _log.warning("%s failed: %s", what, error.message)
    if isinstance(error, (StoreFull, TryLater)):
        return ApiError(503, error.code, error.message)
    if isinstance(error, BridgeError):
        # A room's own error may name the status and more fields of its answer.
        status = int(getattr(error, "status", 400))
        return ApiError(status, error.code, error.message, extra=getattr(error, "extra", None))
    _log.error("%s failed: %s", what, error, exc_info=error)
    return ApiError(500, "internal", "Something went wrong here; the log says what.")


def json_errors(prefix: str) -> Middleware:
    """Make a middleware that answers every failure below a path prefix in the one shape."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        if not request.path.startswith(prefix):
            return await handler(request)
        try:
            return await handler(request)
        except web.HTTPException as error:
            if error.status < 400:
                raise
            answer = as_api_error(error, request.path).response()
            if "Allow" in error.headers:
                answer.headers["Allow"] = error.headers["Allow"]
            return answer
        except ConnectionResetError:
            raise
        except Exception as error:
            return as_api_error(error, f"{request.method} {request.path}").response()

    return middleware
