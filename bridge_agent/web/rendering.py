"""Rendering: jinja2 with escaping always on, relative links, static files that carry their content's hash."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import aiohttp_jinja2
import jinja2
from aiohttp import web

from bridge_agent import __version__
from bridge_agent.base import resources

STATIC = "static"


def set_up(app: web.Application, half: str) -> jinja2.Environment:
    """Give an application its templates (`half` and `shared`) and its static files under /static/.

    Pages are answered with `render`. Templates have `root` (the way up to the site's root), `path`,
    `stamp("page/page.js")` for static files, and the filters `filesize` and `span`.
    """
    templates = resources.folder("templates")
    statics = resources.folder(STATIC)
    environment = aiohttp_jinja2.setup(
        app,
        loader=jinja2.FileSystemLoader([templates / half, templates / "shared"]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(filesize=filesize, span=span)
    environment.globals.update(version=__version__, stamp=_Stamps(statics))
    app.router.add_static(f"/{STATIC}/", statics, append_version=False)
    return environment


def render(
    request: web.Request, template: str, context: Mapping[str, object], status: int = 200
) -> web.Response:
    """Answer with a page that no cache keeps; its links climb to the site's root, below any sub-path.

    aiohttp-jinja2's own context processors are passed by: they warn at each request since aiohttp 3.14.
    """
    depth = request.path.count("/") - 1
    links = {"root": "/".join([".."] * depth) or ".", "path": request.path}
    response = aiohttp_jinja2.render_template(template, request, {**links, **context}, status=status)
    response.headers["Cache-Control"] = "no-store"
    return response


class _Stamps:
    """A short hash of each static file's content, read once: a new version is never served from a cache."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, str] = {}

    def __call__(self, name: str) -> str:
        if name not in self._known:
            content = (self._folder / name).read_bytes()
            self._known[name] = hashlib.sha256(content).hexdigest()[:10]
        return f"{STATIC}/{name}?v={self._known[name]}"


def filesize(size: float) -> str:
    """Write a number of bytes as a person says it."""
    value = float(size)
    for unit in ("bytes", "KB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"


def span(seconds: float) -> str:
    """Write a length of time as a person says it: `12 ms`, `9 s`, `4 min 10`, `2 h 05`."""
    whole = int(seconds)
    if 0 < seconds < 0.1:
        return f"{max(1, round(seconds * 1000))} ms"
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 and seconds != whole else f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d}"
    return f"{whole // 3600} h {whole % 3600 // 60:02d}"
