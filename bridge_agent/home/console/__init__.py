"""The home server's console: pages rendered on the server, which work without JavaScript."""

from aiohttp import web

from bridge_agent.home.console import (
    account_page,
    book_page,
    bridge_page,
    job_pages,
    key_pages,
    library_pages,
    live,
    people_pages,
    sign_in,
    transcribe_page,
)
from bridge_agent.home.console.access import CSRF
from bridge_agent.home.console.errors import page_errors
from bridge_agent.home.console.once import Once
from bridge_agent.home.console.pages import ONCE
from bridge_agent.home.keys import HOME
from bridge_agent.web import rendering
from bridge_agent.web.security import Csrf, security_headers


def add_routes(app: web.Application) -> None:
    """Give a home server's application its pages: templates, static files, routes, the pages' own errors."""
    rendering.set_up(app, "home")
    app[CSRF] = Csrf()
    app[ONCE] = Once(app[HOME].clock)
    # Within the headers, so that an error page has them too; around all else, so that it is one.
    app.middlewares.insert(app.middlewares.index(security_headers) + 1, page_errors)
    for part in (
        sign_in,
        library_pages,
        book_page,
        transcribe_page,
        job_pages,
        bridge_page,
        people_pages,
        key_pages,
        account_page,
        live,
    ):
        part.add_routes(app)
