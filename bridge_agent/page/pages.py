"""The pages that are only looked at: Now, Libraries, Jobs, a job, Settings, Diagnostics."""

import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import msgspec
from aiohttp import web

from bridge_agent.base import logs
from bridge_agent.base.clock import to_text
from bridge_agent.link import words
from bridge_agent.page import status, views_jobs, views_libraries, views_link, views_settings, views_speech
from bridge_agent.page.api_jobs import job_of
from bridge_agent.page.context import show
from bridge_agent.page.links import root_of
from bridge_agent.page.parts import Parts, Rooms, parts_of, rooms_of
from bridge_agent.page.password import PagePassword
from bridge_agent.page.views_speech import Under
from bridge_agent.protocol.bridge import encode
from bridge_agent.protocol.states import RunState
from bridge_agent.store.database import StoreFull

PAGE_LENGTH = 30


def add_routes(app: web.Application) -> None:
    """Add these routes."""
    router = app.router
    router.add_get("/", get_now)
    router.add_get("/libraries", get_libraries)
    router.add_get("/jobs", get_jobs)
    router.add_get("/jobs/{server_id}/{id}", get_job)
    router.add_get("/settings", get_settings)
    router.add_get("/diagnostics", get_diagnostics)


async def get_now(request: web.Request) -> web.StreamResponse:
    """Show how things are now; the form for pairing while there is no server."""
    return now_page(request)


def now_page(
    request: web.Request,
    code: int = 200,
    typed: Mapping[str, str] | None = None,
    trouble: str = "",
) -> web.Response:
    """Show Now, after a failed pairing with what was typed and what went wrong."""
    parts, rooms = parts_of(request), rooms_of(request)
    told = status.wire(parts)
    running, now = told["jobs"]["running"], parts.clock.now()
    link = told["link"]
    paired = link["state"] != "unpaired"
    names = library_names(rooms)
    full = any(StoreFull().message in loop.line for loop in parts.loops.all())
    head = views_link.head(link, running, now, full)
    libraries = [views_libraries.row(library) for library in told["libraries"]]
    return show(
        request,
        "now.html" if paired else "pair.html",
        "now",
        views_link.state_word(link["state"]),
        code,
        head=head,
        running=views_jobs.views(running, names, under_way(parts)),
        transcribes=_transcribes(told["lanes"]),
        recent=views_jobs.views(told["jobs"]["recent"], names),
        libraries=libraries,
        notice="" if link["reason"] == words.UNPAIRED else link["reason"],
        replaced=not views_link.is_copy(link),
        missing=views_libraries.missing(libraries) if link["state"] == "online" else "",
        lanes=told["lanes"],
        loops=loop_rows(request),
        typed=typed or {"server_url": parts.settings.server_url, "code": ""},
        trouble=trouble,
        refresh=0 if not paired and trouble else (5 if running or link["state"] == "connecting" else 30),
    )


async def get_libraries(request: web.Request) -> web.StreamResponse:
    """Show each library, where the server has it and where this machine sees it."""
    return libraries_page(request)


def libraries_page(
    request: web.Request, code: int = 200, wrong: Mapping[int, tuple[str, str]] | None = None
) -> web.Response:
    """Show Libraries; `wrong` holds what was typed for a library, and why it was not taken."""
    told = status.wire(parts_of(request))
    rows = [views_libraries.row(library) for library in told["libraries"]]
    mark, title, line = views_libraries.head(rows)
    if told["link"]["state"] == "unpaired":
        mark, title, line = (
            "off",
            "Not paired with a server yet.",
            "Its libraries are listed here once it is.",
        )
    return show(
        request,
        "libraries.html",
        "libraries",
        "Libraries",
        code,
        mark=mark,
        sentence=title,
        line=line,
        libraries=rows,
        wrong=dict(wrong or {}),
        back="/libraries",
    )


async def get_jobs(request: web.Request) -> web.StreamResponse:
    """Show the jobs that this Bridge has claimed, newest first."""
    rooms = rooms_of(request)
    state = request.query.get("state", "")
    state = state if state in views_jobs.STATES else ""
    before = request.query.get("before") or None
    page = await rooms.jobs.history(RunState(state) if state else None, before, PAGE_LENGTH)
    older = ""
    if page.get("next_before"):
        values = {"state": state, "before": page["next_before"]}
        older = urlencode({name: value for name, value in values.items() if value})
    return show(
        request,
        "jobs.html",
        "jobs",
        "Jobs",
        jobs=views_jobs.views(page["jobs"], library_names(rooms)),
        state=state,
        states=[(name, views_jobs.tag(name).word) for name in views_jobs.STATES],
        first_page=before is None,
        transcribes=_transcribes(rooms.jobs.lanes()),
        older=older,
    )


