"""GET /metrics: the Bridge in figures, as Prometheus text, from a registry of its own."""

import sqlite3
from typing import TYPE_CHECKING

from aiohttp import web

from bridge_agent import __version__
from bridge_agent.page.parts import Parts, parts_of
from bridge_agent.page.queries import sql
from bridge_agent.protocol.states import RunState

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

LINK_STATES = ("unpaired", "connecting", "online", "offline", "refused")


def add_routes(app: web.Application) -> None:
    """Add the route."""
    app.router.add_get("/metrics", get_metrics)


async def get_metrics(request: web.Request) -> web.StreamResponse:
    """Answer with all figures."""
    # A resting Bridge that nobody scrapes does not pay for the import.
    from prometheus_client import CollectorRegistry, generate_latest
    from prometheus_client.exposition import CONTENT_TYPE_LATEST

    parts = parts_of(request)
    counts, unreported = await parts.rooms().db.read(_counts)
    registry = CollectorRegistry(auto_describe=False)
    _fill_link(registry, parts)
    _fill_jobs(registry, parts, counts, unreported)
    return web.Response(body=generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})


def _counts(connection: sqlite3.Connection) -> tuple[dict[str, int], int]:
    counts = {str(row["state"]): int(row["jobs"]) for row in connection.execute(sql["counts"])}
    return counts, int(connection.execute(sql["unreported"]).fetchone()["jobs"])


def _fill_link(registry: "CollectorRegistry", parts: Parts) -> None:
    from prometheus_client import Gauge

    link, loops = parts.rooms().link, parts.loops.all()
    info = Gauge("bridge_info", "The Bridge's version.", ["version"], registry=registry)
    info.labels(__version__).set(1)
    up = Gauge("bridge_up_seconds", "Seconds since the start.", registry=registry)
    up.set((parts.clock.now() - parts.started_at).total_seconds())
    state = Gauge("bridge_link", "1 for the state that the link is in.", ["state"], registry=registry)
    for name in LINK_STATES:
        state.labels(name).set(link.state == name)
    if link.last_heartbeat_at is not None:
        beat = Gauge(
            "bridge_last_heartbeat_timestamp_seconds",
            "When the server last took a heartbeat, in seconds since 1970.",
            registry=registry,
        )
        beat.set(link.last_heartbeat_at.timestamp())
    broken = Gauge("bridge_loop_broken", "1 for a loop that has broken.", ["loop"], registry=registry)
    for loop in loops:
        broken.labels(loop.name).set(loop.broken)
    streams = Gauge("bridge_event_streams", "Pages that are open now.", registry=registry)
    streams.set(parts.events.listeners)


def _fill_jobs(registry: "CollectorRegistry", parts: Parts, counts: dict[str, int], unreported: int) -> None:
    from prometheus_client import Gauge

    rooms = parts.rooms()
    jobs = Gauge("bridge_jobs", "Jobs that this Bridge has claimed, by state.", ["state"], registry=registry)
    for state in RunState:
        jobs.labels(str(state)).set(counts.get(state, 0))
    left = Gauge("bridge_jobs_unreported", "Final reports that the server has not taken.", registry=registry)
    left.set(unreported)
    running = Gauge("bridge_lane_running", "Jobs that run in a lane.", ["lane"], registry=registry)
    limit = Gauge("bridge_lane_limit", "How many may run in a lane at once.", ["lane"], registry=registry)
    for lane in rooms.jobs.lanes():
        running.labels(lane["name"]).set(lane["running"])
        limit.labels(lane["name"]).set(lane["limit"])
    seen = Gauge(
        "bridge_library_ok", "1 for a library that this machine sees.", ["library"], registry=registry
    )
    for view in rooms.mappings.views():
        seen.labels(str(view.library_id)).set(view.ok)
