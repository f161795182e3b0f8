"""Where one file is cut into parts: near chapter starts, then in long pauses, by force only without any."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bridge_agent.transcription.model import RATE
from bridge_agent.transcription.planning.pauses import Pauses

TARGET = 150 * RATE
WINDOW = 25 * RATE
MOST = 240 * RATE
LEAST = 20 * RATE
NEAR_CHAPTER = 2 * RATE
OVERLAP = 5 * RATE
"""How far both parts of a forced cut hear beyond it: a word cut in two is whole in one of them."""


@dataclass(frozen=True)
class Cut:
    """A place to cut, in samples of the file; `forced` is one that goes through speech."""

    place: int
    forced: bool = False


def cuts(samples: int, pauses: Pauses, chapter_starts: Sequence[int]) -> list[Cut]:
    """Return a file's cuts in order, its start and its end not among them."""
    borders = [0, *_at_chapters(samples, pauses, chapter_starts), samples]
    found: list[Cut] = []
    for start, end in itertools.pairwise(borders):
        found += _within(start, end, pauses)
        if end < samples:
            found.append(Cut(end))
    return found


def _at_chapters(samples: int, pauses: Pauses, chapter_starts: Sequence[int]) -> list[int]:
    """Return the cuts beside chapter marks; none where no pause is near, or for a scrap."""
    borders: list[int] = []
    for mark in sorted(set(chapter_starts)):
        if not 0 < mark < samples:
            continue
        cut = pauses.best(max(0, mark - NEAR_CHAPTER), min(samples, mark + NEAR_CHAPTER), mark)
        before = borders[-1] if borders else 0
        if cut is not None and cut - before >= LEAST and samples - cut >= LEAST:
            borders.append(cut)
    return borders


def _within(start: int, end: int, pauses: Pauses) -> Iterator[Cut]:
    """Cut a stretch that begins and ends at a good place."""
    heard_from = start
    while end - heard_from > MOST:
        most = min(heard_from + MOST, end - LEAST)
        wanted = start + TARGET
        place = pauses.best(wanted - WINDOW, min(wanted + WINDOW, most), wanted)
        if place is None:
            place = pauses.best(start + LEAST, most, wanted)
        cut = Cut(wanted, forced=True) if place is None else Cut(place)
        yield cut
        start = cut.place
        heard_from = start - OVERLAP if cut.forced else start
