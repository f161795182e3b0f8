"""Wholeness: which tracks a book lacks, told by its numbers (#2226)."""

from collections.abc import Iterable

from bridge_agent.home.library.order import Counted


def lacking(counted: Counted) -> str:
    """Return a plain sentence that names the missing numbers, or an empty text where none is missing.

    Sparse numbers are taken for something other than a count: as many must be there as are missing.
    """
    discs = _gaps(counted.discs)
    if discs:
        return f"Disc {_listed(discs)} of the book is missing."
    sentence = _track_gaps(counted)
    if sentence:
        return sentence
    total = counted.total
    if total and total <= 9999 and len(counted.files) < total and _within(counted, total):
        return f"The tags count {total} tracks, but only {len(counted.files)} are there."
    return ""


def _track_gaps(counted: Counted) -> str:
    whole = sorted(track for _, track in counted.numbers)
    if len(set(whole)) == len(whole):
        # Numbers that go on from disc to disc.
        gaps = _gaps(whole)
        return f"Track {_listed(gaps)} is missing." if gaps else ""
    for disc in sorted({disc for disc, _ in counted.numbers}):
        tracks = [track for number, track in counted.numbers if number == disc]
        if len(set(tracks)) == len(tracks) and (gaps := _gaps(tracks)):
            return f"Track {_listed(gaps)} of disc {disc} is missing."
    return ""


def _gaps(numbers: Iterable[int]) -> list[int]:
    there = {number for number in numbers if number > 0}
    if not there or max(there) > 2 * len(there) + 1:
        return []
    missing = [number for number in range(1, max(there)) if number not in there]
    return missing if len(missing) <= len(there) else []


def _listed(numbers: list[int]) -> str:
    shown = ", ".join(str(number) for number in numbers[:5])
    return f"{shown} and {len(numbers) - 5} more" if len(numbers) > 5 else shown


def _within(counted: Counted, total: int) -> bool:
    return all(track <= total for _, track in counted.numbers)
