"""Failures below HTTP, in words: no connection, not the pinned certificate, no answer."""

import ssl

import aiohttp

from bridge_agent.base.causes import cause
from bridge_agent.worker.errors import BridgeAway, WrongCertificate


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
    return BridgeAway(f"The Bridge at {where} can’t be reached ({cause(error)}); check that it is on.")
