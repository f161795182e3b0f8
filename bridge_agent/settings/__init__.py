"""Settings: one frozen object a command; flag > environment > file > default, each value knowing its origin.

A name in the environment is the prefix and the name in capitals (`BRIDGE_LISTEN`); each secret also as
`…_FILE`; an empty value counts as unset. The file is `bridge.toml` (`home.toml` for the home server) in the
data folder, the same names in lower case without the prefix.
"""

from bridge_agent.settings.commands import (
    BridgeSettings,
    HomeSettings,
    WorkerSettings,
    warn_of_unknown,
)
from bridge_agent.settings.loading import Origin, Settings
from bridge_agent.settings.values import Address, NamedFolder, is_loopback_name

__all__ = [
    "Address",
    "BridgeSettings",
    "HomeSettings",
    "NamedFolder",
    "Origin",
    "Settings",
    "WorkerSettings",
    "is_loopback_name",
    "warn_of_unknown",
]
