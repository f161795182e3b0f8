"""What every page is given: who looks, what the footer says, the words for what was just done."""

import socket
from typing import Any

from aiohttp import web

from bridge_agent.page import status, views_settings
from bridge_agent.page.access import visitor_of
from bridge_agent.page.gates import form_token
from bridge_agent.page.links import local_path
from bridge_agent.page.parts import parts_of, rooms_of
from bridge_agent.web.rendering import render

SAID = {
    "paired": "Paired. The first heartbeat is on its way.",
    "unpaired": "Unpaired here. The server’s console still shows this Bridge until it is unpaired there too.",
    "cancelled": "The job is being stopped; the server hears of it as soon as it has.",
    "resumed": "The job is tried again now.",
    "finished": "That job had ended already; nothing was changed.",
    "mapped": "Kept. The check of this folder is below.",
    "cleared": "The mapping is gone; the library is looked for at the server’s own path.",
    "checked": "Checked just now. Nothing was written.",
    "paused": "Paused: it ends what it has and gets nothing more.",
    "working": "It gets work again with its next question.",
    "revoked": "Revoked: it is refused at its next call, and what it had is free for others.",
    "gone": "That worker was gone already; nothing was changed.",
    "password": "The password is set. Other browsers have to sign in with it.",
    "no-password": "The password is gone. The page opens without one, on this machine alone.",
}
"""What a page says after a form, by the word in its address; a closed list, so that no link can say more."""


def show(
    request: web.Request, template: str, place: str, title: str, code: int = 200, **more: object
) -> web.Response:
    """Answer with a page inside the common frame; `place` marks its entry in the navigation."""
    parts, rooms = parts_of(request), rooms_of(request)
    now = parts.clock.now()
    context: dict[str, Any] = {
        "place": place,
        "title": title,
        "now": now,
        "now_told": f"{now.astimezone():%H:%M:%S}",
        "csrf": form_token(request),
        "visitor": visitor_of(request).kind,
        "link": status.link_wire(rooms.link),
        "host": parts.settings.name or socket.gethostname(),
        "token_place": rooms.vault.describe(),
        "token_short": views_settings.short_place(rooms.vault.describe().kind),
        "up": (now - parts.started_at).total_seconds(),
        "started_at": parts.started_at,
        "notes": parts.notes,
        "said": SAID.get(request.query.get("said", ""), ""),
        "back": local_path(request.path) if request.method == "GET" else "/",
        "refresh": 0,
        "live": True,
        **more,
    }
    return render(request, template, context, status=code)
