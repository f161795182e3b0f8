"""The server's address as a person types it, made into the one that the Bridge calls (R-022)."""

import re
from urllib.parse import urljoin, urlsplit, urlunsplit

from yarl import URL

from bridge_agent.link.errors import PairFailed
from bridge_agent.protocol.bridge import API, is_web_address

_NEVER = re.compile(r"[\s\\\x00-\x20\x7f<>\"]")
_MOST = 2000


def server_address(typed: str) -> str:
    """Return the address trimmed, without query, fragment and last slash; a path is kept.

    Raises PairFailed 400 `bad_address` for what is no absolute http(s) URL. Touches no network.
    """
    text = typed.strip()
    if len(text) > _MOST or _NEVER.search(text) or not is_web_address(text) or not _can_be_called(text):
        raise PairFailed(
            400,
            "bad_address",
            "The address must be a whole one that begins with http:// or https://, like "
            "http://192.168.1.10:13390; copy it from the server’s console.",
        )
    parts = urlsplit(text)
    if parts.username is not None or parts.password is not None:
        raise PairFailed(
            400,
            "bad_address",
            "The address must not hold a user name or password; leave out what stands before the @.",
        )
    path = parts.path.rstrip("/")
    if path.endswith(API):
        path = path[: -len(API)].rstrip("/")
    return urlunsplit((parts.scheme, parts.netloc.lower(), path, "", ""))


def _can_be_called(text: str) -> bool:
    try:
        return bool(URL(text).host)
    except ValueError:
        return False


def base_of_redirect(called: str, location: str, path: str) -> str:
    """Return the address to try instead, given where the call of an address ending in `path` was sent."""
    try:
        parts = urlsplit(urljoin(called, location))
    except ValueError:
        return location
    kept = parts.path[: -len(path)] if parts.path.endswith(path) else parts.path
    return urlunsplit((parts.scheme, parts.netloc, kept.rstrip("/"), "", ""))
