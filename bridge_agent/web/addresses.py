"""Who is calling: an address for the failure limit, believed from a header only behind a named proxy."""

import ipaddress
from collections.abc import Sequence

from aiohttp import web

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def client_address(request: web.Request, trusted: Sequence[str]) -> str:
    """Return the caller's address: the peer's, or the nearest in X-Forwarded-For that is no proxy."""
    networks = [ipaddress.ip_network(name, strict=False) for name in trusted]
    peer = request.remote or ""
    if not _is_in(peer, networks):
        return peer
    hops = [hop.strip() for hop in ",".join(request.headers.getall("X-Forwarded-For", [])).split(",")]
    for hop in reversed([hop for hop in hops if hop]):
        if not _is_in(hop, networks):
            return hop if _parsed(hop) else peer
    return peer


def behind_proxy(request: web.Request, trusted: Sequence[str]) -> bool:
    """Tell whether a request came through a proxy that is believed."""
    return _is_in(request.remote or "", [ipaddress.ip_network(name, strict=False) for name in trusted])


def request_origin(request: web.Request, trusted: Sequence[str]) -> str:
    """Return the address under which a request was made: behind a believed proxy, what that says of it."""
    scheme, host = request.scheme, request.host
    if behind_proxy(request, trusted):
        said = request.headers.get("X-Forwarded-Proto", "").partition(",")[0].strip().lower()
        scheme = said if said in ("http", "https") else scheme
        host = request.headers.get("X-Forwarded-Host", host).partition(",")[0].strip() or host
    return f"{scheme}://{host}"


def counted_as(address: str) -> str:
    """Return what an address is counted under: itself, or for IPv6 its /64, which one household shares."""
    parsed = _parsed(address)
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.ip_network(f"{parsed}/64", strict=False))
    return address


def _parsed(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None


def _is_in(text: str, networks: Sequence[Network]) -> bool:
    address = _parsed(text)
    return address is not None and any(
        address in network for network in networks if network.version == address.version
    )
