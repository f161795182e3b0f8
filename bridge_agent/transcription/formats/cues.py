"""Cues: a transcript as subtitles, at most two lines of 42 columns, 1 to 7 s, broken where one breathes."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from bridge_agent.transcription.assembly.transcript import Transcript, milliseconds
from bridge_agent.transcription.formats.atoms import Atom, atoms
from bridge_agent.transcription.formats.breaks import rank
from bridge_agent.transcription.formats.lines import broken, limit
from bridge_agent.transcription.formats.tokens import Zones, all_tokens

SHORTEST, LONGEST = 1000, 7000
"""How long a cue stays, in milliseconds."""
_NEW_CUE_PAUSE = 2000

# What a break or a cue costs; the row of cues with the lowest sum is taken.
_CUE = 10.0
_END = (0.0, 6.0, 14.0)
_INNER_PHRASE = 12.0
_INNER_PAUSE = 8.0
_PAUSE = 300
_LONG_PAUSE = 700
_NARROW = 10
_NARROW_COST = 5.0
_TOO_SHORT_COST = 60.0


@dataclass(frozen=True, slots=True)
class Cue:
    """A cue in milliseconds of the book, with its lines and the number of its chapter."""

    start: int
    end: int
    lines: tuple[str, ...]
    chapter: int


@dataclass(frozen=True, slots=True)
class _Draft:
    atoms: Sequence[Atom]
    zone: int


def cues(transcript: Transcript) -> list[Cue]:
    """Return the cues of a transcript: in order, none over another, none across a chapter, file or gap."""
    zones = Zones(transcript)
    drafts: list[_Draft] = []
    for run in _runs(atoms(all_tokens(transcript), zones)):
        limits = zones.limits(run[0].zone)
        cuts = _best(run, limits[1])
        drafts += [_Draft(run[i:j], run[0].zone) for i, j in pairwise(cuts)]
    starts = [milliseconds(chapter.start) for chapter in transcript.chapters]
    return [
        Cue(start, end, tuple(broken(draft.atoms)), max(0, bisect_right(starts, start) - 1))
        for draft, (start, end) in zip(drafts, _timed(drafts, zones), strict=True)
    ]


def _runs(found: Sequence[Atom]) -> list[list[Atom]]:
    """Part atoms where a cue must end: at a zone's border and in a long pause."""
    runs: list[list[Atom]] = []
    for atom in found:
        last = runs[-1][-1] if runs else None
        if last is None or last.zone != atom.zone or atom.start - last.end >= _NEW_CUE_PAUSE:
            runs.append([atom])
        else:
            runs[-1].append(atom)
    return runs


class _Costs:
    """What it costs to make one cue of a run's atoms from `i` up to `j`."""

    def __init__(self, run: Sequence[Atom], zone_end: int) -> None:
        self.run = run
        self.far = limit(run)
        nexts = [*(atom.start for atom in run[1:]), zone_end]
        pauses = [after - atom.end for atom, after in zip(run, nexts, strict=True)]
        ranks = [rank(atom.text) for atom in run]
        self._nexts = nexts
        self._ends = [_END[r] / (2 if p >= _PAUSE else 1) for r, p in zip(ranks, pauses, strict=True)]
        self._ends[-1] = 0.0
        inner = [
            (_INNER_PHRASE if r == 0 else 0.0) + (_INNER_PAUSE if p >= _LONG_PAUSE else 0.0)
            for r, p in zip(ranks, pauses, strict=True)
        ]
        self._inner = [0.0, *accumulate(inner)]
        self._widths = [0, *accumulate(atom.width + atom.space for atom in run)]

    def fits(self, i: int, j: int) -> bool:
        """Tell whether they fit two lines and seven seconds; a single atom always goes."""
        span = self.run[j - 1].end - self.run[i].start
        return j == i + 1 or (j <= self.far[i] and span <= LONGEST)

    def of(self, i: int, j: int) -> float:
        """Return the cost."""
        cost = _CUE + self._ends[j - 1] + self._inner[j - 1] - self._inner[i]
        room = self._nexts[j - 1] - self.run[i].start
        if room < SHORTEST:
            cost += _TOO_SHORT_COST * (SHORTEST - room) / SHORTEST
        if self._widths[j] - self._widths[i] < _NARROW:
            cost += _NARROW_COST
        return cost


def _best(run: Sequence[Atom], zone_end: int) -> list[int]:
    """Return the borders of the cheapest row of cues, the first 0 and the last the number of atoms."""
    costs = _Costs(run, zone_end)
    best, back = [0.0], [0]
    for j in range(1, len(run) + 1):
        lowest, at = best[j - 1] + costs.of(j - 1, j), j - 1
        i = j - 2
        while i >= 0 and costs.fits(i, j):
            if (cost := best[i] + costs.of(i, j)) < lowest:
                lowest, at = cost, i
            i -= 1
        best.append(lowest)
        back.append(at)
    borders = [len(run)]
    while borders[-1]:
        borders.append(back[borders[-1]])
    return borders[::-1]


def _timed(drafts: Sequence[_Draft], zones: Zones) -> list[tuple[int, int]]:
    """Give each cue its times: its words', kept in its zone, a second long where there is room."""
    starts = _starts(drafts, zones)
    timed: list[tuple[int, int]] = []
    for number, draft in enumerate(drafts):
        start = starts[number]
        room_end = max(zones.limits(draft.zone)[1], start + 1)
        if number + 1 < len(drafts):
            room_end = min(room_end, starts[number + 1])
        end = max(max(atom.end for atom in draft.atoms), start + SHORTEST)
        end = max(start + 1, min(end, room_end, start + LONGEST))
        if end - start < SHORTEST:
            room_start = max(timed[-1][1] if timed else 0, zones.limits(draft.zone)[0])
            start = min(start, max(room_start, end - SHORTEST))
        timed.append((start, end))
    return timed


def _starts(drafts: Sequence[_Draft], zones: Zones) -> list[int]:
    """Return where cues begin: each after the one before, inside its zone if there is room."""
    starts = [
        min(max(draft.atoms[0].start, zones.limits(draft.zone)[0]), zones.limits(draft.zone)[1] - 1)
        for draft in drafts
    ]
    for number in range(len(starts) - 2, -1, -1):
        starts[number] = min(starts[number], starts[number + 1] - 1)
    for number in range(len(starts)):
        starts[number] = max(starts[number], starts[number - 1] + 1 if number else 0)
    return starts
