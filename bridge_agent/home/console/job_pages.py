"""The jobs: the live list, one job, and what an admin does with them."""

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlencode

from aiohttp import web

from bridge_agent.home.bridge_jobs import Finished, NoSuchJob
from bridge_agent.home.console.access import takes_page
from bridge_agent.home.console.asking import NotAsked, ask
from bridge_agent.home.console.pages import go, render
from bridge_agent.home.console.results import compared_files
from bridge_agent.home.console.shared import library_names, open_jobs
from bridge_agent.home.console.views_jobs import job_view, jobs_sentence
from bridge_agent.home.job import Job
from bridge_agent.home.keys import HOME
from bridge_agent.protocol.states import JobState
from bridge_agent.web.bodies import id_in_path

_PAGE = 25
_FAR = (1 << 63) - 1


@dataclass(frozen=True)
class Filter:
    """Which jobs are listed."""

    state: str
    library: int | None
    before: int | None

    def link(self, **changed: object) -> str:
        """Return the query of this list with something changed; another choice begins at the newest."""
        wanted = {"state": self.state, "library": self.library, "before": None, **changed}
        query = urlencode({name: value for name, value in wanted.items() if value})
        return f"?{query}" if query else ""


def filter_of(request: web.Request) -> Filter:
    """Read the list's choices from the query; what is none of them counts as not chosen."""
    state = request.query.get("state", "")
    library, before = _chosen_id(request, "library"), _chosen_id(request, "before")
    known = state in JobState._value2member_map_ or state == "open"
    return Filter(state if known else "", library, before)


def _chosen_id(request: web.Request, name: str) -> int | None:
    text = request.query.get(name, "")
    return min(int(text), _FAR) or None if text.isascii() and text.isdigit() and len(text) < 100 else None


@takes_page(admin=True)
async def show_all(request: web.Request) -> web.StreamResponse:
    """GET /jobs."""
    home, chosen = request.app[HOME], filter_of(request)
    bridge = await home.bridge.view()
    names, now = library_names(home), home.clock.now()
    page = await home.jobs.list(
        state=chosen.state or None, library_id=chosen.library, before=chosen.before, limit=_PAGE
    )
    link: Callable[..., str] = chosen.link
    return render(
        request,
        "jobs.html",
        {
            "title": "Jobs",
            "place": "jobs",
            "live": "job bridge",
            "state": jobs_sentence(await open_jobs(home)),
            "jobs": [job_view(job.wire(), names, bridge, now) for job in page.jobs],
            "libraries": names,
            "filter": chosen,
            "before": chosen.before,
            "next_before": page.next_before,
            "query": link,
        },
    )


@takes_page(admin=True)
async def show(request: web.Request) -> web.StreamResponse:
    """GET /jobs/{id}."""
    home, job = request.app[HOME], await _job(request)
    bridge = await home.bridge.view()
    return render(
        request,
        "job.html",
        {
            "title": f"Job {job.id}",
            "place": "jobs",
            "live": "job bridge",
            "job": job_view(job.wire(), library_names(home), bridge, home.clock.now()),
            "files": compared_files(job.kind, job.result),
            "artifacts": await home.artifacts.list(job.id),
        },
    )


@takes_page(admin=True)
async def cancel(request: web.Request) -> web.StreamResponse:
    """POST /jobs/{id}/cancel (R-071, R-072)."""
    id = id_in_path(request)
    try:
        job = await request.app[HOME].jobs.cancel(id)
    except NoSuchJob as error:
        raise web.HTTPNotFound from error
    except Finished:
        return go(request, f"/jobs/{id}", said="finished")
    return go(request, f"/jobs/{id}", said="cancelled" if job.ended else "cancel-asked")


@takes_page(admin=True)
async def again(request: web.Request) -> web.StreamResponse:
    """POST /jobs/{id}/again: the same anew, which uses what is finished (settled point 8)."""
    job = await _job(request)
    try:
        new, code = await ask(request.app[HOME], job.kind, job.library_id, job.path, job.params, job.priority)
    except NotAsked as error:
        return go(request, f"/jobs/{job.id}", said=error.code)
    return go(request, f"/jobs/{new.id}", said="again" if code == "queued" else code)


async def _job(request: web.Request) -> Job:
    try:
        return await request.app[HOME].jobs.get(id_in_path(request))
    except NoSuchJob as error:
        raise web.HTTPNotFound from error


def add_routes(app: web.Application) -> None:
    """Add the pages of the jobs."""
    app.router.add_get("/jobs", show_all)
    app.router.add_get("/jobs/{id}", show)
    app.router.add_post("/jobs/{id}/cancel", cancel)
    app.router.add_post("/jobs/{id}/again", again)
