"""What several pages ask of the home server: names of libraries, the latest jobs, how many are open."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bridge_agent.home.console.views_jobs import JobView, job_view
from bridge_agent.home.job import Job
from bridge_agent.store import Queries

if TYPE_CHECKING:
    from bridge_agent.home.app import HomeServer

_SQL = Queries(__package__, "console.sql")


def library_names(home: "HomeServer") -> dict[int, str]:
    """Return the names of all libraries by their ids."""
    return {library.id: library.name for library in home.library.libraries()}


async def latest_jobs(home: "HomeServer", bridge: Mapping[str, Any], most: int) -> list[JobView]:
    """Return the newest jobs as a page's side shows them."""
    page = await home.jobs.list(limit=most)
    names, now = library_names(home), home.clock.now()
    return [job_view(job.wire(), names, bridge, now) for job in page.jobs]


async def jobs_of_book(home: "HomeServer", library_id: int, path: str, most: int = 5) -> list[JobView]:
    """Return the newest jobs of one book."""
    await home.jobs.sweep_if_due()
    values = {"library_id": library_id, "path": path, "most": most}
    rows = await home.db.read(lambda c: c.execute(_SQL["jobs_of_book"], values).fetchall())
    bridge = await home.bridge.view()
    names, now = library_names(home), home.clock.now()
    return [job_view(Job.of(row).wire(), names, bridge, now) for row in rows]


async def open_jobs(home: "HomeServer") -> dict[str, int]:
    """Return how many jobs there are in each open state."""
    rows = await home.db.read(lambda c: c.execute(_SQL["open_jobs"]).fetchall())
    return {row["state"]: row["jobs"] for row in rows}
