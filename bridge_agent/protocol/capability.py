"""What a client may offer its user, read from `GET /server` (R-045)."""

from collections.abc import Mapping
from typing import Any


def offers(server: Mapping[str, Any], feature: str) -> bool:
    """Tell whether a server's Bridge is there for a feature: the flag is on and the feature is named.

    A feature that is not advertised is off even while the flag is on; so is everything in an answer that
    names neither.
    """
    if not server.get("capabilities", {}).get("bridge"):
        return False
    return feature in server.get("bridge", {}).get("features", [])
