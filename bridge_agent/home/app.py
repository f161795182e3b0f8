"""The home server as a whole: built from its settings, started and stopped in order."""

import asyncio
import logging
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack

from aiohttp import web

from bridge_agent.base.clock import Clock
from bridge_agent.base.loops import Loops
from bridge_agent.base.tasks import Tasks
from bridge_agent.base.threads import in_thread
from bridge_agent.home import certificates, console, first_start
from bridge_agent.home.access import gate
from bridge_agent.home.artifacts import Artifacts
from bridge_agent.home.bridge_jobs import BridgeJobs
from bridge_agent.home.bridge_status import BridgeStatus
from bridge_agent.home.credentials import Credentials
from bridge_agent.home.guessing import Guessing
from bridge_agent.home.housekeeping import Housekeeping
from bridge_agent.home.job import Job
from bridge_agent.home.keys import HOME
from bridge_agent.home.kinds import KNOWN, Kinds
from bridge_agent.home.library.index import LibraryIndex
from bridge_agent.home.library.model import LibraryInfo
from bridge_agent.home.moment import Moment
from bridge_agent.home.pairing import Pairing
from bridge_agent.home.routes import (
    admin_libraries,
    artifacts,
    auth,
    bridge,
    jobs,
    library,
    media,
    pairing,
    server,
    users,
)
from bridge_agent.home.users import Users
from bridge_agent.protocol.bridge import API
from bridge_agent.settings import HomeSettings
from bridge_agent.store import Database, FolderLock, open_database
from bridge_agent.web.errors import json_errors
from bridge_agent.web.events import EventHub
from bridge_agent.web.failures import FailureLimit
from bridge_agent.web.listen import Listener, ensure_free
from bridge_agent.web.security import security_headers

_log = logging.getLogger(__name__)
_DRAIN_S = 1.0
_ROUTES = (server, auth, users, pairing, jobs, artifacts, admin_libraries, library, media, bridge)


