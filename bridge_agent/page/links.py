"""Links that work below any sub-path: all are relative to the page that has them."""

from urllib.parse import quote, urlsplit

from aiohttp import web


def root_of(request: web.Request) -> str:
    """Return the way from a request's page up to the site's root, without a last slash."""
    depth = request.path.count("/") - 1
    return "/".join([".."] * depth) or "."


def local_path(text: str) -> str:
    """Return the path of this site that a `next` parameter names; `/` for anything that leads elsewhere."""
    parts = urlsplit(text)
    harmless = text.startswith("/") and not text.startswith("//") and "\\" not in text and text.isprintable()
    if not harmless or parts.scheme or parts.netloc or parts.path.startswith("/login"):
        return "/"
    return quote(parts.path)


def job_path(server_id: str, job_id: int) -> str:
    """Return a job's page."""
    return f"/jobs/{quote(server_id, safe='')}/{job_id}"
