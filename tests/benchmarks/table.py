"""One row a figure: what was measured, beside its limit from the same run, and whether it holds."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """A figure and its limit as they stand in the table; `holds` compares the two."""

    what: str
    figure: str
    limit: str
    holds: bool
    note: str = ""


def percentile(values: Sequence[float], part: float) -> float:
    """Return the value below which that part of the values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def lines(rows: Iterable[Row]) -> list[str]:
    """Return the table as Markdown."""
    head = ["| what | measured | limit | |", "|---|---|---|---|"]
    body = [
        f"| {row.what} | {row.figure}{f' ({row.note})' if row.note else ''} | {row.limit} | "
        f"{'✓' if row.holds else '✕ over'} |"
        for row in rows
    ]
    return head + body
