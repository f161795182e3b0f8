"""What the page is given: settings and clock from the start, the rooms below once they are open."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime

from aiohttp import web

from bridge_agent.base.clock import Clock
from bridge_agent.base.loops import Loops
from bridge_agent.jobs.jobs import Jobs
from bridge_agent.link.link import Link
from bridge_agent.mapping.mappings import Mappings
from bridge_agent.page.speech import Speech
from bridge_agent.settings import BridgeSettings
from bridge_agent.store import Database
from bridge_agent.transcription.transcripts import Transcripts
from bridge_agent.vault import Vault
from bridge_agent.web.errors import ApiError
from bridge_agent.web.events import EventHub
from bridge_agent.worker_api.opening import Workers


@dataclass(frozen=True)
class Rooms:
    """The rooms below the page, all open."""

    db: Database
    vault: Vault
    link: Link
    mappings: Mappings
    jobs: Jobs


@dataclass
class Parts:
    """All that the page stands on; `db` to `jobs` are None until the Bridge has opened them."""

    settings: BridgeSettings
    clock: Clock
    events: EventHub
    loops: Loops
    started_at: datetime
    instance: str = ""
    notes: list[str] = field(default_factory=list)
    db: Database | None = None
    vault: Vault | None = None
    link: Link | None = None
    mappings: Mappings | None = None
    jobs: Jobs | None = None
    transcripts: Transcripts | None = None
    """The transcripts kept here; None shows an empty list."""
    speech: Speech | None = None
    """What transcribes here; None where this Bridge was started without it."""
    workers: Workers | None = None
    """The machines that take part in the work; None where no work is there to share."""
    control_token: str = ""
    ready: bool = False
    examine: Callable[[], Awaitable[list[dict[str, str]]]] | None = None
    """The doctor's findings in the form of the wire; it looks at all rooms and so is given from above."""
    on_open: list[Callable[[], None]] = field(default_factory=list)

    def open(self) -> None:
        """Say that the rooms are open, so that the page is too."""
        for begin in self.on_open:
            begin()
        self.on_open.clear()
        self.ready = True

    def rooms(self) -> Rooms:
        """Return the rooms, all open; raises ApiError 503 `starting` before that."""
        db, vault, link, mappings, jobs = self.db, self.vault, self.link, self.mappings, self.jobs
        if db is None or vault is None or link is None or mappings is None or jobs is None:
            raise starting()
        return Rooms(db, vault, link, mappings, jobs)


def starting() -> ApiError:
    """Return the answer of a Bridge that listens already and is not open yet."""
    return ApiError(
        503, "starting", "The Bridge is starting; this takes a moment, then try again.", retry_after=1
    )


PARTS: web.AppKey[Parts] = web.AppKey("parts", Parts)


def parts_of(request: web.Request) -> Parts:
    """Return the parts of the application that serves a request."""
    return request.app[PARTS]


def rooms_of(request: web.Request) -> Rooms:
    """Return the open rooms for a request; raises ApiError 503 `starting`."""
    return request.app[PARTS].rooms()
