"""Which certificates the Bridge trusts: the system's, and those of BRIDGE_CA_FILE."""

import ssl

from bridge_agent.base.threads import files
from bridge_agent.link.errors import ServerAway

_LIMIT_S = 20.0


async def trust(ca_file: str) -> ssl.SSLContext:
    """Return the context for all calls; verification is never switched off (R-020).

    Raises ServerAway when the file of certificates can't be used.
    """
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
    if ca_file:
        context.load_verify_locations(ca_file)
        # Home-made certificates seldom keep every rule of RFC 5280, and often are their own authority.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context
