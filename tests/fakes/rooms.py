"""Stand-ins for the rooms below the page, put into any state at will: for pages of every state."""

from dataclasses import dataclass, field
from datetime import datetime
from types import SimpleNamespace
from typing import Any

from bridge_agent.base.clock import Clock, later, to_text
from bridge_agent.base.loops import Loops
from bridge_agent.jobs.errors import Finished, NoSuchJob, NotWaiting
from bridge_agent.link.errors import PairFailed
from bridge_agent.page.parts import Parts
from bridge_agent.protocol.bridge import Library
from bridge_agent.settings import BridgeSettings
from bridge_agent.store import Database
from bridge_agent.web.events import EventHub

SERVER_ID = "6b1f0c7e-6f1d-4d6d-9a55-3a6f0e9f2c11"


@dataclass
class FakeLink:
    """A link in whatever state a test puts it."""

    state: str = "unpaired"
    reason: str = ""
    server_url: str = ""
    server_name: str = ""
    server_id: str = ""
    libraries: list[Library] = field(default_factory=list)
    last_heartbeat_at: datetime | None = None
    next_try_at: datetime | None = None
    listeners: list[Any] = field(default_factory=list)
    pairings: list[tuple[str, str]] = field(default_factory=list)
    failure: PairFailed | None = None

    @property
    def online(self) -> bool:
        return self.state == "online"

    async def pair(self, server_url: str, code: str) -> None:
        self.pairings.append((server_url, code))
        if self.failure is not None:
            raise self.failure
        self.state, self.server_url, self.server_name = "connecting", server_url, "Maple House"
        self.server_id = SERVER_ID
        self.changed()

    async def unpair(self) -> None:
        self.state, self.server_url, self.server_name, self.libraries = "unpaired", "", "", []
        self.changed()

    def changed(self) -> None:
        for listener in self.listeners:
            listener.link_changed()


@dataclass
class FakeJobs:
    """Jobs as rows of the API, newest first."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    on_change: Any = None
    cancelled: list[tuple[str, int]] = field(default_factory=list)
    resumed: list[tuple[str, int]] = field(default_factory=list)
    settled_calls: int = 0

    def view(self) -> dict[str, Any]:
        running = [row for row in self.rows if row["finished_at"] is None]
        return {"running": running, "recent": [row for row in self.rows if row["finished_at"]][:20]}

    def lanes(self) -> list[dict[str, Any]]:
        running = sum(1 for row in self.rows if row["state"] == "running")
        return [{"name": "light", "limit": 2, "running": running, "kinds": ["bridge.verify"]}]

    async def history(self, state: str | None, before: str | None, limit: int) -> dict[str, Any]:
        rows = [row for row in self.rows if state in (None, row["state"])]
        start = int(before) if before else 0
        more = len(rows) > start + limit
        return {"jobs": rows[start : start + limit], "next_before": str(start + limit) if more else None}

    async def get(self, server_id: str, job_id: int) -> dict[str, Any] | None:
        found = [row for row in self.rows if (row["server_id"], row["job_id"]) == (server_id, job_id)]
        return {**found[0], "attempts": found} if found else None

    async def cancel(self, server_id: str, job_id: int) -> None:
        job = await self.get(server_id, job_id)
        if job is None:
            raise NoSuchJob
        if job["finished_at"] is not None:
            raise Finished
        self.cancelled.append((server_id, job_id))

    async def resume(self, server_id: str, job_id: int) -> None:
        job = await self.get(server_id, job_id)
        if job is None:
            raise NoSuchJob
        if job["state"] != "needs_attention":
            raise NotWaiting
        self.resumed.append((server_id, job_id))

    async def settled(self) -> None:
        self.settled_calls += 1


@dataclass
class FakeMappings:
    """Libraries as the API tells them."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    on_change: Any = None
    done: list[tuple[Any, ...]] = field(default_factory=list)
    refusal: Exception | None = None

    def views(self) -> list[Any]:
        return [SimpleView(row) for row in self.rows]

    async def set(self, library_id: int, path: str) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.done.append(("set", library_id, path))

    async def clear(self, library_id: int) -> None:
        self.done.append(("clear", library_id))

    async def check(self, library_id: int) -> Any:
        self.done.append(("check", library_id))
        return next(SimpleView(row) for row in self.rows if row["library_id"] == library_id)


class SimpleView(dict[str, Any]):
    """A library's view: a dict on the wire, with attributes for whoever reads them."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(name) from error


class FakeVault:
    """A vault that only says where it is."""

    def __init__(self) -> None:
        self.place = SimpleNamespace(
            kind="keyring",
            sentence="The token is in this computer’s keyring (GNOME Keyring).",
            strength="strong",
        )

    def describe(self) -> Any:
        return self.place


@dataclass
class Household:
    """A page's parts with stand-ins for the rooms, in the state that a test gives them."""

    parts: Parts
    link: FakeLink
    jobs: FakeJobs
    mappings: FakeMappings
    clock: Clock

    def pair(self, state: str = "online", ago: float = 12.0, **more: Any) -> None:
        """Put the link into a state with a server."""
        link = self.link
        link.state, link.server_url, link.server_name = state, "http://maple.local:13390", "Maple House"
        link.server_id = SERVER_ID
        link.last_heartbeat_at = later(self.clock.now(), -ago)
        for name, value in more.items():
            setattr(link, name, value)

    def library(self, library_id: int = 1, name: str = "Audiobooks", **more: Any) -> dict[str, Any]:
        """Add a library that is seen, unless `more` says otherwise."""
        row = {
            "library_id": library_id,
            "path": "/mnt/media/Audiobooks",
            "ok": True,
            "readable": True,
            "writable": True,
            "checked_at": to_text(later(self.clock.now(), -40)),
            "files_checked": 5,
            "files_matched": 5,
            "name": name,
            "root": "/audiobooks",
            "mapped": True,
            "deepest_existing": "/mnt/media/Audiobooks",
            "proposals": [],
            **more,
        }
        self.link.libraries.append(Library(id=library_id, name=name, root=row["root"]))
        self.mappings.rows.append(row)
        return row

    def job(self, job_id: int, state: str, path: str = "Aesop/Three Fables", **more: Any) -> dict[str, Any]:
        """Add a job, the newest first."""
        ended = state in ("done", "failed", "cancelled", "lost")
        row = {
            "server_id": SERVER_ID,
            "job_id": job_id,
            "attempt": 1,
            "kind": "bridge.verify",
            "library_id": 1,
            "path": path,
            "params": {},
            "state": state,
            "progress": None,
            "result": None,
            "error": None,
            "reported": ended,
            "note": None,
            "claimed_at": to_text(later(self.clock.now(), -60.0)),
            "started_at": to_text(later(self.clock.now(), -60.0)),
            "finished_at": to_text(later(self.clock.now(), -55.0)) if ended else None,
            **more,
        }
        self.jobs.rows.insert(0, row)
        return row


def household(settings: BridgeSettings, db: Database, clock: Clock) -> Household:
    """Build a page's parts on stand-ins."""
    link, jobs, mappings = FakeLink(), FakeJobs(), FakeMappings()
    parts = Parts(
        settings=settings,
        clock=clock,
        events=EventHub(clock),
        loops=Loops(clock),
        started_at=later(clock.now(), -3 * 86_400),
        instance="test1",
    )
    rooms: Any = parts
    rooms.db, rooms.vault, rooms.link, rooms.mappings, rooms.jobs = db, FakeVault(), link, mappings, jobs
    return Household(parts, link, jobs, mappings, clock)
