"""What the doctor looks at of the libraries: does this machine see each of them now."""

import asyncio
from pathlib import Path

from bridge_agent.doctor.findings import Finding, bad, from_message, ok, warn
from bridge_agent.doctor.probes import Probes
from bridge_agent.doctor.state import State
from bridge_agent.mapping.sight import Sight
from bridge_agent.protocol.bridge import Library


async def libraries(state: State, probes: Probes) -> list[Finding]:
    """Look at the root of every library that the server listed last; nothing is written."""
    if state.pairing is None:
        return []
    listed = state.pairing.libraries
    if not listed:
        return [
            warn(
                "no_libraries",
                "The server has listed no library.",
                "Add one in the server’s console; the Bridge learns of it with its next heartbeat.",
            )
        ]
    return list(await asyncio.gather(*(_library(library, state, probes) for library in listed)))


async def _library(library: Library, state: State, probes: Probes) -> Finding:
    mapped = state.kept.paths.get(library.id)
    path = mapped or library.root
    seen = await probes.look(Path(path))
    place = f"The library “{library.name}” is {path} here"
    if seen.why is not None:
        return bad(
            "library_not_seen", f"This machine does not see “{library.name}”: {seen.why}.", _advice(seen)
        )
    if not seen.readable:
        return bad(
            "library_unreadable",
            f"{place}, but this user may not list it.",
            "Give the user that the Bridge runs as the right to read it.",
        )
    outcome = state.kept.outcomes.get(library.id)
    if outcome is not None and outcome.path == path and not outcome.ok and outcome.error is not None:
        return from_message("library_differs", "warn", f"{place}: {outcome.error}")
    if not seen.writable:
        return ok("library_read_only", f"{place} and can be read, not written, which is enough to verify.")
    return ok("library_seen", f"{place} and can be read.")


def _advice(seen: Sight) -> str:
    said = "Connect the drive or share it lies on, or set on the Bridge’s page where this machine sees it."
    if seen.hint is not None:
        return f"{seen.hint} {said}"
    if seen.deepest_existing is not None and seen.deepest_existing != str(seen.path):
        return f"What exists of that path is {seen.deepest_existing}. {said}"
    return said
