"""Lanes: how many jobs of one sort of work run at once (R-096)."""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from bridge_agent.jobs.handlers.base import Handler
from bridge_agent.jobs.server_jobs import Key

LIMITS = {"light": 2, "speech": 1, "agent": 1}
"""How many jobs of each lane run at once; a lane that is not named here runs one."""


def _nothing() -> None:
    """Tell nobody."""


@dataclass
class Lane:
    """One lane: its limit, its kinds, and who is in it."""

    name: str
    limit: int
    kinds: list[str] = field(default_factory=list)
    inside: dict[Key, None] = field(default_factory=dict)
    """Who is in it, by the order of coming."""

    @property
    def room(self) -> int:
        """How many more jobs may enter; a resumed one may stand in it over the limit."""
        return max(0, self.limit - len(self.inside))

    def view(self) -> dict[str, Any]:
        """Return the lane as the page's status tells it."""
        return {
            "name": self.name,
            "limit": self.limit,
            # Who came over the limit waits for its turn.
            "running": min(len(self.inside), self.limit),
            "kinds": list(self.kinds),
        }


class Lanes:
    """All lanes, by the handlers that this Bridge has."""

    def __init__(self, handlers: Iterable[Handler], limits: dict[str, int] | None = None) -> None:
        """Make a lane for each name that a handler gives; `on_change` is called when somebody leaves one."""
        limits = LIMITS if limits is None else limits
        self._lanes: dict[str, Lane] = {}
        self._of: dict[str, Lane] = {}
        self.on_change: Callable[[], None] = _nothing
        self._watching: set[asyncio.Event] = set()
        for handler in handlers:
            lane = self._lanes.setdefault(handler.lane, Lane(handler.lane, limits.get(handler.lane, 1)))
            lane.kinds.append(handler.kind)
            self._of[handler.kind] = lane

    def enter(self, key: Key, kind: str) -> None:
        """Count a job in its lane, even over the limit: what is resumed is held already."""
        self._of[kind].inside[key] = None

    def leave(self, key: Key) -> None:
        """Count a job in no lane any more; harmless when repeated."""
        for lane in self._lanes.values():
            if key in lane.inside:
                del lane.inside[key]
                self.on_change()
                for news in self._watching:
                    news.set()

    def is_over(self, key: Key) -> bool:
        """Tell whether a job stands in its lane over the limit: as many came before it as may run."""
        return any(key in list(lane.inside)[lane.limit :] for lane in self._lanes.values())

    @contextlib.contextmanager
    def watched(self, news: asyncio.Event) -> Iterator[None]:
        """Set an event whenever somebody leaves a lane."""
        self._watching.add(news)
        try:
            yield
        finally:
            self._watching.discard(news)

    def free_kinds(self) -> list[str]:
        """Return the kinds whose lane has room, each once (R-053)."""
        return [kind for kind, lane in self._of.items() if lane.room]

    def view(self) -> list[dict[str, Any]]:
        """Return the lanes as the page's status tells them."""
        return [lane.view() for lane in self._lanes.values()]
