"""The shelf: finished partials on disk until they are taken; lost ones stay a while for reuse."""

import contextlib
import logging
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import msgspec

from bridge_agent.base.clock import Clock, from_text, to_text
from bridge_agent.base.files import private_folder, write_private
from bridge_agent.base.threads import in_thread

_KEEP = timedelta(days=7)
_MOST = 200
_OWN = re.compile(r"[0-9a-f]{40}\.json")

_log = logging.getLogger(__name__)


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """A finished partial: for which claim of which Bridge, what it follows from, and where it was stored.

    A `lost` one is nobody's result any more; should its part be claimed anew it is heard already.
    """

    url: str
    worker_id: str
    task_id: str
    attempt: int
    key: str
    content: str
    kept_at: str
    artifact_id: str = ""
    lost: bool = False

    @property
    def name(self) -> str:
        """Its file's name."""
        return f"{self.key[:40]}.json"


class Shelf:
    """A folder of finished partials, one a key."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self._folder = folder
        self._clock = clock
        self._kept: dict[str, Kept] = {}

    def __iter__(self) -> Iterator[Kept]:
        return iter(list(self._kept.values()))

    async def open(self) -> None:
        """Read what an earlier run has kept; what is damaged is removed. Raises OSError."""
        self._kept = {kept.key: kept for kept in await in_thread(self._read)}

    def find(self, key: str) -> Kept | None:
        """Return the partial that follows from the same audio, wishes and engine."""
        return self._kept.get(key)

    async def keep(self, kept: Kept) -> None:
        """Keep a partial, in place of one with the same key; raises OSError."""
        self._kept[kept.key] = kept
        await in_thread(write_private, self._folder / kept.name, msgspec.json.encode(kept))

    def now(self) -> str:
        """Return the time as `kept_at` has it."""
        return to_text(self._clock.now())

    async def taken(self, kept: Kept) -> None:
        """Forget a partial that the Bridge has."""
        self._kept.pop(kept.key, None)
        await in_thread(self._remove, kept)

    async def lost(self, kept: Kept) -> None:
        """Keep a partial whose claim is lost, for the case that the part comes again."""
        await self.keep(msgspec.structs.replace(kept, lost=True, artifact_id=""))
        await self._tidy()

    async def _tidy(self) -> None:
        lost = sorted((kept for kept in self if kept.lost), key=lambda kept: kept.kept_at, reverse=True)
        oldest = self._clock.now() - _KEEP
        for place, kept in enumerate(lost):
            if place >= _MOST or from_text(kept.kept_at) < oldest:
                await self.taken(kept)

    def _remove(self, kept: Kept) -> None:
        with contextlib.suppress(OSError):
            (self._folder / kept.name).unlink(missing_ok=True)

    def _read(self) -> list[Kept]:
        private_folder(self._folder)
        found = []
        for path in sorted(self._folder.glob("*.json")):
            if not _OWN.fullmatch(path.name):
                continue
            try:
                found.append(msgspec.json.decode(path.read_bytes(), type=Kept))
            except OSError as error:
                # Whole, perhaps: it is handed in after a start that finds it readable.
                _log.warning(
                    "A finished part can’t be read and stays where it is (%s); mend the permissions of %s "
                    "and start the worker again.",
                    error.strerror or type(error).__name__,
                    path,
                )
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                _log.warning("A finished part is damaged and is heard anew: %s", error)
                with contextlib.suppress(OSError):
                    path.unlink()
        return found
