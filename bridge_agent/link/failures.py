"""Failures below HTTP, in words: no connection, no trust, no answer."""

import ssl

import aiohttp

from bridge_agent.base.causes import cause
from bridge_agent.link.errors import ServerAway


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
        f"The server at {where} can’t be reached ({cause(error)}); check that it is on and in reach."
    )
