"""What the doctor looks at of a Dask cluster: whether its scheduler answers and has workers for speech."""

from bridge_agent.doctor.findings import Finding, from_message, ok
from bridge_agent.doctor.probes import Probes


async def cluster(address: str, probes: Probes) -> list[Finding]:
    """Examine a cluster by its scheduler's address; the Bridge works without it, though not as fast."""
    places, why = await probes.cluster(address)
    if why is not None:
        return [from_message("cluster_away", "warn", why)]
    parts = "one part" if places == 1 else f"{places} parts"
    return [ok("cluster_ok", f"The cluster at {address} answers and hears {parts} at once.")]
