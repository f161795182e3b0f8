"""The heartbeat: what one beat does with the link, and who waits for it."""

import asyncio
import logging
from datetime import datetime
from typing import TYPE_CHECKING

from bridge_agent.base.backoff import full_jitter
from bridge_agent.base.errors import BridgeError
from bridge_agent.base.logs import Outage
from bridge_agent.link.client import ServerClient
from bridge_agent.link.errors import ServerAway
from bridge_agent.link.pulse import Pulse
from bridge_agent.link.session import Session
from bridge_agent.vault import VaultNotReady

if TYPE_CHECKING:
    from bridge_agent.link.link import Link

_log = logging.getLogger(__name__)

LOOP = "heartbeat"
MOST_ASKED_PAUSE_S = 60.0
"""The longest Retry-After that is obeyed: after two minutes the server would count the Bridge as offline."""


class Heart:
    """Beats for a link: every BRIDGE_HEARTBEAT_SECONDS, at once when asked, rarely while refused (R-034)."""

    def __init__(self, link: "Link") -> None:
        """Prepare; beats begin with `begin`."""
        self._link = link
        self._pulse = Pulse(link.clock, self._beat, self._jumped, link.look)
        self._outage = Outage(_log, link.clock, "The heartbeat")
        self._waiting: list[asyncio.Future[bool]] = []

    @property
    def next_at(self) -> datetime | None:
        """When the next beat is due."""
        return self._pulse.next_at

    async def run(self) -> None:
        """Beat until cancelled."""
        if self._link.session is None:
            self._say("Not paired; nothing to send.")
        try:
            await self._pulse.run()
        except Exception as error:
            self._link.loops.broke(LOOP, "Stopped by an error; the log says which. Start the Bridge again.")
            _log.error("The heartbeat stopped: %s", error, exc_info=error)
        finally:
            self._let_go()

    def begin(self) -> None:
        """Beat at once for a new link, whose outages are its own."""
        self._outage = Outage(_log, self._link.clock, "The heartbeat")
        self._pulse.now()

    def rest(self) -> None:
        """Beat no more."""
        self._pulse.rest()
        self._let_go()
        self._say("Not paired; nothing to send.")

    def refused(self, for_good: bool) -> None:
        """Beat rarely from now on, or, for a copy, not at all (R-085)."""
        self._let_go()
        if for_good:
            self._pulse.rest()
            self._say("This is a copy of another Bridge; nothing is sent.")
            return
        seconds = self._link.settings.refused_retry_seconds
        self._pulse.after(seconds)
        self._say(f"The server refuses the token; asked again every {seconds:g} s.")

    def beat_now(self) -> None:
        """Beat at once unless there is no link or it is refused."""
        session = self._link.session
        if session is not None and not session.refused:
            self._pulse.now()

    async def beaten(self) -> bool:
        """Beat at once and wait for the end of that beat; tell whether it went through."""
        session = self._link.session
        if session is None or session.refused:
            return False
        done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append(done)
        self._pulse.now()
        return await done

    async def _beat(self) -> float | None:
        waiting, self._waiting = self._waiting, []
        try:
            return await self._beat_once()
        finally:
            session = self._link.session
            well = session is not None and not session.refused and session.misses == 0
            self._answer_waiting(waiting, well)

    async def _beat_once(self) -> float | None:
        session = self._link.session
        if session is None or session.copied:
            return None
        try:
            client = session.client or await self._open(session)
            return None if client is None else await self._send(session, client)
        except BridgeError as error:
            return self._missed(session, error)
        except Exception as error:
            _log.error("A heartbeat failed: %s", error, exc_info=error)
            return self._missed(
                session, BridgeError("The heartbeat failed for a reason of this Bridge’s own; see its log.")
            )

    async def _open(self, session: Session) -> ServerClient | None:
        """Get the token out of the vault; None when it is gone. Raises VaultNotReady, ServerAway."""
        link = self._link
        token = await link.vault.load()
        if link.session is not session:
            return None
        if token is None:
            link.lost(session)
            self._say("Not paired; nothing to send.")
            return None
        client = await link.new_client(session.pairing.server_url, token)
        if link.session is not session:
            return None
        session.client = client
        return client

    async def _send(self, session: Session, client: ServerClient) -> float | None:
        link, was_refused = self._link, session.refused
        answer = await client.heartbeat(link.heartbeat_parts(), link.run_id)
        # Unpaired, paired anew or refused by a later answer meanwhile: that has set the pulse.
        if link.session is not session or session.refused != was_refused:
            return None
        self._outage.went_well()
        await link.heard(session, answer.libraries)
        pause = link.settings.heartbeat_seconds
        self._say(f"The last one went through; the next follows after {pause:g} s.")
        return pause

    def _missed(self, session: Session, error: BridgeError) -> float | None:
        link = self._link
        if link.session is not session:
            return None
        if link.judge(session, error):
            session.misses += 1
            return None
        if session.refused:
            return link.settings.refused_retry_seconds
        if isinstance(error, VaultNotReady):
            return self._wait_for_vault(session, error)
        session.misses += 1
        session.reason = error.message
        self._outage.failed(error.message)
        pause = self._pause(session, error)
        self._say(f"{error.message} The next heartbeat follows after {pause:.0f} s.")
        link.changed()
        return pause

    def _wait_for_vault(self, session: Session, error: VaultNotReady) -> float:
        session.vault_tries += 1
        session.reason = error.message
        self._say(error.message)
        self._link.changed()
        return full_jitter(session.vault_tries, 1.0, 15.0)

    def _pause(self, session: Session, error: BridgeError) -> float:
        """Return the pause after a miss: the normal rhythm, sooner at first when nobody answered (R-091)."""
        rhythm = self._link.settings.heartbeat_seconds
        if not isinstance(error, ServerAway):
            return rhythm
        if error.kind == "unreachable":
            return full_jitter(session.misses, rhythm / 10, rhythm)
        return max(rhythm, min(error.retry_after or 0.0, MOST_ASKED_PAUSE_S))

    async def _jumped(self) -> bool:
        """Cut the connections after a sleep or a clock jump; beat at once unless refused (law 5)."""
        session = self._link.session
        if session is None:
            return False
        _log.info("The machine slept or its clock was set; connections are made anew.")
        if session.client is not None:
            await session.client.drop_connections()
        return not session.refused

    def _let_go(self) -> None:
        """Tell those who wait for a beat that none comes."""
        waiting, self._waiting = self._waiting, []
        self._answer_waiting(waiting, False)

    def _answer_waiting(self, waiting: list[asyncio.Future[bool]], well: bool) -> None:
        for done in waiting:
            if not done.done():
                done.set_result(well)

    def _say(self, line: str) -> None:
        self._link.loops.say(LOOP, line)
