"""Which certificates the Bridge trusts: the system's, and those of BRIDGE_CA_FILE."""

import ssl
from typing import Literal

from bridge_agent.base.threads import files
from bridge_agent.link.errors import ServerAway

_LIMIT_S = 20.0


Trust = ssl.SSLContext | Literal[True]
"""What aiohttp verifies with; True is its own context, which trusts what the system does."""


async def trust(ca_file: str) -> Trust:
    """Return what all calls verify with; verification is never switched off (R-020).

    Without a file of one's own aiohttp's context serves: a second one would hold the system's certificates
    in memory twice, some 8 MiB. Raises ServerAway when the file of certificates can't be used.
    """
    if not ca_file:
        return True
    try:
        return await files.call(_LIMIT_S, _context, ca_file)
    except (OSError, ssl.SSLError, TimeoutError) as error:
        reason = getattr(error, "strerror", None) or "it holds no certificate in PEM form"
        raise ServerAway(
            f"The file of certificates that BRIDGE_CA_FILE names, {ca_file}, can’t be used ({reason}); mend "
            "the setting and start again.",
            kind="tls_untrusted",
        ) from error


def _context(ca_file: str) -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.load_verify_locations(ca_file)
    # Home-made certificates seldom keep every rule of RFC 5280, and often are their own authority.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context
