"""Two Bridges with one copied data folder share a token: the one that came second is told (settled point 20).

A Bridge names its process's run with each heartbeat. A new run is nothing special: the Bridge was started
again, and the run before is never heard again. When that earlier run *is* heard again, two are alive with one
token, and the later one is the copy. Kept in memory only: after a restart of the server both are heard anew.
"""

from collections import deque

from bridge_agent.home.errors import Conflict

_MOST_RUNS = 64


class Copied(Conflict):
    """This Bridge works on a copy of another one’s data folder; pair it itself, with a code of its own."""

    code = "copied"


class Runs:
    """The runs that were heard with one token, oldest first."""

    def __init__(self) -> None:
        self._token = ""
        self._runs: deque[str] = deque(maxlen=_MOST_RUNS)
        self._copies: set[str] = set()

    def heard(self, token_hash: str, run: str) -> None:
        """Take note of a heartbeat's run; raises Copied for one that is a copy's."""
        if token_hash != self._token:
            self._token, self._runs, self._copies = token_hash, deque(maxlen=_MOST_RUNS), set()
        if run in self._copies:
            raise Copied
        if run not in self._runs:
            self._runs.append(run)
        while self._runs[-1] != run:
            self._copies.add(self._runs.pop())
