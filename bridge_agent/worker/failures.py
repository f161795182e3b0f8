"""Failures below HTTP, in words: no connection, not the pinned certificate, no answer."""

import errno
import ssl

import aiohttp

from bridge_agent.base.errors import BridgeError
from bridge_agent.protocol.text import clean
from bridge_agent.worker.errors import BridgeAway, WrongCertificate

_CAUSES = {
    errno.ECONNREFUSED: "nothing listens there",
    errno.ECONNRESET: "it broke the connection off",
    errno.EHOSTUNREACH: "no way leads there",
    errno.ENETUNREACH: "no way leads there",
    errno.ETIMEDOUT: "no answer in time",
}


def worded(error: Exception, where: str) -> BridgeAway:
    """Return what a failed question to an address means for a person."""
    if isinstance(error, aiohttp.ServerFingerprintMismatch):
        return WrongCertificate(
            f"The certificate at {where} is not the pinned one, so nothing was sent; take "
            "BRIDGE_WORKER_FINGERPRINT from a new invitation on the Bridge’s page."
        )
    if isinstance(error, (aiohttp.ClientConnectorCertificateError, ssl.CertificateError)):
        return WrongCertificate(
            f"The certificate of {where} can’t be verified, so nothing was sent; set "
            "BRIDGE_WORKER_FINGERPRINT to the one that the invitation on the Bridge’s page shows."
        )
    if isinstance(error, (aiohttp.ClientSSLError, ssl.SSLError)):
        return BridgeAway(
            f"No secure connection to {where} comes about; check whether BRIDGE_WORKER_URL begins with "
            "https:// as in the invitation."
        )
    return BridgeAway(f"The Bridge at {where} can’t be reached ({_cause(error)}); check that it is on.")


def _cause(error: Exception) -> str:
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
    if isinstance(inner, OSError) and inner.errno in _CAUSES:
        return _CAUSES[inner.errno]
    return clean(str(getattr(inner, "strerror", None) or "the connection broke off"), 120)
