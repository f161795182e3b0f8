"""Troubles: what stops a whole book until it is mended, and how it is seen that it is."""

import errno
import logging
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

from bridge_agent.base.backoff import token
from bridge_agent.base.clock import Clock
from bridge_agent.base.errors import BridgeError
from bridge_agent.base.threads import TooManyStuck, in_thread
from bridge_agent.base.threads import files as disk

LOOK_S = 5.0
"""Between two looks at whether a trouble is mended."""
FULL = "The disk that holds the Bridge’s data folder is full; free some space, and it goes on by itself."
_ROOM = 8 << 20
_FILES_S = 20.0

_log = logging.getLogger(__name__)

Mended = Callable[[], Awaitable[bool]]


class Trouble(BridgeError):
    """Something stops the whole transcription; mend it, and it goes on by itself."""

    code = "trouble"

    def __init__(self, sentence: str, mended: Mended) -> None:
        """Hold the sentence, and a look that tells whether the trouble is over."""
        super().__init__(sentence)
        self._look = mended

    async def mended(self, clock: Clock) -> None:
        """Wait until the trouble is over, looking every few seconds; one that fails has seen no end."""
        told = ""
        while True:
            await clock.sleep(LOOK_S)
            try:
                if await self._look():
                    return
            except Exception as error:
                # Whatever it is, whoever waits here looks again: a book must not stand still for good.
                if told != (told := repr(error)):
                    _log.warning("It can’t be seen whether this is mended: “%s” %s", self.message, told)


def disk_full(folder: Path, sentence: str) -> Trouble:
    """Return the trouble that the disk under a folder is full; over as soon as some room can be written."""

    async def look() -> bool:
        return await in_thread(_has_room, folder)

    return Trouble(sentence, look)


def source_away(paths: list[Path], sentence: str) -> Trouble:
    """Return the trouble that a book's files are not seen; over as soon as all are there again."""

    async def look() -> bool:
        try:
            return await disk.call(_FILES_S, _all_there, paths)
        except (TimeoutError, TooManyStuck):
            return False

    return Trouble(sentence, look)


def no_engine(sentence: str, ready: Mended) -> Trouble:
    """Return the trouble that nobody can transcribe just now; over as soon as `ready` says so."""
    return Trouble(sentence, ready)


def is_full(error: OSError) -> bool:
    """Tell whether an error of the system means that there is no room."""
    return error.errno in {errno.ENOSPC, errno.EDQUOT}


def _has_room(folder: Path) -> bool:
    """Write as much as a few parts take and remove it: a quota shows in no other way."""
    probe = folder / token(".room-", 6)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with probe.open("wb") as out:
            out.write(b"\0" * _ROOM)
            out.flush()
            os.fsync(out.fileno())
    except OSError:
        return False
    finally:
        probe.unlink(missing_ok=True)
    return True


def _all_there(paths: list[Path]) -> bool:
    try:
        return all(os.access(path, os.R_OK) and path.stat().st_size >= 0 for path in paths)
    except OSError:
        return False
