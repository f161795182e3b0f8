"""Why a connection failed, in a few words that fit into a sentence's brackets."""

import errno

import aiohttp

from bridge_agent.base.errors import BridgeError

_MOST = 120
_BY_NUMBER = {
    errno.ECONNREFUSED: "nothing listens there",
    errno.ECONNRESET: "it broke the connection off",
    errno.EHOSTUNREACH: "no way leads there",
    errno.ENETUNREACH: "no way leads there",
    errno.ETIMEDOUT: "no answer in time",
}


def cause(error: Exception) -> str:
    """Return the cause of a failure below HTTP; the system's own words where there is no better one."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "its name is not known here"
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "it hung up without an answer"
    if isinstance(error, aiohttp.ClientPayloadError):
        return "its answer broke off"
    if isinstance(error, aiohttp.ClientResponseError):
        return "it does not speak HTTP"
    inner = error.__cause__ if isinstance(error.__cause__, (OSError, BridgeError)) else error
    if isinstance(inner, OSError) and inner.errno in _BY_NUMBER:
        return _BY_NUMBER[inner.errno]
    said = str(getattr(inner, "strerror", None) or "the connection broke off")
    return "".join(letter if letter.isprintable() else " " for letter in said)[:_MOST]
