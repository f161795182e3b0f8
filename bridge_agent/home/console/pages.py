"""Rendering a page of the console: what every template is given, and the ways from page to page."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import aiohttp_jinja2
from aiohttp import web

from bridge_agent.home.console import words
from bridge_agent.home.console.access import form_token, me
from bridge_agent.home.console.once import Once
from bridge_agent.home.console.said import said
from bridge_agent.home.keys import HOME

ONCE: web.AppKey[Once] = web.AppKey("console_once", Once)


def render(
    request: web.Request, template: str, context: Mapping[str, Any], *, status: int = 200
) -> web.Response:
    """Render a page that no cache keeps; `context` needs `title`, and may have `place`, `tab` and `live`."""
    home = request.app[HOME]
    now = home.clock.now()
    shared = {
        # An error page may be rendered before the links' own processor has run.
        "root": way_up(request),
        "server_name": home.settings.name,
        "me": me(request),
        "csrf": form_token(request),
        "said": said(request.query.get("said", "")),
        "place": "",
        "ago": lambda text: words.ago(words.moment(text), now),
        "day_and_time": lambda text: words.day_and_time(words.moment(text), now),
        "left": lambda text: words.left(words.moment(text), now),
    }
    response = aiohttp_jinja2.render_template(template, request, {**shared, **context}, status=status)
    response.headers["Cache-Control"] = "no-store"
    return response


def go(request: web.Request, to: str, **query: str) -> web.Response:
    """Send the reader on to another page (303), by a relative address that works below any sub-path.

    `to` begins with `/` and is this server's own.
    """
    path, mark, given = to.partition("?")
    asked = "&".join(part for part in (given if mark else "", urlencode(query)) if part)
    address = way_up(request) + path + (f"?{asked}" if asked else "")
    return web.Response(status=303, headers={"Location": address, "Cache-Control": "no-store"})


def way_up(request: web.Request) -> str:
    """Return the relative way from a request's page up to the site's root."""
    return "/".join([".."] * (request.path.count("/") - 1)) or "."


def own_path(text: str) -> str:
    """Return a path of this site that a sign-in may lead to; `/` for anything that might be another's."""
    odd = any(ord(character) < 0x21 or ord(character) == 0x7F for character in text)
    if not text.startswith("/") or text.startswith("//") or "\\" in text or odd or len(text) > 2000:
        return "/"
    return text
