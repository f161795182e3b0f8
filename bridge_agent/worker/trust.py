"""Whom a worker speaks to: the pinned certificate alone, else what the system or BRIDGE_CA_FILE trusts."""

import ssl
from urllib.parse import urlsplit

import aiohttp

from bridge_agent.base.errors import SettingsError
from bridge_agent.settings import WorkerSettings, is_loopback_name

Trust = ssl.SSLContext | aiohttp.Fingerprint | bool


def trust(settings: WorkerSettings) -> Trust:
    """Return what every connection is checked with before anything is sent; touches the disk.

    Raises SettingsError.
    """
    if settings.fingerprint:
        if not settings.url.startswith("https://"):
            raise SettingsError(
                "BRIDGE_WORKER_FINGERPRINT pins a certificate, but BRIDGE_WORKER_URL begins with http://; "
                "take both from the invitation on the Bridge’s page."
            )
        return aiohttp.Fingerprint(bytes.fromhex(settings.fingerprint))
    if not settings.ca_file:
        return True
    try:
        context = ssl.create_default_context()
        context.load_verify_locations(settings.ca_file)
    except (OSError, ssl.SSLError) as error:
        raise SettingsError(
            f"BRIDGE_CA_FILE names {settings.ca_file}, which can’t be used ({error}); mend the path "
            "or the file."
        ) from error
    # Home-made certificates seldom keep every rule of RFC 5280, and often are their own authority.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context


def in_clear(url: str) -> bool:
    """Tell whether the token and the words go over the network for everybody to read."""
    return url.startswith("http://") and not is_loopback_name(urlsplit(url).hostname or "")
