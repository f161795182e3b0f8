"""The page “Workers”: the list with its forms, inviting, and the listener's certificate."""

from aiohttp import web

from bridge_agent.base.errors import BridgeError
from bridge_agent.base.threads import in_thread
from bridge_agent.page import joining, status, views_workers
from bridge_agent.page.api_workers import no_such_worker, workers_of
from bridge_agent.page.context import show
from bridge_agent.page.forms import field
from bridge_agent.page.pages import home_of
from bridge_agent.page.parts import parts_of
from bridge_agent.page.views_speech import no_engine
from bridge_agent.web.bodies import id_in_path
from bridge_agent.web.errors import ApiError
from bridge_agent.worker_api.listener import FOLDER
from bridge_agent.worker_api.opening import Workers

_PEM = "application/x-pem-file"


def add_routes(app: web.Application) -> None:
    """Add these routes."""
    router = app.router
    router.add_get("/workers", get_workers)
    router.add_post("/workers/add", post_add)
    router.add_get("/workers/add", get_add)
    router.add_get(f"/workers/{joining.CERTIFICATE}", get_certificate)
    router.add_post("/workers/{id}/pause", post_pause)
    router.add_post("/workers/{id}/resume", post_resume)
    router.add_post("/workers/{id}/revoke", post_revoke)


async def get_workers(request: web.Request) -> web.StreamResponse:
    """Show who transcribes: this computer, then the workers that were invited."""
    return workers_page(request)


def workers_page(
    request: web.Request, code: int = 200, typed: tuple[str, str] = ("", ""), trouble: str = ""
) -> web.Response:
    """Show Workers; after a failed invitation with what was typed (name, model) and what went wrong."""
    parts = parts_of(request)
    told = [] if parts.workers is None else status.workers_wire(parts.workers)
    listener = None if parts.workers is None else parts.workers.listener
    problem = None if listener is None else listener.problem
    url = listener.url if listener is not None and listener.on else None
    mark, sentence, line = views_workers.head(told, problem, url)
    return show(
        request,
        "workers.html",
        "workers",
        "Workers",
        code,
        mark=mark,
        sentence=sentence,
        line=line,
        rows=[
            views_workers.this_computer(parts.speech, parts.settings),
            *(views_workers.row(worker) for worker in told),
        ],
        can_invite=parts.workers is not None,
        no_engine=no_engine(parts.speech, parts.settings),
        listens=str(parts.settings.worker_listen),
        opens=None if parts.settings.worker_listen.loopback else parts.settings.worker_listen.port,
        own_model=parts.settings.speech_model,
        same_model=joining.is_name(parts.settings.speech_model),
        typed=typed,
        trouble=trouble,
        refresh=0 if trouble else 15,
        back="/workers",
    )


async def get_add(request: web.Request) -> web.StreamResponse:
    """Lead from the address of an invitation, which was shown once, to the list."""
    raise home_of(request, "/workers")


async def post_add(request: web.Request) -> web.StreamResponse:
    """Invite a worker, and show its token and the lines to paste this once."""
    name, model = await field(request, "name"), await field(request, "model")
    parts = parts_of(request)
    try:
        invitation = await workers_of(parts).invite(name, model.strip() or None)
    except (ApiError, BridgeError) as error:
        return workers_page(request, getattr(error, "status", 400), (name, model), error.message)
    invited = joining.Invited(
        name=invitation.name,
        token=invitation.token,
        url=invitation.url,
        fingerprint=invitation.fingerprint,
        model=joining.model_of(model.strip() or None, parts.settings),
    )
    return show(
        request,
        "worker_added.html",
        "workers",
        f"{invited.name} may join",
        invited=invited,
        own=joining.own(invited),
        foreign=joining.foreign(invited),
        certificate=joining.CERTIFICATE,
        live=False,
    )


async def get_certificate(request: web.Request) -> web.StreamResponse:
    """Give the listener's certificate, for workers that trust a file; it holds nothing secret."""
    parts = parts_of(request)
    if parts.workers is None or parts.workers.listener.fingerprint is None:
        raise ApiError(404, "not_found", "Workers are not spoken to by https; there is no certificate.")
    try:
        pem = await in_thread((parts.settings.data_dir / FOLDER / "certificate.pem").read_bytes)
    except OSError as error:
        raise ApiError(404, "not_found", "The certificate can’t be read; start the Bridge again.") from error
    return web.Response(body=pem, content_type=_PEM, headers={"Content-Disposition": "attachment"})


async def post_pause(request: web.Request) -> web.StreamResponse:
    """Give a worker no more parts."""
    found = await _workers(request).service.pause(id_in_path(request))
    raise home_of(request, "/workers", "paused" if found else "gone")


async def post_resume(request: web.Request) -> web.StreamResponse:
    """Give a worker parts again that was paused or parked."""
    found = await _workers(request).service.resume(id_in_path(request))
    raise home_of(request, "/workers", "working" if found else "gone")


async def post_revoke(request: web.Request) -> web.StreamResponse:
    """Refuse a worker from its next call on."""
    found = await _workers(request).service.revoke(id_in_path(request))
    raise home_of(request, "/workers", "revoked" if found else "gone")


def _workers(request: web.Request) -> Workers:
    workers = parts_of(request).workers
    if workers is None:
        raise no_such_worker()
    return workers
