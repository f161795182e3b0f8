"""The server's certificate: one of its own making, kept in the data folder, or the one of the settings."""

import ssl
from pathlib import Path

from bridge_agent.base.clock import Clock
from bridge_agent.base.errors import SettingsError
from bridge_agent.web import certificates

Context = ssl.SSLContext | None

_NAME = "Bridge home server"


def context(tls: str, folder: Path, clock: Clock) -> Context:
    """Return the context for the setting `tls`, None for off; touches the disk.

    Raises SettingsError for files that can't be used.
    """
    if tls == "off":
        return None
    if tls == "self-signed":
        certificate, key = certificates.own(folder, clock, _NAME)
    else:
        certificate, key = (Path(part.strip()).expanduser() for part in tls.split(";"))
    try:
        return certificates.context(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise SettingsError(
            f"BRIDGE_HOME_TLS names {certificate} and {key}, which can’t be used "
            f"({error.strerror or error}); mend the paths or the files."
        ) from error
