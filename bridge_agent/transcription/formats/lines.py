"""Lines: a cue's text on one line or two, broken at the best place that leaves both short enough."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from bridge_agent.transcription.formats.atoms import LINE, Atom
from bridge_agent.transcription.formats.breaks import rank

_BREAK = (0.0, 8.0, 20.0)


def limit(atoms: Sequence[Atom]) -> list[int]:
    """For each atom, return up to which one two lines that begin with it can reach."""
    widths = [0, *accumulate(atom.width + atom.space for atom in atoms)]
    one = [
        max(bisect_right(widths, widths[i] + atom.space + LINE) - 1, i + 1) for i, atom in enumerate(atoms)
    ]
    one.append(len(atoms))
    return [one[first] for first in one[:-1]]


def broken(atoms: Sequence[Atom]) -> list[str]:
    """Return a cue's one or two lines."""
    whole = text(atoms)
    widths = [0, *accumulate(atom.width + atom.space for atom in atoms)]
    total = widths[-1] - atoms[0].space
    if total <= LINE:
        return [whole]
    best, at = float("inf"), 1
    for m in range(1, len(atoms)):
        left = widths[m] - atoms[0].space
        right = widths[-1] - widths[m] - atoms[m].space
        if left <= LINE and right <= LINE:
            cost = _BREAK[rank(atoms[m - 1].text)] + abs(left - right) / 2
            if cost < best:
                best, at = cost, m
    return [text(atoms[:at]), text(atoms[at:])]


def text(atoms: Sequence[Atom]) -> str:
    """Return the atoms as one text."""
    return "".join((" " if atom.space and n else "") + atom.text for n, atom in enumerate(atoms))
