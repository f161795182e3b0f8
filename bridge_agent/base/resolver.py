"""Looking up names in daemon threads: a stuck look-up never keeps the process from ending (law 8)."""

import socket

from aiohttp.abc import AbstractResolver, ResolveResult

from bridge_agent.base.errors import BridgeError
from bridge_agent.base.threads import ThreadCalls

_LIMIT_S = 10.0
_names = ThreadCalls("names")


class DaemonResolver(AbstractResolver):
    """The system's own resolver, asked in a thread of its own with a limit."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return a host's addresses; raises OSError when there are none or the answer does not come."""
        try:
            found = await _names.call(
                _LIMIT_S, socket.getaddrinfo, host, port, family, socket.SOCK_STREAM, 0, socket.AI_ADDRCONFIG
            )
        except (TimeoutError, BridgeError) as error:
            raise OSError(None, "looking up its name takes too long") from error
        return [
            ResolveResult(
                hostname=host,
                host=_host(address),
                port=port,
                family=kind,
                proto=protocol,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for kind, _, protocol, _, address in found
            if kind in (socket.AF_INET, socket.AF_INET6)
        ]

    async def close(self) -> None:
        """Nothing to release."""


def _host(address: tuple[object, ...]) -> str:
    """Return the address as a host, the interface of a link-local IPv6 one included."""
    if len(address) == 4 and address[3]:
        return f"{address[0]}%{address[3]}"
    return str(address[0])
