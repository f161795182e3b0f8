"""Where this machine sees each of the server's libraries: set, cleared, checked, told."""

import asyncio
import logging
import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Protocol

from bridge_agent.base.clock import Clock, from_text
from bridge_agent.base.errors import BridgeError
from bridge_agent.base.tasks import Tasks
from bridge_agent.link.listeners import LinkListener
from bridge_agent.mapping import rows
from bridge_agent.mapping.checking import Checker
from bridge_agent.mapping.proposals import Search
from bridge_agent.mapping.rows import Kept
from bridge_agent.mapping.views import LibraryView, Outcome, view
from bridge_agent.protocol.bridge import Book, Library, LibraryCheck
from bridge_agent.settings import BridgeSettings
from bridge_agent.store import Database

__all__ = ["LibraryView", "Mappings", "NotListed", "PathRefused"]

_log = logging.getLogger(__name__)
_STALE = timedelta(hours=24)


class NotListed(BridgeError):
    """The server has listed no such library; look at the libraries in the server’s console."""

    code = "not_found"
    status = 404


class PathRefused(BridgeError):
    """That is not a folder’s full path; give one like /mnt/audiobooks, or D:\\Audiobooks on Windows."""

    code = "bad_path"
    status = 400


class Server(Protocol):
    """What is asked of the link."""

    listeners: list[LinkListener]
    ready: asyncio.Event

    @property
    def server_id(self) -> str | None:
        """The server's UUID; None while unpaired."""
        ...

    async def beaten(self) -> bool:
        """Send a heartbeat at once; tell whether it went through."""
        ...

    @property
    def libraries(self) -> list[Library]:
        """The libraries that the server listed last."""
        ...

    @property
    def online(self) -> bool:
        """Whether the server answers."""
        ...

    def beat_now(self) -> None:
        """Send a heartbeat at once."""
        ...

    async def book(self, library_id: int, path: str | None) -> Book:
        """Return a book, the library's sample book without a path; raises BridgeError."""
        ...


def _unheard() -> None:
    """Take news that nobody listens to."""


