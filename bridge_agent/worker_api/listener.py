"""The second listener: where workers reach the Bridge, off until one is invited (law 12)."""

import asyncio
import datetime
import ipaddress
import logging
import ssl
from collections.abc import Callable
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from bridge_agent.base.clock import Clock
from bridge_agent.base.errors import BridgeError
from bridge_agent.base.tasks import Tasks
from bridge_agent.base.threads import in_thread
from bridge_agent.settings import BridgeSettings, is_loopback_name
from bridge_agent.web import certificates
from bridge_agent.web.errors import ApiError
from bridge_agent.web.listen import Listener

FOLDER = "worker-listener"
_NAME = "Bridge worker listener"
# Workers pin the certificate: a new one would shut all of them out.
_LIFE = datetime.timedelta(days=3650)
_RETRY_S = 30.0
_WILDCARDS = ("0.0.0.0", "::", "")

_log = logging.getLogger(__name__)


class WorkerListener:
    """Serves the workers' routes, once it is turned on."""

    def __init__(
        self, settings: BridgeSettings, clock: Clock, tasks: Tasks, build: Callable[[], web.Application]
    ) -> None:
        """Prepare; `build` makes the application each time that it is turned on."""
        self._settings = settings
        self._clock = clock
        self._tasks = tasks
        self._build = build
        self._listener: Listener | None = None
        self._turning = asyncio.Lock()
        self._retry: asyncio.Task[None] | None = None
        self.fingerprint: str | None = None
        """The certificate's SHA-256 in hex; None without TLS, or while it is off."""
        self.problem: str | None = None
        """Why it can't listen though it should, as a sentence."""

    @property
    def on(self) -> bool:
        """Whether workers can reach it."""
        return self._listener is not None

    @property
    def tls(self) -> bool:
        """Whether it speaks https: as set, or unless only this machine reaches it."""
        wanted = self._settings.worker_tls
        return wanted == "on" or (wanted == "auto" and not self._settings.worker_listen.loopback)

    @property
    def port(self) -> int:
        """The port that it answers on."""
        return self._settings.worker_listen.port if self._listener is None else self._listener.port

    @property
    def url(self) -> str:
        """The address that workers are given: the listener's root."""
        host = self._settings.worker_listen.host
        if host in _WILDCARDS:
            host = urlsplit(self._settings.public_url).hostname or _reachable()
        shown = f"[{host}]" if ":" in host else host
        return f"{'https' if self.tls else 'http'}://{shown}:{self.port}"

    async def turn_on(self) -> None:
        """Listen, if it does not yet; raises BridgeError."""
        async with self._turning:
            if self._listener is not None:
                return
            context = await self._context() if self.tls else None
            listener = Listener(self._build(), self._settings.worker_listen, "BRIDGE_WORKER_LISTEN")
            await listener.start(context)
            self._listener, self.problem = listener, None
            _log.info("Workers reach this Bridge at %s.", self.url)

    def turn_on_somehow(self) -> None:
        """Listen as soon as that can be: tried again until it can, so that a start never fails for it."""
        if self._retry is None:
            self._retry = self._tasks.spawn(self._until_on(), "worker listener")

    async def stop(self) -> None:
        """Listen no more."""
        retry, self._retry = self._retry, None
        if retry is not None:
            retry.cancel()
        async with self._turning:
            listener, self._listener = self._listener, None
            if listener is not None:
                await listener.stop()

    async def _until_on(self) -> None:
        while True:
            try:
                await self.turn_on()
            except BridgeError as error:
                if self.problem != error.message:
                    _log.error("Workers can’t reach this Bridge: %s", error.message)
                self.problem = error.message
                await self._clock.sleep(_RETRY_S)
            else:
                return

    async def _context(self) -> ssl.SSLContext:
        folder = self._settings.data_dir / FOLDER
        try:
            public = urlsplit(self._settings.public_url).hostname
            hosts = () if public is None else (public,)
            certificate, key = await in_thread(certificates.own, folder, self._clock, _NAME, _LIFE, hosts)
            self.fingerprint = await in_thread(certificates.fingerprint, certificate)
            return await in_thread(certificates.context, certificate, key)
        except (OSError, ssl.SSLError) as error:
            raise BridgeError(
                f"The certificate for workers in {folder} can’t be used ({error}); remove that folder, and "
                "invite the workers anew."
            ) from error


def https_only(*, tls: bool) -> Middleware:
    """Make a middleware that takes no token in the clear from another machine where https is spoken."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        if tls and request.scheme != "https" and not is_loopback_name(request.remote or ""):
            raise ApiError(403, "https_only", "Workers reach this Bridge by https only; mend the address.")
        return await handler(request)

    return middleware


def _reachable() -> str:
    """Return the address of this machine that others most likely reach."""
    found = sorted(certificates.own_addresses(), key=_rank)
    return found[0]


def _rank(address: str) -> tuple[int, str]:
    parsed = ipaddress.ip_address(address)
    if parsed.is_loopback or parsed.is_link_local:
        return (9, address)
    usual = 0 if parsed.is_private and not address.startswith("172.") else 1
    return (usual if parsed.version == 4 else 5, address)
