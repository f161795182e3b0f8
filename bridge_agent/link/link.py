"""The link: the Bridge's tie to one server, from pairing to unpairing."""

import asyncio
import logging
import socket
import uuid
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from bridge_agent import __version__
from bridge_agent.base.clock import Clock
from bridge_agent.base.errors import BridgeError
from bridge_agent.base.logs import masks
from bridge_agent.base.loops import Loops
from bridge_agent.base.tasks import Tasks, cancel_and_wait
from bridge_agent.link import words
from bridge_agent.link.addresses import server_address
from bridge_agent.link.client import ServerClient
from bridge_agent.link.errors import NoHeartbeat, NotPaired, PairFailed, Rejected, ServerAway, TokenRefused
from bridge_agent.link.exchange import exchange, from_away
from bridge_agent.link.first_start import FirstStart
from bridge_agent.link.heart import Heart
from bridge_agent.link.keeping import Keeping
from bridge_agent.link.listeners import LinkListener, Why, tell
from bridge_agent.link.session import Session, State
from bridge_agent.link.trust import trust
from bridge_agent.protocol import codes
from bridge_agent.protocol.bridge import (
    ArtifactAnswer,
    Book,
    ClaimedJob,
    Heartbeat,
    Library,
    PairRequest,
    Report,
    ReportAnswer,
)
from bridge_agent.settings import BridgeSettings
from bridge_agent.store import Database
from bridge_agent.vault import Vault

T = TypeVar("T")

_log = logging.getLogger(__name__)
_MOST_CODE = 64


