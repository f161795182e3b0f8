"""What the doctor looks at between this machine and the server: name, certificate, redirects, clock."""

import ipaddress
from collections.abc import Sequence
from urllib.parse import urlsplit

import msgspec

from bridge_agent.base.clock import Clock, unix_time
from bridge_agent.base.errors import BridgeError
from bridge_agent.base.threads import ThreadCalls
from bridge_agent.doctor.findings import Finding, bad, from_message, ok, warn
from bridge_agent.doctor.probes import Probes
from bridge_agent.link import answers
from bridge_agent.link.answers import Answer
from bridge_agent.link.errors import ServerAway
from bridge_agent.protocol.bridge import API
from bridge_agent.protocol.text import clean

LIMIT_S = 5.0
_SKEW_WARN_S = 60.0
_SKEW_BAD_S = 24 * 3600.0
_names = ThreadCalls("doctor names", most_stuck=4)


class _Said(msgspec.Struct):
    name: str
    version: str


async def server(url: str, ca_file: str, clock: Clock, probes: Probes) -> list[Finding]:
    """Examine the way to a server: each step that fails ends it, since the next ones stand on it."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    named, addresses = await _name(host, port, probes)
    if named.level == "bad":
        return [named]
    began = clock.now()
    try:
        answer = await probes.fetch(f"{url}{API}/server", ca_file)
    except ServerAway as away:
        return [named, from_message(_code(away), "bad", away.message)]
    findings = [named, *_encryption(parts.scheme, host, addresses), _judge(answer, url)]
    middle = unix_time(began) / 2 + unix_time(clock.now()) / 2
    return [*findings, *_skew(answer, middle)]


def _code(away: ServerAway) -> str:
    return "server_unreachable" if away.kind == "unreachable" else away.kind


async def _name(host: str, port: int, probes: Probes) -> tuple[Finding, Sequence[str]]:
    """Look the server's host up."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        pass
    else:
        return ok("dns_unneeded", f"The server is named by its address {host}, so no name is looked up."), [
            host
        ]
    try:
        found = await _names.call(LIMIT_S, probes.addresses_of, host, port)
    except (TimeoutError, BridgeError):
        why = f"no answer within {LIMIT_S:g} s"
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or "it can’t be looked up"
    else:
        return ok("dns_ok", f"The server’s name {host} stands for {', '.join(found[:4])}."), found
    advice = "Check the name and this machine’s DNS, or use the server’s IP address instead."
    return bad("dns_failed", f"The server’s name {host} is not known here ({why}).", advice), []


def _encryption(scheme: str, host: str, addresses: Sequence[str]) -> list[Finding]:
    if scheme == "https":
        return [ok("tls_ok", f"The certificate of {host} is trusted here.")]
    if any(_is_public(address) for address in addresses):
        return [
            warn(
                "plain_http",
                f"The way to {host} leaves your network unencrypted, the Bridge’s token with it.",
                "Use the server’s https:// address, or its address at home.",
            )
        ]
    return [ok("plain_http_at_home", "The way to the server is plain HTTP within your own network.")]


def _is_public(address: str) -> bool:
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_global
    except ValueError:
        return False


def _judge(answer: Answer, url: str) -> Finding:
    """Say what the answer to GET /server means."""
    if 300 <= answer.status < 400:
        return from_message("redirected", "bad", answers.redirected(answer).message)
    if answer.status == 429 or answer.status >= 500:
        away = answers.busy_or_broken(answer)
        return from_message(away.kind, "warn" if away.kind == "busy" else "bad", away.message)
    try:
        said = msgspec.json.decode(answer.body, type=_Said) if answer.status == 200 else None
    except (msgspec.DecodeError, UnicodeDecodeError):
        said = None
    if said is None:
        return from_message("not_a_server", "bad", answers.not_this_api(answer).message)
    name, version = clean(said.name, 100), clean(said.version, 40)
    return ok("server_ok", f"The server “{name}” (version {version}) answers at {url}.")


def _skew(answer: Answer, now: float) -> list[Finding]:
    """Compare this machine's clock with the server's; a web page's clock says nothing."""
    theirs = answer.date()
    if theirs is None or answer.is_page:
        return []
    # The header is cut to whole seconds: half a one is what it is off on average.
    skew = now - (unix_time(theirs) + 0.5)
    if abs(skew) < _SKEW_WARN_S:
        return [ok("clock_ok", "This machine’s clock and the server’s agree.")]
    way = "ahead of" if skew > 0 else "behind"
    sentence = f"This machine’s clock is {_spoken(abs(skew))} {way} the server’s."
    advice = "Let both machines set their clocks by the network; until then times on the pages are off."
    if abs(skew) < _SKEW_BAD_S:
        return [warn("clock_skew", sentence, advice)]
    return [bad("clock_skew", sentence, f"{advice} Certificates count as expired or not yet valid, too.")]


def _spoken(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 2 * 3600:
        return f"{seconds / 60:.0f} min"
    if seconds < 2 * 86400:
        return f"{seconds / 3600:.0f} h"
    return f"{seconds / 86400:.0f} days"
