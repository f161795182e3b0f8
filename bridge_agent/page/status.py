"""The status as the API tells it: one plain dict of link, libraries, lanes and jobs (R-047)."""

from datetime import datetime
from typing import Any

from bridge_agent import __version__
from bridge_agent.base.clock import to_text
from bridge_agent.link.link import Link
from bridge_agent.page.parts import Parts
from bridge_agent.protocol.bridge import plain
from bridge_agent.worker_api.opening import Workers


def wire(parts: Parts) -> dict[str, Any]:
    """Return the answer of GET /api/status; raises ApiError 503 before the rooms are open."""
    rooms = parts.rooms()
    return {
        "version": __version__,
        "link": link_wire(rooms.link),
        "libraries": [plain(view) for view in rooms.mappings.views()],
        "lanes": rooms.jobs.lanes(),
        "jobs": rooms.jobs.view(),
        "workers": [] if parts.workers is None else workers_wire(parts.workers),
        "ui_url": parts.settings.public_url or None,
    }


def link_wire(link: Link) -> dict[str, Any]:
    """Return the link as the API tells it."""
    return {
        "state": str(link.state),
        "reason": link.reason or None,
        "server_url": link.server_url or None,
        "server_name": link.server_name or None,
        "server_id": link.server_id or None,
        "online": link.online,
        "last_heartbeat_at": _text(link.last_heartbeat_at),
        "next_try_at": _text(link.next_try_at),
    }


def workers_wire(workers: Workers) -> list[dict[str, Any]]:
    """Return the workers as the API tells them: as in the heartbeat, with what only this page needs."""
    return [
        {
            "id": view.id,
            "name": view.name,
            "state": view.state,
            "reason": view.reason or None,
            "model": view.model,
            "engine": view.engine or None,
            "device": view.device or None,
            "job_id": told.job_id,
            "seconds_per_second": view.speed or None,
            "parts_done": view.parts_done,
            "on": [{"title": each.title, "part": each.number + 1} for each in view.on],
            "created_at": view.created_at,
            "last_seen_at": view.last_seen_at,
        }
        for view, told in zip(workers.service.workers(), workers.statuses(), strict=True)
    ]


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else to_text(moment)
