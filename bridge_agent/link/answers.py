"""Reading the server's answers: which one is the API's own, and what every other one means.

An answer that is not this API's (a captive portal's page, a proxy's error, a redirect) says nothing about the
token or the job, whatever its status (settled point 10): it counts as the server being away.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import NoReturn, TypeVar

import msgspec

from bridge_agent.base.clock import unix_time
from bridge_agent.link.errors import NoHeartbeat, NotHeld, Rejected, ServerAway, TokenRefused
from bridge_agent.protocol.bridge import ErrorAnswer, ErrorBody, decode_loosely
from bridge_agent.protocol.text import clean

T = TypeVar("T")

_MESSAGE_BYTES = 300
_UNKNOWN_ROUTE = (404, 405)


@dataclass(frozen=True)
class Answer:
    """One answer as it came: status, headers, the whole body, and the address that was called."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str

    @property
    def is_page(self) -> bool:
        """Whether the body is a web page, which this API never answers."""
        kind = self.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        start = self.body[:200].lstrip().lower()
        return kind in ("text/html", "application/xhtml+xml") or start.startswith((b"<!doctype", b"<html"))

    @property
    def where(self) -> str:
        """The called address without its query, for people."""
        return self.url.partition("?")[0]

    def error(self) -> ErrorBody | None:
        """Return the error where the body has this API's error shape."""
        try:
            return decode_loosely(self.body, ErrorAnswer).error
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None

    def date(self) -> datetime | None:
        """Return what the server's clock said, where it said it."""
        try:
            moment = parsedate_to_datetime(self.headers.get("Date", ""))
        except (TypeError, ValueError):
            return None
        return moment if moment.tzinfo is not None else None


def value(answer: Answer, kind: type[T]) -> T:
    """Return a 200's body as a message; raises what `fail` raises for anything else."""
    if answer.status != HTTPStatus.OK:
        fail(answer)
    try:
        return decode_loosely(answer.body, kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise not_this_api(answer) from error


def speaks_of(answer: Answer, kind: type[msgspec.Struct]) -> bool:
    """Tell whether a 200's JSON object is empty or has a field of a message, all of whose fields may lack.

    Some other machine's `{"status": "sign in"}` must not pass for the server having taken a report.
    """
    body = _json(answer)
    return isinstance(body, dict) and (not body or any(name in body for name in kind.__struct_fields__))


def fail(answer: Answer, route_may_be_missing: bool = False) -> NoReturn:
    """Raise what an answer other than the wanted one means.

    TokenRefused, NotHeld and NoHeartbeat for this API's own words; ServerAway for redirects, 429, 5xx and
    whatever is not this API's; Rejected for the other refusals. With `route_may_be_missing` a 404 or 405
    is Rejected whatever its body.
    """
    if 300 <= answer.status < 400:
        raise redirected(answer)
    if answer.status == HTTPStatus.TOO_MANY_REQUESTS or answer.status >= 500:
        raise busy_or_broken(answer)
    error = answer.error() or _flat(answer)
    if error is not None:
        _refuse(answer.status, error)
    if answer.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        raise Rejected(413, "too_large", "The server takes nothing this large; raise its limit for uploads.")
    if answer.status in _UNKNOWN_ROUTE and (route_may_be_missing or not answer.is_page):
        message = said(answer) or "The server does not know this request; update the server."
        raise Rejected(answer.status, "not_found", message)
    if 400 <= answer.status < 500 and answer.status != HTTPStatus.UNAUTHORIZED and (text := said(answer)):
        raise Rejected(answer.status, "refused", text)
    raise not_this_api(answer)


def _refuse(status: int, error: ErrorBody) -> NoReturn:
    if status == HTTPStatus.UNAUTHORIZED:
        raise TokenRefused
    if status == HTTPStatus.CONFLICT and error.code == NotHeld.code:
        raise NotHeld(error.state)
    if status == HTTPStatus.CONFLICT and error.code == NoHeartbeat.code:
        raise NoHeartbeat
    raise Rejected(status, clean(error.code, 64), tidy(error.message) or "The server refused the request.")


def _flat(answer: Answer) -> ErrorBody | None:
    """Return a conflict of a server whose errors are flat, `{"error": "not_held", "message": …}` (R-019).

    Of conflicts alone: what refuses the token for good has to have this API's own shape.
    """
    if answer.status != HTTPStatus.CONFLICT:
        return None
    body = _json(answer)
    if not isinstance(body, dict) or body.get("error") not in (NotHeld.code, NoHeartbeat.code):
        return None
    code, state = body["error"], body.get("state")
    return ErrorBody(code=code, state=state if isinstance(state, str) else None)


def said(answer: Answer) -> str | None:
    """Return the server's own message out of a JSON body of any shape, cleaned and cut; None without one."""
    body = _json(answer)
    if not isinstance(body, dict):
        return None
    inner = body.get("error")
    candidates = [inner.get("message")] if isinstance(inner, dict) else []
    candidates += [body.get("message"), body.get("detail"), inner]
    return next((tidy(text) for text in candidates if isinstance(text, str) and tidy(text)), None)


def _json(answer: Answer) -> object:
    """Return a body as JSON of any shape; None where it is none."""
    try:
        body: object = msgspec.json.decode(answer.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return body


def tidy(text: str) -> str:
    """Return a text from outside as one short line, without control characters or others that hide."""
    shown = "".join(c if c.isprintable() else " " for c in text[:_MESSAGE_BYTES])
    return " ".join(clean(shown, _MESSAGE_BYTES).split())


def redirected(answer: Answer) -> ServerAway:
    """Word a redirect, naming where it led."""
    location = tidy(answer.headers.get("Location", ""))
    led = f" to {location}" if location else ""
    return ServerAway(
        f"The address {answer.where} leads elsewhere{led} instead of answering; sign in to this network if "
        "it asks for that, or pair with the address it leads to.",
        kind="redirected",
        location=location or None,
    )


def busy_or_broken(answer: Answer) -> ServerAway:
    """Word a 429 or a 5xx, with how long the server asked to be left alone."""
    pause = retry_after(answer)
    error = answer.error()
    if error is not None and error.code == "store_full":
        return ServerAway(
            "The server’s disk is full; free some space there, and the Bridge goes on by itself.",
            pause,
            kind="busy",
        )
    if answer.status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE):
        return ServerAway(
            f"The server is busy (status {answer.status}); the Bridge tries again by itself.",
            pause,
            kind="busy",
        )
    return ServerAway(
        f"The server has a problem of its own (status {answer.status}); look at its log if that stays so. "
        "The Bridge tries again by itself.",
        pause,
        kind="server_error",
    )


def not_this_api(answer: Answer) -> ServerAway:
    """Word an answer that no audiobook server gives."""
    what = "a web page" if answer.is_page else "something else"
    return ServerAway(
        f"Instead of the audiobook server {what} answered at {answer.where} (status {answer.status}): a "
        "login page of this network or a proxy may be in between. Open that address in a browser to see it; "
        "the Bridge tries again by itself.",
        kind="not_a_server",
    )


def retry_after(answer: Answer) -> float | None:
    """Return the seconds of a Retry-After, given as seconds or as a date; None without a usable one."""
    text = answer.headers.get("Retry-After", "").strip()
    if text.isascii() and text.isdigit() and len(text) < 9:
        return float(text)
    try:
        until = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    # A date counts from the server's own clock: ours may be wrong.
    sent = answer.date()
    if sent is None or until.tzinfo is None:
        return None
    return max(0.0, unix_time(until) - unix_time(sent))
