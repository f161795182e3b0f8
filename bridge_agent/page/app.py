"""The page's application: gates in order, routes, and the moment at which it opens to users."""

from collections.abc import Callable

from aiohttp import web

from bridge_agent.base.logs import masks
from bridge_agent.base.threads import in_thread
from bridge_agent.page import (
    api,
    api_jobs,
    api_transcripts,
    api_workers,
    control,
    errors,
    forms,
    gates,
    health,
    metrics,
    pages,
    pages_transcripts,
    pages_workers,
    signing_in,
    views_link,
    views_times,
)
from bridge_agent.page.access import CSRF, FAILURES
from bridge_agent.page.api import LIVE
from bridge_agent.page.live import Live
from bridge_agent.page.parts import PARTS, Parts
from bridge_agent.page.password import first_password
from bridge_agent.web import rendering
from bridge_agent.web.failures import FailureLimit
from bridge_agent.web.security import Csrf, security_headers


def build(parts: Parts) -> web.Application:
    """Make the application; it answers 503 “starting” until `open_to_users` (or `parts.ready`) says go."""
    masks.register(parts.settings.page_password)
    app = web.Application(
        middlewares=[
            security_headers,
            errors.worded,
            gates.host_gate(gates.host_policy(parts.settings)),
            gates.type_gate,
            gates.origin_gate,
            gates.starting_gate,
            gates.session_gate,
            gates.csrf_gate,
        ]
    )
    app[PARTS] = parts
    app[LIVE] = Live(parts)
    app[FAILURES] = FailureLimit(parts.clock)
    app[CSRF] = Csrf()
    rendering.set_up(app, "page").filters.update(
        at=views_times.at,
        ago=views_times.since_then,
        since=views_times.lasting,
        slug=views_times.slug,
        parted=views_link.parted,
    )
    for routes in (
        api,
        api_jobs,
        api_transcripts,
        api_workers,
        health,
        metrics,
        pages,
        pages_transcripts,
        pages_workers,
        forms,
        signing_in,
    ):
        routes.add_routes(app)
    parts.on_open.append(app[LIVE].start)
    app.on_shutdown.append(_close)
    return app


async def open_to_users(parts: Parts, port: int, say: Callable[[str], None]) -> None:
    """Open the page: leave word for the command line, make a missing password, end the “starting”.

    `say` prints a new password on the terminal alone. Raises OSError when the data folder can't be written.
    """
    settings = parts.settings
    parts.control_token = await in_thread(control.announce, settings.data_dir, settings.listen, port)
    password = await first_password(settings, parts.rooms().db)
    if password is not None:
        say(
            f"The page listens beyond this machine, so it needs a password. It is  {password}\n"
            "It is shown this once; “bridge-agent password” sets another."
        )
    parts.open()


async def _close(app: web.Application) -> None:
    await app[LIVE].stop()
    parts = app[PARTS]
    if parts.control_token:
        parts.control_token = ""
        await in_thread(control.withdraw, parts.settings.data_dir)
