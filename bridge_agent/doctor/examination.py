"""The whole examination, part by part; a part that fails or takes too long hides nothing of the others."""

import asyncio
import logging
import sqlite3
from collections.abc import Awaitable

from bridge_agent.base.clock import Clock
from bridge_agent.base.threads import files as disk
from bridge_agent.doctor import cluster as clusters
from bridge_agent.doctor import libraries, machine, ports
from bridge_agent.doctor import server as way
from bridge_agent.doctor import state as kept
from bridge_agent.doctor.findings import Finding, bad, ok, warn
from bridge_agent.doctor.probes import Probes
from bridge_agent.doctor.state import Running, State
from bridge_agent.settings import BridgeSettings

PART_LIMIT_S = 30.0

_log = logging.getLogger(__name__)


async def run(
    settings: BridgeSettings,
    clock: Clock,
    probes: Probes | None = None,
    limit_s: float = PART_LIMIT_S,
    running: Running | None = None,
) -> list[Finding]:
    """Examine settings, machine, server, libraries, cluster; works beside a running Bridge and without one.

    Each part takes `limit_s` seconds at most, and all go on at once. Nothing is changed, but for a trial
    entry that goes into the keyring and out again. `running` is the Bridge that runs on this very folder.
    """
    probes = probes or Probes()
    state, told = await _state(settings)
    url = settings.server_url if state.pairing is None else state.pairing.server_url
    parts: list[tuple[str, Awaitable[list[Finding]]]] = [
        ("the settings", machine.settings_and_versions(settings, probes)),
        ("the data folder", machine.data_folder(settings, probes)),
        ("the page's port", ports.page(settings, probes, running)),
        (
            "the workers' port",
            ports.workers(settings, probes, running) if state.workers_invited else _nothing(),
        ),
        ("the keyring", machine.keyring(settings, probes)),
        ("the token", machine.token(settings, clock, state.pairing is not None)),
        ("the server", way.server(url, settings.ca_file, clock, probes) if url else _nothing()),
        ("the libraries", libraries.libraries(state, probes)),
        ("the cluster", clusters.cluster(settings.cluster, probes) if settings.cluster else _nothing()),
    ]
    found = await asyncio.gather(*(_guarded(what, part, limit_s) for what, part in parts))
    return [finding for findings in (*found[:6], told, *found[6:]) for finding in findings]


async def _guarded(what: str, part: Awaitable[list[Finding]], limit_s: float) -> list[Finding]:
    try:
        async with asyncio.timeout(limit_s):
            return await part
    except TimeoutError:
        return [warn("part_too_slow", f"Looking at {what} took over {limit_s:g} s.", "Try again later.")]
    except Exception as error:
        _log.exception("Looking at %s failed", what)
        sentence = f"Looking at {what} failed ({type(error).__name__})."
        return [warn("part_failed", sentence, "Look at the log for what went wrong there.")]


async def _state(settings: BridgeSettings) -> tuple[State, list[Finding]]:
    """Read what is kept, and tell of the pairing."""
    try:
        state = await disk.call(machine.LIMIT_S, kept.read, settings.data_dir)
    except (sqlite3.Error, ValueError, OSError) as error:
        why = str(error) or "no answer in time"
        sentence = f"The data file {settings.data_dir / kept.DATABASE} can’t be read ({why})."
        advice = "Start the Bridge: it keeps a damaged file aside, begins a new one and says so."
        return State(), [bad("store_unreadable", sentence, advice)]
    if state.pairing is not None:
        told = f"This Bridge is paired with “{state.pairing.server_name}” at {state.pairing.server_url}."
        return state, [ok("paired", told)]
    advice = "Make a code in the server’s console, then pair on the Bridge’s page or with bridge-agent pair."
    return state, [warn("not_paired", "This Bridge is not paired with a server.", advice)]


async def _nothing() -> list[Finding]:
    return []
