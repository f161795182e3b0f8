"""A whole Bridge: its rooms built from the settings, started and stopped in the order of law 9."""

import contextlib
import logging
import sqlite3
from collections.abc import Callable

from bridge_agent import __version__
from bridge_agent.app.housekeeping import DAY_S, HOUR_S, Chore, Housekeeping, integrity
from bridge_agent.app.speech import SpeechRooms, open_speech
from bridge_agent.base.backoff import token
from bridge_agent.base.clock import Clock, SystemClock
from bridge_agent.base.loops import Loops
from bridge_agent.base.tasks import Tasks
from bridge_agent.jobs.handlers.base import Handler
from bridge_agent.jobs.handlers.verify import VerifyHandler
from bridge_agent.jobs.jobs import Jobs
from bridge_agent.link.link import Link
from bridge_agent.mapping.mappings import Mappings
from bridge_agent.page import app as page
from bridge_agent.page.parts import Parts
from bridge_agent.protocol.bridge import Heartbeat
from bridge_agent.settings import BridgeSettings
from bridge_agent.store import Database, FolderLock, open_database
from bridge_agent.vault import Vault, open_vault
from bridge_agent.vault.sealer import ChildSealer
from bridge_agent.web.events import EventHub
from bridge_agent.web.listen import Listener

_log = logging.getLogger(__name__)
_EVERYWHERE = ("0.0.0.0", "::", "")

DATABASE = "bridge.sqlite3"


class Bridge:
    """The agent beside the audiobooks: one data folder, one page, one link."""

    def __init__(
        self,
        settings: BridgeSettings,
        clock: Clock | None = None,
        say: Callable[[str], None] | None = None,
    ) -> None:
        """Prepare a Bridge; `say` prints on the terminal alone what no log may hold."""
        self.settings = settings
        self.clock = clock or SystemClock()
        self.loops = Loops(self.clock)
        self.tasks = Tasks("bridge")
        self._say = say or (lambda _: None)
        self._closing = contextlib.AsyncExitStack()
        self.parts = Parts(
            settings=settings,
            clock=self.clock,
            events=EventHub(self.clock),
            loops=self.loops,
            started_at=self.clock.now(),
        )
        self._listener = Listener(page.build(self.parts), settings.listen, "BRIDGE_LISTEN")

    @property
    def port(self) -> int:
        """The port that the page answers on; known once started."""
        return self._listener.port

    @property
    def url(self) -> str:
        """The page's address on this machine."""
        host = self.settings.listen.host
        shown = "127.0.0.1" if host in _EVERYWHERE else str(self.settings.listen).rpartition(":")[0]
        return f"http://{shown}:{self.port}"

    def healthy(self) -> bool:
        """Whether no loop has broken; feeds the service manager's watchdog."""
        return self.loops.healthy

    async def start(self) -> None:
        """Take the folder, listen, open store and vault, then the link (law 9).

        An environment code is used after the page listens, so a start that can't serve never spends it
        (R-015). Raises BridgeError; `stop` then cleans up what was begun.
        """
        lock = FolderLock(self.settings.data_dir, "bridge")
        lock.acquire()
        self._closing.callback(lock.release)
        await self._listener.start()
        self._closing.push_async_callback(self._listener.stop)
        opened = await open_database(
            self.settings.data_dir / DATABASE, "bridge_agent.store.bridge_schema", clock=self.clock
        )
        self._closing.push_async_callback(opened.database.close)
        self._closing.push_async_callback(self.tasks.cancel)
        self.parts.notes.extend(opened.notes)
        self.parts.instance = await _instance(opened.database)
        vault = await open_vault(self.settings, self.settings.data_dir, self.clock, ChildSealer())
        await self._open_rooms(opened.database, vault)
        await page.open_to_users(self.parts, self.port, self._say)
        _log.info(
            "Bridge %s listens at %s%s, its data is in %s.",
            __version__,
            self.url,
            " and this machine’s other addresses" if self.settings.listen.host in _EVERYWHERE else "",
            self.settings.data_dir,
        )

    async def stop(self) -> None:
        """Take no more work, end streams and polls, keep what runs for the next start, close the store."""
        self.parts.events.close()
        await self._closing.aclose()

    async def _open_rooms(self, db: Database, vault: Vault) -> None:
        link = Link(self.settings, self.clock, db, vault, self.loops, self.tasks)
        mappings = Mappings(self.settings, self.clock, db, link, self.tasks)
        speech = await open_speech(self.settings, self.clock, link, mappings)
        self._closing.push_async_callback(speech.close)
        handlers: list[Handler] = [
            VerifyHandler(mappings, link, self.clock, tell=mappings.heard),
            *speech.handlers,
        ]
        jobs = Jobs(self.settings, self.clock, db, link, handlers, self.loops, self.tasks)
        link.heartbeat_parts = lambda: self._heartbeat(jobs, mappings, speech)
        parts = self.parts
        parts.db, parts.vault, parts.link, parts.mappings, parts.jobs = db, vault, link, mappings, jobs
        parts.transcripts, parts.speech, parts.workers = speech.transcripts, speech.for_page, speech.workers
        parts.examine = self._examine
        parts.notes.extend(speech.notes)
        # Stopped in reverse: final reports under way still have the link.
        self._closing.push_async_callback(link.stop)
        self._closing.push_async_callback(jobs.stop)
        await mappings.start()
        await jobs.start()
        await link.start()
        if link.state == "unpaired":
            # What an unpaired or copied folder calls running is nobody's here.
            jobs.link_down("unpaired")
        housekeeping = Housekeeping(
            self.clock,
            [
                Chore("mapping checks", DAY_S, DAY_S, mappings.check_all),
                Chore("history", DAY_S, HOUR_S, jobs.forget_old),
                *speech.chores,
                integrity(db),
            ],
        )
        housekeeping.start()
        self._closing.callback(housekeeping.stop)

    async def _examine(self) -> list[dict[str, str]]:
        from bridge_agent import doctor

        workers = self.parts.workers
        running = doctor.Running(self.url, None if workers is None else workers.listener.problem)
        findings = await doctor.run(self.settings, self.clock, running=running)
        return [finding.wire() for finding in findings]

    def _heartbeat(self, jobs: Jobs, mappings: Mappings, speech: SpeechRooms) -> Heartbeat:
        return Heartbeat(
            version=__version__,
            kinds=jobs.kinds,
            libraries=mappings.checks(),
            workers=speech.statuses(),
            ui_url=self.settings.public_url or None,
        )


async def _instance(db: Database) -> str:
    """Return this Bridge's own short id, made at the first start: cookies of two on one host never clash."""

    def unit(connection: sqlite3.Connection) -> str:
        run = connection.execute
        run("INSERT OR IGNORE INTO meta (name, value) VALUES ('instance', ?)", (token("", 6),))
        return str(run("SELECT value FROM meta WHERE name = 'instance'").fetchone()[0])

    return await db.write(unit)
