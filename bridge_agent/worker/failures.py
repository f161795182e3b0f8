"""Failures below HTTP, in words: no connection, not the pinned certificate, no answer."""

import ssl

import aiohttp

from bridge_agent.base.causes import cause
from bridge_agent.worker.errors import BridgeAway, WrongCertificate

_NOT_TLS = frozenset({"HTTP_REQUEST", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL", "WRONG_VERSION_NUMBER"})


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
        return _insecure(error, where)
    return BridgeAway(f"The Bridge at {where} can’t be reached ({cause(error)}); check that it is on.")


def _insecure(error: Exception, where: str) -> BridgeAway:
    inner = error.__cause__ if isinstance(error.__cause__, ssl.SSLError) else error
    reason = str(getattr(inner, "reason", None) or "")
    if reason in _NOT_TLS:
        return BridgeAway(
            f"What listens at {where} does not speak https; begin BRIDGE_WORKER_URL with http:// if the "
            "invitation does, else that port is another program’s: check it against the invitation."
        )
    why = reason.replace("_", " ").lower() or cause(error)
    return BridgeAway(
        f"No secure connection to {where} comes about ({why}); check the address against the invitation on "
        "the Bridge’s page."
    )
