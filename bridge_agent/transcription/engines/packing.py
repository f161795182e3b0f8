"""Packing: speech moved together without the silence between, and the way back to where it was."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise

from bridge_agent.transcription.model import Span


def joined(spans: Sequence[Span], gap: int) -> list[Span]:
    """Join spans with less than `gap` samples between them."""
    result: list[Span] = []
    for span in spans:
        if result and span.start - result[-1].end < gap:
            result[-1] = Span(start=result[-1].start, end=max(result[-1].end, span.end))
        else:
            result.append(span)
    return result


def padded(spans: Sequence[Span], pad: int, samples: int) -> list[Span]:
    """Widen spans by `pad` on both sides within 0 to `samples`; a pause too short for two is halved."""
    if not spans:
        return []
    starts = [max(0, spans[0].start - pad)]
    ends = []
    for before, after in pairwise(spans):
        pause = after.start - before.end
        ends.append(before.end + min(pad, pause // 2))
        starts.append(after.start - min(pad, pause // 2))
    ends.append(min(samples, spans[-1].end + pad))
    return [Span(start=start, end=end) for start, end in zip(starts, ends, strict=True)]


class Packing:
    """Spans laid end to end, in samples."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self.spans = tuple(spans)
        lengths = [span.samples for span in spans]
        self._ends = list(accumulate(lengths))
        self.samples = self._ends[-1] if self._ends else 0

    def windows(self, longest: int) -> list[Span]:
        """Group whole spans into windows of at most `longest` packed samples (a longer span stands alone)."""
        windows: list[Span] = []
        start = 0
        for before, end in pairwise([0, *self._ends]):
            if end - start > longest and before > start:
                windows.append(Span(start=start, end=before))
                start = before
        if self.samples > start:
            windows.append(Span(start=start, end=self.samples))
        return windows

    def back(self, start: int, end: int) -> tuple[int, int]:
        """Return where a packed word was: in the span that holds its middle, and clamped to that span."""
        at = min(bisect_right(self._ends, (start + end) // 2), len(self.spans) - 1)
        span = self.spans[at]
        moved = span.end - self._ends[at]
        return tuple(min(max(place + moved, span.start), span.end) for place in (start, end))  # type: ignore[return-value]

    def back_apart(self, start: int, end: int) -> tuple[int, int]:
        """Return where a packed stretch was that may reach over several spans."""
        return self._place(start, bisect_right(self._ends, start)), self._place(end, self._holding_end(end))

    def _holding_end(self, end: int) -> int:
        # An end that falls on a border belongs to the span before it.
        return bisect_right(self._ends, max(0, end - 1))

    def _place(self, place: int, at: int) -> int:
        at = min(at, len(self.spans) - 1)
        span = self.spans[at]
        return min(max(place + span.end - self._ends[at], span.start), span.end)
