"""How many parts a worker holds: as many as it hears at once, and the next one just in time."""

from collections.abc import Iterable

from bridge_agent.worker.hold import Stage

AHEAD_S = 20.0
"""So long before a place gets free its next part is claimed: enough to fetch it, too little to hoard."""
_BIG = 4


def wants_more(stages: Iterable[Stage], places: int, free_in: float | None) -> bool:
    """Tell whether one more part should be claimed now.

    `free_in` is in how many seconds the first place should get free, None while that can't be told.
    """
    unfinished = [stage for stage in stages if stage is not Stage.FINISHED]
    if len(unfinished) < places:
        return True
    waiting = sum(stage is not Stage.HEARING for stage in unfinished)
    ahead = 1 if places <= _BIG else 2
    return waiting < ahead and len(unfinished) < places + ahead and (free_in is None or free_in <= AHEAD_S)
