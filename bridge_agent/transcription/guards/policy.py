"""The policy: what is mended in silence, what makes a part be heard once more, what is flagged then."""

from collections.abc import Sequence
from typing import Literal

from bridge_agent.transcription.guards import coverage, loops, pace, silence, times
from bridge_agent.transcription.model import Segment, Span, Value

Fault = Literal["loop", "low_coverage"]
RERUN = "rerun"
UNSURE_LANGUAGE = "unsure_language"
OTHER_SETTINGS = "other_settings"


class Judged(Value, frozen=True):
    """A part's segments, mended, and what is still wrong with them."""

    segments: tuple[Segment, ...]
    faults: tuple[str, ...]
    coverage: float


def judge(
    segments: Sequence[Segment], speech: Sequence[Span], samples: int, *, spaced: bool = True
) -> Judged:
    """Mend a part of that many samples (invented text out, times in order) and say what else is wrong."""
    # Times first: a word that begins in a silence too early is no invented one.
    kept = silence.without_invented(times.repaired(segments, speech, samples), speech)
    spoken = sum(span.samples for span in coverage.union(speech))
    faults: list[Fault] = []
    if loops.looping(kept) or pace.too_fast(kept, spoken, spaced=spaced):
        faults.append("loop")
    if coverage.low(kept, speech) or pace.too_slow(kept, spoken):
        faults.append("low_coverage")
    return Judged(
        segments=tuple(kept), faults=tuple(faults), coverage=round(coverage.coverage(kept, speech), 3)
    )


def better(first: Judged, second: Judged) -> Judged:
    """Return the better of two hearings: fewer faults, no loop, more of the speech; the second when equal."""
    ranks = [(len(each.faults), "loop" in each.faults, -each.coverage) for each in (first, second)]
    return first if ranks[0] < ranks[1] else second
