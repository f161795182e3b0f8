"""Refusals of this wire: a status, and `{"error": "<code>"}`."""

from aiohttp import web

from bridge_agent.base.errors import BridgeError
from bridge_agent.protocol.bridge import encode

JSON = {"Content-Type": "application/json; charset=utf-8", "Cache-Control": "no-store"}


class WireError(BridgeError):
    """The request was refused; see the code."""

    def __init__(self, status: int, code: str, *, retry_after: int | None = None) -> None:
        """Hold the answer's status and code."""
        super().__init__(code)
        self.status = status
        self.code = code
        self.retry_after = retry_after

    def response(self) -> web.Response:
        """Return the answer."""
        answer = answered({"error": self.code}, self.status)
        if self.retry_after is not None:
            answer.headers["Retry-After"] = str(self.retry_after)
        return answer


def not_found() -> WireError:
    """Return the one answer for what is not the caller's, unknown, in another state or ended."""
    return WireError(404, "job_not_found")


def answered(body: object, status: int = 200) -> web.Response:
    """Return a JSON answer."""
    return web.Response(body=encode(body), status=status, headers=JSON)
