"""Stragglers: near a book's end, parts that somebody who is free would end sooner than who holds them."""

from bridge_agent.transcription.model import RATE
from bridge_agent.transcription.pipeline.live import Live

_SURE = 1.25
"""By how much sooner it must be: a part that changes hands has lost what was done of it."""
_HANDING_S = 5.0
"""Ending a claim and beginning anew."""
_SETTLED_S = 15.0
"""A part that was begun more lately is left alone: little is lost by waiting a while."""


def straggler(live: Live, name: str, now: float) -> int | None:
    """Return the number of the part that `name`, who is free, should take from its holder, or None.

    There is one only when nobody has anything else to begin, and only when the speed of `name` is known.
    `now` is monotonic.
    """
    mine = live.estimator.speed_of(name)
    if mine <= 0 or live.waiting():
        return None
    gains = []
    for part, executor in live.estimator.running().items():
        anew = live.parts.get(part, 0) / RATE / mine * _SURE + _HANDING_S
        rest = live.estimator.rest_s(part, now)
        settled = live.estimator.elapsed_s(part, now) >= _SETTLED_S
        if executor != name and settled and anew < rest:
            gains.append((anew - rest, part))
    return min(gains)[1] if gains else None