class Link:
    """The one link of a Bridge. All that is visible changes through `link_changed` of its listeners."""

    def __init__(
        self,
        settings: BridgeSettings,
        clock: Clock,
        db: Database,
        vault: Vault,
        loops: Loops,
        tasks: Tasks,
    ) -> None:
        """Prepare a link; nothing is read or called before `start`."""
        self.settings = settings
        self.clock = clock
        self.vault = vault
        self._db = db
        self.loops = loops
        self.listeners: list[LinkListener] = []
        self.ready = asyncio.Event()
        """Set while a heartbeat has gone through on this link and it is not refused (R-048)."""
        self.run_id = str(uuid.uuid4())
        """This process's run, by which a server tells two Bridges with one copied folder apart."""
        self.heartbeat_parts: Callable[[], Heartbeat] = lambda: Heartbeat(version=__version__, kinds=[])
        self._tasks = tasks
        self._session: Session | None = None
        self._reason = words.UNPAIRED
        self._told: State = "unpaired"
        self._next_pairing_at: datetime | None = None
        self._keeping = Keeping(settings, clock, db, vault)
        self._pairing_lock = asyncio.Lock()
        self._heart = Heart(self)
        self._first_start = FirstStart(settings, clock, db, loops, self.pair, self._say_of_first_start)
        self._running: list[asyncio.Task[None]] = []

    # ---- what is visible

    @property
    def session(self) -> Session | None:
        """The present link; None while unpaired."""
        return self._session

    @property
    def state(self) -> State:
        """The state that page and metrics show."""
        return "unpaired" if self._session is None else self._session.state(self.clock.monotonic())

    @property
    def online(self) -> bool:
        """Whether the last heartbeat went through under two minutes ago and none failed since (R-047)."""
        return self.state == "online"

    @property
    def reason(self) -> str:
        """Why the state is what it is, in one sentence with the next step; empty while online."""
        if self._session is None:
            return self._reason
        return "" if self.online else self._session.reason

    @property
    def server_url(self) -> str | None:
        """The address of the server, its base path included."""
        return None if self._session is None else self._session.pairing.server_url

    @property
    def server_name(self) -> str | None:
        """What the server calls itself."""
        return None if self._session is None else self._session.pairing.server_name

    @property
    def server_id(self) -> str | None:
        """The server's UUID, by which servers are told apart (R-088)."""
        return None if self._session is None else self._session.pairing.server_id

    @property
    def libraries(self) -> list[Library]:
        """The libraries that the server listed last (R-040)."""
        return [] if self._session is None else list(self._session.pairing.libraries)

    @property
    def last_heartbeat_at(self) -> datetime | None:
        """When a heartbeat last went through on this link."""
        return None if self._session is None else self._session.heard_wall

    @property
    def next_try_at(self) -> datetime | None:
        """When it is tried again; None while online, and where nothing is tried."""
        if self._session is None:
            return self._next_pairing_at
        return None if self.online else self._heart.next_at

    @property
    def clock_skew_s(self) -> float | None:
        """How many seconds this machine's clock is ahead of the server's; None before an answer."""
        client = None if self._session is None else self._session.client
        return None if client is None else client.clock_skew_s

    # ---- life

    async def start(self) -> None:
        """Take up the pairing that is kept, else the environment's; returns before any call is made.

        To be called when the page listens (R-015). Raises BridgeError when the store can't be read.
        """
        pairing = await self._keeping.load()
        if self._keeping.copied:
            self._reason = words.COPIED
            _log.warning("%s", words.COPIED)
        elif pairing is not None:
            self._begin(Session(pairing, reason=words.CONNECTING))
        self._running.append(self._tasks.spawn(self._heart.run(), "heartbeat"))
        if self._session is None:
            self._running.append(self._tasks.spawn(self._first_start.run(), "pairing"))

    async def stop(self) -> None:
        """End heartbeat and calls; the pairing stays for the next start."""
        await cancel_and_wait(*self._running)
        self._running.clear()
        if self._session is not None and self._session.client is not None:
            await self._session.client.close()

    async def pair(self, server_url: str, code: str) -> None:
        """Pair with a server; the first heartbeat follows at once.

        Raises PairFailed with the codes of the page's API: `bad_address` and `already_paired` without any
        call. Once the code is sent, the rest happens even when the caller goes away.
        """
        address = server_address(server_url)
        if self._session is not None:
            raise PairFailed(409, "already_paired", words.ALREADY_PAIRED)
        code = code.strip()
        if not code or len(code) > _MOST_CODE:
            raise PairFailed(422, "invalid_code", words.NO_CODE)
        masks.register(code, passing=True)
        masks.register(codes.normal(code) or code, passing=True)
        failed = await self._tasks.shielded(self._try_pairing(address, code), f"pairing with {address}")
        if failed is not None:
            raise failed

    async def unpair(self) -> None:
        """Forget the token on this side alone: the server is told nothing (R-025).

        The token is gone from the vault on return. Raises BridgeError when the disk refuses.
        """
        await self._tasks.shielded(self._unpair(), "unpairing")

    # ---- the heartbeat

    def beat_now(self) -> None:
        """Send a heartbeat at once (R-035); while refused or unpaired nothing is sent (R-085)."""
        self._heart.beat_now()

    async def beaten(self) -> bool:
        """Send a heartbeat at once and wait for its end; tell whether it went through."""
        return await self._heart.beaten()

    # ---- calls of the other rooms

    async def next_job(self, kinds: Sequence[str], wait: float, claim_id: str) -> ClaimedJob | None:
        """Claim a job, waiting at the server up to `wait` seconds; None when there is none.

        Where the server knows no heartbeat yet, one is sent and the claim asked for again (R-059). Raises
        what `call` raises, and NoHeartbeat when that did not help.
        """

        def ask(client: ServerClient) -> Awaitable[ClaimedJob | None]:
            return client.next_job(kinds, wait, claim_id)

        try:
            return await self.call(ask)
        except NoHeartbeat:
            if not await self.beaten():
                raise
        return await self.call(ask)

    async def report(self, job_id: int, report: Report) -> ReportAnswer:
        """Report on a job; raises NotHeld and what `call` raises."""
        return await self.call(lambda client: client.report(job_id, report))

    async def book(self, library_id: int, path: str | None) -> Book:
        """Return a book's files, of the library's sample book without a path; raises what `call` raises."""
        return await self.call(lambda client: client.book(library_id, path))

    async def put_artifact(
        self, job_id: int, attempt: int, name: str, content_type: str, content: Path
    ) -> ArtifactAnswer:
        """Upload a file; raises NotHeld, OSError, Rejected 404 or 405 from an older server, and as `call`."""
        return await self.call(
            lambda client: client.put_artifact(job_id, attempt, name, content_type, content)
        )

    async def call(self, work: Callable[[ServerClient], Awaitable[T]]) -> T:
        """Make a call over the present link.

        Raises NotPaired; TokenRefused without a call while refused, and on a 401 after the state has taken
        it in; ServerAway before the first heartbeat went through (R-048) and when the server is; Rejected.
        """
        session = self._session
        if session is None:
            raise NotPaired
        if session.refused:
            raise TokenRefused(session.reason)
        if session.client is None or not self.ready.is_set():
            raise ServerAway(session.reason or words.CONNECTING, kind="not_ready")
        try:
            return await work(session.client)
        except BridgeError as error:
            if self._session is not session:
                raise NotPaired from error
            self.judge(session, error)
            raise

    def judge(self, session: Session, error: BridgeError) -> bool:
        """Take in what an answer says about the link itself; tell whether it ended by it."""
        if self._session is not session:
            return False
        if isinstance(error, TokenRefused):
            self._refuse(session, words.REFUSED)
            return True
        if isinstance(error, Rejected) and error.code == "copied":
            session.copied = True
            self._refuse(session, words.COPIED_SAYS_SERVER)
            return True
        return False

    async def heard(self, session: Session, libraries: list[Library]) -> None:
        """Take in a heartbeat that went through, with the libraries that the server lists now."""
        session.heard_at, session.heard_wall, session.misses = self.clock.monotonic(), self.clock.now(), 0
        first = not self.ready.is_set()
        if session.refused:
            _log.info("The server takes this Bridge again.")
        session.refused, session.reason = False, ""
        changed = libraries != list(session.pairing.libraries)
        if changed:
            session.pairing = session.pairing.with_libraries(libraries)
        if first:
            self.ready.set()
            tell(self.listeners, lambda listener: listener.link_ready(session.pairing.server_id))
        if changed:
            await self._keeping.keep_libraries(session.pairing)
        self.changed()

    def lost(self, session: Session) -> None:
        """Give up a link whose token is gone from this machine."""
        if self._session is session:
            self._session, self._reason = None, words.LOST
            _log.warning("%s", words.LOST)
            self.changed()

    def changed(self) -> None:
        """Tell the listeners that something visible changed."""
        self._told = self.state
        tell(self.listeners, lambda listener: listener.link_changed())

    def look(self) -> None:
        """Tell the listeners when the mere passing of time has changed the state (R-047)."""
        if self.state != self._told:
            self.changed()

    async def new_client(self, address: str, token: str) -> ServerClient:
        """Return a client for an address; raises ServerAway when BRIDGE_CA_FILE can't be used."""
        return ServerClient(address, token, self.clock, await trust(self.settings.ca_file))

    # ---- inside

    def _refuse(self, session: Session, sentence: str) -> None:
        was_refused, session.refused, session.reason = session.refused, True, sentence
        self.ready.clear()
        self._heart.refused(for_good=session.copied)
        if not was_refused:
            _log.warning("%s", sentence)
            self._down("refused")
        self.changed()

    def _down(self, why: Why) -> None:
        tell(self.listeners, lambda listener: listener.link_down(why))

    def _begin(self, session: Session) -> None:
        self._session = session
        self._next_pairing_at = None
        self._first_start.superseded = True
        self.ready.clear()
        self._heart.begin()
        self.changed()

    def _say_of_first_start(self, sentence: str, next_try_at: datetime | None) -> None:
        if self._session is None:
            self._reason, self._next_pairing_at = sentence, next_try_at
            self.changed()

    async def _try_pairing(self, address: str, code: str) -> PairFailed | None:
        """Pair, returning a failure: raised in a task of its own it would also be logged as a crash."""
        try:
            await self._pair(address, code)
        except PairFailed as failed:
            _log.info("Pairing with %s failed: %s", address, failed)
            return failed
        return None

    async def _pair(self, address: str, code: str) -> None:
        async with self._pairing_lock:
            if self._session is not None:
                raise PairFailed(409, "already_paired", words.ALREADY_PAIRED)
            name = self.settings.name or socket.gethostname()
            try:
                tls = await trust(self.settings.ca_file)
            except ServerAway as away:
                raise from_away(away) from away
            client = ServerClient(address, None, self.clock, tls)
            try:
                answer = await exchange(client, PairRequest(code=code, name=name, version=__version__))
            finally:
                await client.close()
            pairing = await self._keeping.keep(address, answer)
            client = ServerClient(address, answer.token, self.clock, tls)
            self._begin(Session(pairing, client, reason=words.CONNECTING))
            _log.info("Paired with %s at %s.", pairing.server_name, address)

    async def _unpair(self) -> None:
        async with self._pairing_lock:
            session = self._session
            was_paired = session is not None or self._keeping.copied
            await self._keeping.forget(copied=session is not None and session.copied)
            self._session = None
            if was_paired:
                self._reason = words.UNPAIRED_HERE
            self.ready.clear()
            self._heart.rest()
            if session is not None:
                self._down("unpaired")
                if session.client is not None:
                    await session.client.close()
            self.changed()
