"""The board: the open claims, and those that ended last, as the page shows them without asking the store."""

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

from bridge_agent.jobs.server_jobs import Key, Row
from bridge_agent.protocol.bridge import Progress, plain

RECENT = 20
"""How many ended claims the board remembers."""


def _unheard(job: dict[str, Any]) -> None:
    """Tell nobody."""


class Board:
    """What every room of this package writes its rows on; `on_change` hears of each visible change."""

    def __init__(self) -> None:
        self._open: dict[Key, Row] = {}
        self._ended: dict[Key, Row] = {}
        self.on_change: Callable[[dict[str, Any]], None] = _unheard

    def load(self, open_rows: Iterable[Row], ended: Iterable[Row]) -> None:
        """Begin with the store's rows: the open ones, and those that ended last, newest first."""
        self._open = {row.key: row for row in open_rows}
        self._ended = {row.key: row for row in reversed(list(ended)[:RECENT])}

    def put(self, row: Row) -> None:
        """Show a row as it now is."""
        if row.open:
            self._ended.pop(row.key, None)
            self._open[row.key] = row
        else:
            self._open.pop(row.key, None)
            # Kept in its place when it ended before: being reported makes it no newer.
            self._ended[row.key] = row
            while len(self._ended) > RECENT:
                del self._ended[next(iter(self._ended))]
        self.on_change(row.wire())

    def put_all(self, rows: Iterable[Row]) -> None:
        """Show some rows as they now are."""
        for row in rows:
            self.put(row)

    def progress(self, key: Key, progress: Progress) -> None:
        """Show how far an open claim is; this is not written down with each step."""
        row = self._open.get(key)
        if row is not None:
            self.put(dataclasses.replace(row, progress=plain(progress)))

    def live(self, row: Row) -> Row:
        """Return a stored row with the progress that only the board knows."""
        here = self._open.get(row.key)
        return here if here is not None and row.open else row

    def running(self) -> list[dict[str, Any]]:
        """Return the open claims, newest first."""
        return [row.wire() for row in reversed(self._open.values())]

    def recent(self) -> list[dict[str, Any]]:
        """Return the claims that ended last, newest first."""
        return [row.wire() for row in reversed(self._ended.values())]
