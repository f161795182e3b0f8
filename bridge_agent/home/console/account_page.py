"""Settings, Account: where one is signed in, signing in elsewhere, one's own password."""

from dataclasses import dataclass

from aiohttp import web

from bridge_agent.home.console import access
from bridge_agent.home.console.access import field, takes_page
from bridge_agent.home.console.browsers import device_name
from bridge_agent.home.console.pages import ONCE, go, render
from bridge_agent.home.console.words import State, counted
from bridge_agent.home.credentials import Device, DeviceCode
from bridge_agent.home.errors import HomeError
from bridge_agent.home.keys import HOME
from bridge_agent.home.routes.auth import caller
from bridge_agent.web.errors import ApiError

_WRONG = "The password of now is not right; type it again."
_KINDS = {"session": "Signed in", "api_key": "API key"}


@dataclass(frozen=True)
class DeviceView:
    """A session or API key of one's own, as the page lists it."""

    name: str
    kind_word: str
    created_at: str
    last_seen_at: str | None
    this: bool


def device_view(device: Device, this: str) -> DeviceView:
    """Say what a page needs of a device; `this` is the hash of the session that looks."""
    return DeviceView(
        device_name(device.name),
        _KINDS.get(device.kind, device.kind),
        device.created_at,
        device.last_seen_at,
        device.hash == this,
    )


@takes_page()
async def show(request: web.Request) -> web.StreamResponse:
    """GET /settings/account."""
    return await _page(request)


@takes_page()
async def change_password(request: web.Request) -> web.StreamResponse:
    """POST /settings/account/password: a new one, if the one of now is right."""
    home, held = request.app[HOME], access.held(request)
    try:
        known = home.users.check(held.user.username, field(request, "old"))
        if await home.guessing.attempt(caller(request), known) is None:
            return await _page(request, error=_WRONG, status=400)
        await home.users.patch(held.user.id, password=field(request, "new"), keep_session=held.hash)
    except ApiError as error:
        return await _page(request, error=error.message, status=error.status)
    except HomeError as error:
        return await _page(request, error=error.message, status=error.status)
    return go(request, "/settings/account", said="own-password-set")


@takes_page()
async def sign_out_others(request: web.Request) -> web.StreamResponse:
    """POST /settings/account/sign-out-others: end all sessions of one's own but this one."""
    held = access.held(request)
    await request.app[HOME].credentials.sign_out(held.user, held.hash)
    return go(request, "/settings/account", said="others-out")


@takes_page()
async def make_device_code(request: web.Request) -> web.StreamResponse:
    """POST /settings/account/device-code: a code for signing in elsewhere, shown once."""
    held = access.held(request)
    made = await request.app[HOME].credentials.make_device_code(held.user)
    return go(request, "/settings/account", once=request.app[ONCE].put(held.hash, made))


async def _page(request: web.Request, *, error: str = "", status: int = 200) -> web.Response:
    held = access.held(request)
    devices = await request.app[HOME].credentials.devices(held.user)
    devices.sort(key=lambda device: (device.hash != held.hash, -device.id))
    sessions = sum(device.kind == "session" for device in devices)
    made = request.app[ONCE].take(held.hash, request.query.get("once", ""))
    return render(
        request,
        "account.html",
        {
            "title": "Account",
            "place": "settings",
            "tab": "account",
            "state": State(
                f"You are {held.user.username}.",
                f"Signed in on {counted(sessions, 'device')}; a sign-in ends after 30 days without use.",
            ),
            "devices": [device_view(device, held.hash) for device in devices],
            "others": sessions > 1,
            "made": made if isinstance(made, DeviceCode) else None,
            "error": error,
        },
        status=status,
    )


def add_routes(app: web.Application) -> None:
    """Add the page of one's own account."""
    app.router.add_get("/settings/account", show)
    app.router.add_post("/settings/account/password", change_password)
    app.router.add_post("/settings/account/sign-out-others", sign_out_others)
    app.router.add_post("/settings/account/device-code", make_device_code)