class Mappings:
    """The mappings of the present server's libraries.

    What vanishes from the server's list vanishes from all that is told here (R-040); its mapping is kept, in
    case it comes back. A library without a check of its present path is checked by itself, once, as soon as
    the link works.
    """

    def __init__(
        self,
        settings: BridgeSettings,
        clock: Clock,
        db: Database,
        link: Server,
        tasks: Tasks,
        search: Search | None = None,
    ) -> None:
        """Prepare; nothing is read before `start`."""
        self.settings = settings
        self.on_change: Callable[[], None] = _unheard
        self._clock = clock
        self._db = db
        self._link = link
        self._tasks = tasks
        self._search = search or Search()
        self._checker = Checker(link, clock, self._search)
        self._kept = Kept()
        self._loading = asyncio.Lock()
        self._running: dict[tuple[int, str], asyncio.Task[LibraryView]] = {}
        self._tried: set[tuple[int, str]] = set()
        self._unfinished: set[int] = set()
        self._doubted: set[int] = set()
        self._was_online = False
        self._round: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Read what is kept and listen to the link."""
        self._link.listeners.append(self)
        await self._present()

    # ---- what is known

    def views(self) -> list[LibraryView]:
        """Return the libraries that the server lists, as page and API show them."""
        return [self._view(library) for library in self._link.libraries]

    def checks(self) -> list[LibraryCheck]:
        """Return the last finished check of each listed library, for the heartbeat (R-036)."""
        kept = self._kept_now()
        listed = (library.id for library in self._link.libraries)
        return [kept.outcomes[id].check() for id in listed if id in kept.outcomes]

    async def place_of(self, library_id: int) -> tuple[Library, Path]:
        """Return a listed library and where this machine sees it (R-100); raises NotListed.

        One that is not listed may have been added since the last heartbeat: its answer lists them all
        (R-040), so a heartbeat is sent before that is said.
        """
        kept = await self._present()
        if all(library.id != library_id for library in self._link.libraries):
            await self._link.beaten()
        library = self._listed(library_id)
        return library, Path(kept.paths.get(library_id, library.root))

    # ---- what a person says

    async def set(self, library_id: int, path: str) -> None:
        """Say where this machine sees a library; raises NotListed, PathRefused.

        A folder that is not there is taken all the same: the drive may be plugged in later, the share
        mounted after the Bridge. The check that follows says that it is not there, which part of the path
        is, and what was probably meant; a refusal here could say less.
        """
        given = given_path(path)
        kept = await self._present()
        self._listed(library_id)
        server_id = self._server_id()
        await self._db.write(lambda c: rows.set_path(c, server_id, library_id, given))
        kept.paths[library_id] = given
        self.on_change()

    async def clear(self, library_id: int) -> None:
        """Let the server's own path count again; raises NotListed."""
        kept = await self._present()
        self._listed(library_id)
        server_id = self._server_id()
        await self._db.write(lambda c: rows.clear_path(c, server_id, library_id))
        kept.paths.pop(library_id, None)
        self.on_change()

    async def check(self, library_id: int) -> LibraryView:
        """Look for the sample book's files where the library should be; writes nothing. Raises NotListed.

        Two who ask for the same check share one. It goes on when the one who asked has gone, and ends with
        a heartbeat (R-035).
        """
        kept = await self._present()
        library = self._listed(library_id)
        path = kept.paths.get(library_id, library.root)
        key = (library_id, path)
        running = self._running.get(key)
        if running is None:
            self._tried.add(key)
            running = self._tasks.spawn(self._check(kept, library, path), f"check of library {library_id}")
            self._running[key] = running
            self.on_change()
        return await asyncio.shield(running)

    def heard(self, library_id: int, seen: bool) -> None:
        """Check a library again of which a job says something else than the last check did."""
        outcome = self._kept_now().outcomes.get(library_id)
        if outcome is None or library_id in self._doubted:
            return
        # A check that compared files knows more than that one book's lie there.
        blind = not outcome.ok and not outcome.files_checked
        if blind if seen else outcome.ok:
            self._doubted.add(library_id)
            self._tasks.spawn(self._check_again(library_id), f"check of library {library_id} again")

    async def _check_again(self, library_id: int) -> None:
        try:
            await self.check(library_id)
        except NotListed:
            return
        finally:
            self._doubted.discard(library_id)

    async def check_all(self) -> None:
        """Check every listed library, one after another (daily, by the housekeeping)."""
        for library in self._link.libraries:
            try:
                await self.check(library.id)
            except NotListed:
                continue

    # ---- what the link says

    def link_ready(self, server_id: str) -> None:
        """Check what has no fresh check yet."""
        self._tried.clear()
        self._was_online = True
        self._look_around()

    def link_down(self, why: str) -> None:
        """Take note that nobody can be asked."""
        self._was_online = False

    def link_changed(self) -> None:
        """Check libraries that are new, or all that stayed unfinished when the server comes back."""
        online = self._link.online
        if online and not self._was_online:
            self._tried.clear()
        self._was_online = online
        if online and self._link.ready.is_set() and any(map(self._is_untried, self._link.libraries)):
            self._look_around()

    # ---- inside

    def _look_around(self) -> None:
        if self._round is None or self._round.done():
            self._round = self._tasks.spawn(self._check_what_is_due(), "first checks")

    async def _check_what_is_due(self) -> None:
        await self._present()
        while due := [library for library in self._link.libraries if self._is_due(library)]:
            try:
                await self.check(due[0].id)
            except NotListed:
                continue

    def _is_untried(self, library: Library) -> bool:
        return (library.id, self._path(library)) not in self._tried

    def _is_due(self, library: Library) -> bool:
        """Tell whether a library was not tried on this link and has no check of its path of the last day."""
        if not self._is_untried(library):
            return False
        outcome = self._kept_now().outcomes.get(library.id)
        if outcome is None or outcome.path != self._path(library) or library.id in self._unfinished:
            return True
        return not timedelta(0) <= self._clock.now() - from_text(outcome.checked_at) < _STALE

    async def _check(self, kept: Kept, library: Library, path: str) -> LibraryView:
        near = [Path(other) for other in kept.paths.values()]
        try:
            outcome, finished = await self._checker.check(library, path, near)
            if self._path(library) == path:
                await self._take(kept, outcome, finished)
        finally:
            self._running.pop((library.id, path), None)
            self.on_change()
        self._link.beat_now()
        return view(library, kept.paths.get(library.id), outcome, checking=False)

    async def _take(self, kept: Kept, outcome: Outcome, finished: bool) -> None:
        """Take in what a check found; one that could not be finished never replaces one that was."""
        before = kept.outcomes.get(outcome.library_id)
        if finished:
            self._unfinished.discard(outcome.library_id)
            kept.outcomes[outcome.library_id] = outcome
            await self._keep(kept, outcome)
            return
        self._unfinished.add(outcome.library_id)
        if before is None or before.path != outcome.path:
            kept.outcomes[outcome.library_id] = outcome

    async def _keep(self, kept: Kept, outcome: Outcome) -> None:
        server_id = kept.server_id
        if server_id is None:
            return
        try:
            await self._db.write(lambda c: rows.keep_outcome(c, server_id, outcome))
        except BridgeError as error:
            _log.warning("The check of library %d can’t be kept: %s", outcome.library_id, error)

    def _view(self, library: Library) -> LibraryView:
        kept = self._kept_now()
        checking = (library.id, self._path(library)) in self._running
        return view(library, kept.paths.get(library.id), kept.outcomes.get(library.id), checking)

    def _path(self, library: Library) -> str:
        return self._kept_now().paths.get(library.id, library.root)

    def _listed(self, library_id: int) -> Library:
        for library in self._link.libraries:
            if library.id == library_id:
                return library
        raise NotListed

    def _server_id(self) -> str:
        server_id = self._link.server_id
        if server_id is None:
            raise NotListed
        return server_id

    def _kept_now(self) -> Kept:
        """Return what is kept of the present server; nothing of another one is ever told."""
        return self._kept if self._kept.server_id == self._link.server_id else Kept()

    async def _present(self) -> Kept:
        """Read what is kept of the present server, unless it is read already."""
        async with self._loading:
            server_id = self._link.server_id
            if server_id is not None and server_id != self._kept.server_id:
                self._kept = await self._db.read(lambda c: rows.load(c, server_id))
            return self._kept


def given_path(text: str) -> str:
    """Return a path that a person gave in its stored form; raises PathRefused.

    Taken off: space around it, the quotes with which Windows copies a path, and a `~` for the home folder.
    """
    bare = text.strip()
    if len(bare) > 1 and bare[0] == bare[-1] and bare[0] in "\"'":
        bare = bare[1:-1]
    if "\0" in bare:
        raise PathRefused("A path can’t hold a NUL character; give the folder’s full path without it.")
    path = os.path.expanduser(bare)  # noqa: PTH111 - pathlib raises for an unknown user
    if not os.path.isabs(path):  # noqa: PTH117 - plain text in, plain text out
        shown = f"“{bare}” is" if bare else "That is"
        raise PathRefused(
            f"{shown} not a folder’s full path; give one like /mnt/audiobooks, or D:\\Audiobooks on Windows."
        )
    return str(Path(path))
