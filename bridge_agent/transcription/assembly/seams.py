"""Seams: which of two overlapping parts a word belongs to, so that none is said twice or lost."""

from collections.abc import Sequence

from bridge_agent.transcription.assembly.heard import HeardPart, HeardWord
from bridge_agent.transcription.model import RATE

SAME_WORD = RATE // 2
"""Two hearings of one word have their middles within this many samples."""


def owned(parts: Sequence[HeardPart]) -> list[list[HeardWord]]:
    """Return each part's own words in order, inside its own range, none beginning before the one before it.

    A word that both sides of a forced cut heard is one word: its times are the mean of the two, and the part
    that holds that mean's middle has it.
    """
    shared: list[dict[int, HeardWord | None]] = [{} for _ in parts]
    for left in range(len(parts) - 1):
        one, other = parts[left], parts[left + 1]
        for i, j in _pairs(one, other):
            _settle(one, other, (i, shared[left]), (j, shared[left + 1]))
    return [
        _ordered(part, [w for n, word in enumerate(part.words) if (w := _own(part, word, n, known))])
        for part, known in zip(parts, shared, strict=True)
    ]


def _own(
    part: HeardPart, word: HeardWord, number: int, shared: dict[int, HeardWord | None]
) -> HeardWord | None:
    if number in shared:
        return shared[number]
    return word if part.owns(word.twice_middle) else None


def _settle(
    one: HeardPart,
    other: HeardPart,
    left: tuple[int, dict[int, HeardWord | None]],
    right: tuple[int, dict[int, HeardWord | None]],
) -> None:
    (i, in_one), (j, in_other) = left, right
    start = (one.words[i].start + other.words[j].start) // 2
    end = (one.words[i].end + other.words[j].end) // 2
    first = start + end < 2 * one.own_end
    in_one[i] = one.words[i].moved(start, end) if first else None
    in_other[j] = None if first else other.words[j].moved(start, end)


def _pairs(one: HeardPart, other: HeardPart) -> list[tuple[int, int]]:
    """Find the words that both heard, in the same order on both sides."""
    if one.part.file != other.part.file or one.part.end <= other.part.start:
        return []
    begin, stop = 2 * (other.offset + other.part.start), 2 * (one.offset + one.part.end)
    rights = [j for j, word in enumerate(other.words) if word.twice_middle <= stop]
    found, least = [], 0
    for i, word in enumerate(one.words):
        if word.twice_middle < begin:
            continue
        near = [
            (abs(word.twice_middle - other.words[j].twice_middle), j)
            for j in rights
            if j >= least and _bare(other.words[j]) == _bare(word)
        ]
        if near and min(near)[0] <= 2 * SAME_WORD:
            j = min(near)[1]
            found.append((i, j))
            least = j + 1
    return found


def _bare(word: HeardWord) -> str:
    return "".join(c for c in word.text.casefold() if c.isalnum()) or word.text.strip()


def _ordered(part: HeardPart, words: Sequence[HeardWord]) -> list[HeardWord]:
    starts: list[int] = []
    for word in words:
        start = min(max(word.start, part.own_start), part.own_end)
        starts.append(max(start, starts[-1]) if starts else start)
    limits = [*starts[1:], part.own_end] if starts else []
    return [
        word.moved(start, max(start, min(word.end, limit)))
        for word, start, limit in zip(words, starts, limits, strict=True)
    ]
