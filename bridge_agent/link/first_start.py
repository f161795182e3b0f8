"""Pairing from the environment: BRIDGE_SERVER_URL with BRIDGE_PAIR_CODE, used once (R-014, R-015)."""

from collections.abc import Awaitable, Callable
from datetime import datetime

from bridge_agent.base.backoff import full_jitter
from bridge_agent.base.clock import Clock, later
from bridge_agent.base.loops import Loops
from bridge_agent.link import record, words
from bridge_agent.link.errors import PairFailed
from bridge_agent.settings import BridgeSettings
from bridge_agent.store import Database

LOOP = "pairing"
FIRST_PAUSE_S = 2.0
LONGEST_PAUSE_S = 300.0

Pair = Callable[[str, str], Awaitable[None]]
Say = Callable[[str, datetime | None], None]

_TRIED_AGAIN = frozenset({"unreachable", "server_error"})
_SPENDS = frozenset({"invalid_code", "refused"})


class FirstStart:
    """Uses the environment's code: again after no answer or a 5xx, never after it was taken or refused."""

    def __init__(
        self, settings: BridgeSettings, clock: Clock, db: Database, loops: Loops, pair: Pair, say: Say
    ) -> None:
        """Prepare; `pair` raises PairFailed, `say` shows a reason and when the next try is."""
        self._settings = settings
        self._clock = clock
        self._db = db
        self._loops = loops
        self._pair = pair
        self._say = say
        self.superseded = False
        """Whether the Bridge has been paired since, so that the environment's code is no longer wanted."""

    async def run(self) -> None:
        """Pair, or say why not. Ends when there is nothing more to try, or somebody else has paired."""
        code, url = self._settings.pair_code, self._settings.server_url
        if not code:
            return
        if not url:
            self._tell(words.NO_ADDRESS)
            return
        if await self._db.read(lambda c: record.is_spent(c, code)):
            self._tell(words.SPENT)
            return
        tries = 0
        while True:
            tries += 1
            self._loops.say(LOOP, f"Pairing with {url}, as BRIDGE_SERVER_URL and BRIDGE_PAIR_CODE ask.")
            try:
                await self._pair(url, code)
            except PairFailed as failed:
                if not await self._waited(failed, tries, code):
                    return
            else:
                await self._db.write(lambda c: record.spend(c, code))
                self._loops.say(LOOP, f"Paired with {url}.")
                return

    async def _waited(self, failed: PairFailed, tries: int, code: str) -> bool:
        """Deal with a failure; return after the pause when another try makes sense, else False."""
        if failed.code == "already_paired":
            return self._give_way()
        if failed.code not in _TRIED_AGAIN and failed.retry_after is None:
            if failed.code in _SPENDS:
                await self._db.write(lambda c: record.spend(c, code))
            self._tell(failed.message)
            return False
        pause = full_jitter(tries, FIRST_PAUSE_S, LONGEST_PAUSE_S)
        pause = max(pause, min(failed.retry_after or 0.0, LONGEST_PAUSE_S))
        self._tell(failed.message, later(self._clock.now(), pause))
        await self._clock.sleep(pause)
        return True if not self.superseded else self._give_way()

    def _give_way(self) -> bool:
        self._loops.say(LOOP, "Paired from the page meanwhile.")
        return False

    def _tell(self, sentence: str, next_try_at: datetime | None = None) -> None:
        self._loops.say(LOOP, sentence)
        self._say(sentence, next_try_at)