async def get_job(request: web.Request) -> web.StreamResponse:
    """Show a job with all its attempts, and the raw rows."""
    job = await job_of(request)
    names = library_names(rooms_of(request))
    attempts: list[dict[str, Any]] = job.get("attempts") or [job]
    parts = parts_of(request)
    seen = views_jobs.views(attempts, names)
    return show(
        request,
        "job.html",
        "jobs",
        seen[0].title,
        job=views_jobs.views([job], names, under_way(parts))[0],
        library=names.get(job["library_id"], f"Library {job['library_id']}"),
        attempts=seen,
        advice=views_jobs.advice(job),
        number=job["job_id"],
        path=job["path"],
        raw=pretty(job),
    )


async def get_settings(request: web.Request) -> web.StreamResponse:
    """Show the settings, the token's place, the password, unpairing and the log."""
    return await settings_page(request)


async def settings_page(request: web.Request, code: int = 200, trouble: str = "") -> web.Response:
    """Show Settings; `trouble` says why a new password was not taken."""
    parts, rooms = parts_of(request), rooms_of(request)
    password = PagePassword(parts.settings, rooms.db)
    return show(
        request,
        "settings.html",
        "settings",
        "Settings",
        code,
        settings=views_settings.rows(parts.settings),
        engine=views_speech.engine(parts.speech, parts.settings),
        no_engine=views_speech.no_engine(parts.speech, parts.settings),
        has_password=await password.is_set(),
        password_fixed=password.from_settings,
        loopback=parts.settings.listen.loopback,
        trouble=trouble,
        log=log_lines(),
        log_folder=str(parts.settings.data_dir / "logs"),
        strength=views_settings.strength_tag(rooms.vault.describe().strength),
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
    )


async def get_diagnostics(request: web.Request) -> web.StreamResponse:
    """Show what the doctor finds, what each loop does, and a text for a bug report."""
    parts = parts_of(request)
    findings = [] if parts.examine is None else await parts.examine()
    bad = [finding for finding in findings if finding["level"] == "bad"]
    warnings = [finding for finding in findings if finding["level"] == "warn"]
    return show(
        request,
        "diagnostics.html",
        "settings",
        "Diagnostics",
        findings=findings,
        mark="bad" if bad else "warn" if warnings else "ok",
        loops=loop_rows(request),
        report=report(request, findings),
    )


def report(request: web.Request, findings: list[dict[str, Any]]) -> str:
    """Return a text for a bug report: settings, status, findings, the log; secrets are not in it."""
    parts = parts_of(request)
    settings = {row.name: f"{row.value} ({row.tag.word})" for row in views_settings.rows(parts.settings)}
    told = {
        "at": to_text(parts.clock.now()),
        "status": status.wire(parts),
        "findings": findings,
        "loops": [f"{name}: {line}" for name, line, _, _ in loop_rows(request)],
        "settings": settings,
    }
    return logs.masks.hide(pretty(told)) + "\n\n" + "\n".join(log_lines()[-60:])


def pretty(body: object) -> str:
    """Write a body as JSON that a person can read."""
    return msgspec.json.format(encode(body), indent=2).decode()


def log_lines() -> list[str]:
    """Return the latest lines of the log."""
    return [
        f"{datetime.fromtimestamp(line.at, UTC).astimezone():%H:%M:%S} {line.level:<7} {line.text}"
        for line in logs.recent.lines
    ]


def loop_rows(request: web.Request) -> list[tuple[str, str, float, bool]]:
    """Return what each loop is doing: its name, its line, for how many seconds, whether it has broken."""
    parts = parts_of(request)
    now = parts.clock.monotonic()
    return [(loop.name, loop.line, now - loop.since, loop.broken) for loop in parts.loops.all()]


def under_way(parts: Parts) -> dict[str, Under]:
    """Return what the speech engine knows of running jobs; the first that has none waits for the model."""
    workers = [] if parts.workers is None else parts.workers.service.workers()
    hindered = {each.name: each.reason for each in workers if each.reason and each.state != "parked"}
    known = views_speech.under_way(parts.speech, hindered)
    coming = views_speech.download(parts.speech)
    if coming is not None:
        for job in parts.rooms().jobs.view()["running"]:
            if job["kind"] == views_jobs.TRANSCRIBE and job["state"] == "running":
                known.setdefault(f"{job['server_id']}/{job['job_id']}", coming)
    return known


def _transcribes(lanes: list[dict[str, Any]]) -> bool:
    return any(views_jobs.TRANSCRIBE in lane["kinds"] for lane in lanes)


def library_names(rooms: Rooms) -> dict[int, str]:
    """Return the libraries' names by id."""
    return {library.id: library.name for library in rooms.link.libraries}


def home_of(request: web.Request, path: str, said: str = "") -> web.HTTPSeeOther:
    """Return the answer that leads a browser to a page of this site after a form."""
    query = f"?said={said}" if said else ""
    return web.HTTPSeeOther(f"{root_of(request)}{path}{query}")
