"""The choice of a pause to cut in: the longest near a wanted place. All places are samples of one file."""

from bisect import bisect_left
from collections.abc import Sequence

from bridge_agent.transcription.model import RATE, Span

_EDGE = RATE // 10
"""A cut keeps this far from the speech around it, where the pause is long enough."""


class Pauses:
    """The pauses of one file, ready to be asked; overlapping or unordered ones are put right."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self._spans = sorted((s for s in spans if s.samples > 0), key=lambda s: (s.start, s.end))
        ends: list[int] = []
        for span in self._spans:
            ends.append(max(span.end, ends[-1] if ends else 0))
        self._ends = ends

    def best(self, low: int, high: int, wanted: int) -> int | None:
        """Return where to cut within `low` to `high`: the middle of the longest pause there.

        A tie goes to the cut nearest to `wanted`, then to the earlier one. A pause that only reaches into the
        range is cut at the range's edge, unless that is too near to speech. None where no pause is.
        """
        chosen: tuple[int, int, int] | None = None
        for number in range(bisect_left(self._ends, low), len(self._spans)):
            span = self._spans[number]
            if span.start > high:
                break
            cut = _cut(span, low, high)
            if cut is not None:
                rank = (-span.samples, abs(cut - wanted), cut)
                chosen = rank if chosen is None else min(chosen, rank)
        return None if chosen is None else chosen[2]


def _cut(span: Span, low: int, high: int) -> int | None:
    middle = (span.start + span.end) // 2
    cut = min(max(middle, low), high)
    room = min(cut - span.start, span.end - cut)
    return cut if room >= min(_EDGE, span.samples // 2) else None
