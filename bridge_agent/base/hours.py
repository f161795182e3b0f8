"""Hours of the day: spans like `22:00-07:00` of local time, over midnight or not."""

import re
from dataclasses import dataclass
from datetime import datetime

DAY_MINUTES = 24 * 60
_SPAN = re.compile(r"(\d{1,2}):(\d{2})\s*[-–]\s*(\d{1,2}):(\d{2})\Z")


@dataclass(frozen=True)
class Hours:
    """Spans of a day in minutes after midnight, each from its begin up to its end; none: the whole day."""

    spans: tuple[tuple[int, int], ...] = ()

    @classmethod
    def parse(cls, text: str) -> "Hours":
        """Read spans joined by `,` or `;`; raises ValueError."""
        pieces = [piece.strip() for piece in text.replace(";", ",").split(",")]
        return cls(tuple(_span(piece) for piece in pieces if piece))

    def open_at(self, local: datetime) -> bool:
        """Tell whether a moment of local time lies in one of the spans."""
        minute = local.hour * 60 + local.minute
        return not self.spans or any(_holds(span, minute) for span in self.spans)

    def __str__(self) -> str:
        return ", ".join(f"{_clock(start)}–{_clock(end)}" for start, end in self.spans)


def _span(text: str) -> tuple[int, int]:
    found = _SPAN.match(text)
    wanted = ValueError("needs hours like 22:00-07:00, several joined by ,")
    if found is None:
        raise wanted
    hour, minute, last_hour, last_minute = map(int, found.groups())
    start, end = hour * 60 + minute, last_hour * 60 + last_minute
    if minute > 59 or last_minute > 59 or start >= DAY_MINUTES or end > DAY_MINUTES or start == end:
        raise wanted
    return start, end


def _holds(span: tuple[int, int], minute: int) -> bool:
    start, end = span
    return start <= minute < end if start < end else minute >= start or minute < end


def _clock(minute: int) -> str:
    return f"{minute // 60:02d}:{minute % 60:02d}"