def _on_terminal(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


class HomeServer:
    """A home server. Its parts are there once `start` has returned; `stop` is harmless at any time."""

    db: Database
    users: Users
    credentials: Credentials
    pairing: Pairing
    bridge: BridgeStatus
    jobs: BridgeJobs
    artifacts: Artifacts
    library: LibraryIndex
    server_id: str
    application: web.Application

    def __init__(
        self,
        settings: HomeSettings,
        clock: Clock,
        say: Callable[[str], None] = _on_terminal,
        known_kinds: Kinds = KNOWN,
    ) -> None:
        """Prepare a server; `say` prints on the terminal alone what no log may hold."""
        self.settings = settings
        self.clock = clock
        self.tasks = Tasks("home server")
        self._scans = Tasks("library")
        self.loops = Loops(clock)
        self.events = EventHub(clock)
        self.failures = FailureLimit(clock)
        self.guessing = Guessing(self.failures)
        self.notes: list[str] = []
        self._say = say
        self._known_kinds = known_kinds
        self._stack = AsyncExitStack()
        self._listener: Listener | None = None
        self._timer: asyncio.Task[None] | None = None

    @property
    def port(self) -> int:
        """The port that it listens at."""
        return self.settings.listen.port if self._listener is None else self._listener.port

    @property
    def url(self) -> str:
        """An address at which this machine reaches it."""
        host = self.settings.listen.host
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
        scheme = "http" if self.settings.tls == "off" else "https"
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{self.port}"

    def healthy(self) -> bool:
        """Whether its loops run."""
        return self.loops.healthy and self._timer is not None and not self._timer.done()

    async def start(self) -> None:
        """Start; the first admin and the settings' libraries are there before the first answer.

        Raises BridgeError with what to do.
        """
        folder = self.settings.data_dir
        lock = FolderLock(folder, "home")
        lock.acquire()
        self._stack.callback(lock.release)
        # A start that can't serve must not print the first admin's password: it is shown once.
        await ensure_free(self.settings.listen, "BRIDGE_HOME_LISTEN")
        tls = await in_thread(certificates.context, self.settings.tls, folder / "tls", self.clock)
        await self._open_stores()
        self._compose()
        await self._settle_in()
        self.application = self.build_application()
        self._listener = Listener(self.application, self.settings.listen, "BRIDGE_HOME_LISTEN")
        self._stack.push_async_callback(self._listener.stop)
        await self._listener.start(tls)
        # Pushed last, so called first at a stop: parked polls and streams end before anything waits for them.
        self._stack.callback(self.events.close)
        self._stack.callback(self.jobs.waits.close)
        self._timer = self.tasks.spawn(self.jobs.timer.run(), "leases")
        self._keep_house()
        self.library.request_due_scans()
        _log.info("The home server “%s” listens at %s.", self.settings.name, self.url)

    async def stop(self) -> None:
        """Stop taking work, end polls and streams, finish what is begun, close the stores."""
        await self._stack.aclose()

    async def add_library(self, name: str, root: str) -> LibraryInfo:
        """Add a library and begin to scan it; raises NoSuchFolder."""
        added = await self.library.add(name, root)
        self.library.request_scan(added.id)
        return added

    async def remove_library(self, library_id: int) -> bool:
        """Forget a library, its jobs and their artifacts; tell whether there was one (R-049)."""
        if not await self.library.remove(library_id):
            return False
        await self._drop_jobs(library_id)
        return True

    async def _open_stores(self) -> None:
        folder = self.settings.data_dir
        opened = await open_database(folder / "home.sqlite3", "bridge_agent.home.schema", "FULL", self.clock)
        self.db = opened.database
        self._stack.push_async_callback(self.db.close)
        self._stack.push_async_callback(self._end_tasks)
        self.library = await LibraryIndex.open(folder, self.clock, self._scans)
        self._stack.push_async_callback(self.library.close)
        self.notes = [*opened.notes, *self.library.notes]

    def _compose(self) -> None:
        settings, clock, db, tasks = self.settings, self.clock, self.db, self.tasks
        self.users = Users(db, clock)
        self.credentials = Credentials(db, clock, tasks)
        self.bridge = BridgeStatus(settings, clock, db, tasks, self._known_kinds)
        self.pairing = Pairing(settings, clock, db, self.bridge)
        self.jobs = BridgeJobs(settings, clock, db, tasks, self.loops, self.library, self._known_kinds)
        self.artifacts = Artifacts(settings, clock, db, self.jobs, settings.data_dir / "artifacts")
        # Each of these may end a token or offer work: parked polls are then looked at again.
        news = self.jobs.waits.news
        self.users.on_change = self.pairing.on_revoked = self.bridge.on_kinds = news
        self.jobs.on_change = self._job_changed
        self.bridge.on_change = self._bridge_changed
        self.library.on_changed = self._library_changed
        self.library.on_moved = self.jobs.book_moved

    async def _settle_in(self) -> None:
        self.server_id = await first_start.server_id(self.db)
        await first_start.rebase(self.db, self.settings, Moment.of(self.clock))
        await first_start.first_admin(self.users, self.settings, self._say)
        await self.library.tell_moves()
        for library_id in await self.jobs.libraries():
            if self.library.get(library_id) is None:
                await self._drop_jobs(library_id)
        await first_start.settings_libraries(self.db, self.settings, self.library)
        await self.artifacts.tidy()

    def build_application(self) -> web.Application:
        """Return the application with all its routes."""
        # The console puts its own errors' pages in between.
        app = web.Application(middlewares=[security_headers, json_errors(f"{API}/"), gate])
        app[HOME] = self
        for routes in _ROUTES:
            routes.add_routes(app)
        console.add_routes(app)
        return app

    def _keep_house(self) -> None:
        house = Housekeeping(self.db, self.credentials, self.library.request_all_scans)
        house.start()
        self._stack.callback(house.stop)

    async def _end_tasks(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self.bridge.close()
        await self.tasks.drain(_DRAIN_S)

    async def _drop_jobs(self, library_id: int) -> None:
        await self.artifacts.forget_jobs(await self.jobs.delete_library(library_id))

    def _job_changed(self, job: Job) -> None:
        self.events.publish("job", job.wire())

    def _bridge_changed(self) -> None:
        self.tasks.spawn(self._tell_bridge(), "tell of the Bridge")

    async def _tell_bridge(self) -> None:
        self.events.publish("bridge", await self.bridge.view())

    def _library_changed(self, library_id: int) -> None:
        found = self.library.get(library_id)
        self.events.publish("library", {"id": library_id, "gone": True} if found is None else found.wire())
