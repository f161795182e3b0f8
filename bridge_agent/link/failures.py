"""Failures below HTTP, in words: no connection, no trust, no answer."""

import errno
import ssl

import aiohttp

from bridge_agent.base.errors import BridgeError
from bridge_agent.link.errors import ServerAway
from bridge_agent.protocol.text import clean

_CAUSES = {
    errno.ECONNREFUSED: "nothing listens there",
    errno.ECONNRESET: "it broke the connection off",
    errno.EHOSTUNREACH: "no way leads there",
    errno.ENETUNREACH: "no way leads there",
    errno.ETIMEDOUT: "no answer in time",
}


def worded(error: Exception, url: str) -> ServerAway:
    """Return what a failed call to `url` means for a person."""
    where = url.partition("/api/v1/")[0]
    if isinstance(error, (aiohttp.ClientConnectorCertificateError, ssl.CertificateError)):
        return ServerAway(
            f"The certificate of {where} can’t be verified, so nothing was sent; use the server’s http:// "
            "address on the local network, or name its certificate in BRIDGE_CA_FILE.",
            kind="tls_untrusted",
        )
    if isinstance(error, (aiohttp.ClientSSLError, ssl.SSLError)):
        return ServerAway(
            f"No secure connection to {where} comes about; it may speak plain HTTP there, so try the same "
            "address with http://."
        )
    # A body that breaks off is no answer; what is not HTTP is somebody else's.
    if isinstance(error, (aiohttp.InvalidURL, aiohttp.ClientResponseError, ValueError)) and not isinstance(
        error, OSError
    ):
        return ServerAway(
            f"What answered at {where} can’t be understood; check that it is the audiobook server’s address.",
            kind="not_a_server",
        )
    return ServerAway(
        f"The server at {where} can’t be reached ({_cause(error)}); check that it is on and in reach."
    )


def _cause(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "its name is not known here"
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "it hung up without an answer"
    if isinstance(error, aiohttp.ClientPayloadError):
        return "its answer broke off"
    inner = error.__cause__ if isinstance(error.__cause__, (OSError, BridgeError)) else error
    if isinstance(inner, OSError) and inner.errno in _CAUSES:
        return _CAUSES[inner.errno]
    text = getattr(inner, "strerror", None) or "the connection broke off"
    return clean(str(text), 120)
