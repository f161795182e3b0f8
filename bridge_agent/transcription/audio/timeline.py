"""A file's time line: where frames lie on it, and which holes are filled with silence."""

from bridge_agent.transcription.model import RATE, Damage

_LEAST_HOLE = 0.1
"""Seconds: smaller jumps of the timestamps without a bad packet are rounding or a codec's delay."""
_LEAST_DAMAGE = 0.005
_MOST_HOLE = 900.0
"""Seconds: a longer jump is believed only where the container has a table of all timestamps."""
_MOST_FILLED = 24 * 3600 * RATE
"""No file is filled with more silence than a day: a header gone wrong must not make it endless."""
_LATEST_START = 3600.0
_JOIN = RATE
"""Damages nearer together than a second are one."""


class TimeLine:
    """Counts the samples put out, and says how much silence belongs before the next frame.

    `absolute` says that the container's time line begins at zero, so that a late first frame is heard late;
    `stamped`, that its frames carry timestamps of their own, so that a jump is a hole; `exact`, that these
    come from a table and can be believed over any distance.
    """

    def __init__(self, *, absolute: bool, stamped: bool, exact: bool) -> None:
        self._absolute = absolute
        self._stamped = stamped
        self._exact = exact
        self._expected: float | None = None
        self._bad = 0
        self._bad_end: float | None = None
        self._filled = 0
        self.samples = 0
        self.damage: list[Damage] = []

    def bad_packet(self, end: float | None) -> None:
        """Take note of a packet that gave nothing; `end` is where it ends by its timestamp, in seconds."""
        self._bad += 1
        if end is not None:
            self._bad_end = end if self._bad_end is None else max(end, self._bad_end)

    def hole(self, start: float | None, seconds: float) -> int:
        """Return the samples of silence before a frame that starts at `start` and is `seconds` long."""
        if start is None:
            self._expected = None
            return 0
        gap = self._gap(start)
        self._expected = start + seconds
        return self._bounded(gap)

    def put(self, samples: int) -> None:
        """Count samples put out; called before `fill`, so that a damage lies behind them."""
        self.samples += samples

    def fill(self, samples: int) -> None:
        """Count a hole that was filled, as damage; the silence before a late start is none."""
        late_start = self.samples == 0 and not self._bad
        start = self.samples
        self.samples += samples
        self._filled += samples
        if not late_start and (samples or self._bad):
            self._damaged(start, self.samples, "damaged")
        self._bad = 0
        self._bad_end = None

    @property
    def broken(self) -> bool:
        """Whether packets were bad since the last frame."""
        return self._bad > 0

    def tail(self) -> int:
        """Return the samples of silence for bad packets at the end, where timestamps are believed."""
        if not self._bad or self._bad_end is None or not self._exact:
            return 0
        return self._bounded(max(0, round((self._bad_end - (self._expected or 0.0)) * RATE)))

    def ends_early(self) -> None:
        """Take note that the file breaks off here, of which the last damage may be a part."""
        start = self.samples
        if self.damage and start - self.damage[-1].end < _JOIN:
            start = self.damage.pop().start
        self.damage.append(Damage(start=start, end=self.samples, reason="truncated"))

    def _bounded(self, gap: int) -> int:
        return gap if self._filled + gap <= _MOST_FILLED else 0

    def _gap(self, start: float) -> int:
        before = self._expected
        if before is None:
            if self.samples or not (self._absolute or self._bad):
                return 0
            before = 0.0
        gap = start - before
        least = _LEAST_DAMAGE if self._bad else _LEAST_HOLE
        most = _LATEST_START if not self.samples and not self._bad else _MOST_HOLE
        if gap < least or (gap > most and not (self._exact and self.samples)):
            return 0
        if not self._bad and not self._stamped:
            return 0
        return round(gap * RATE)

    def _damaged(self, start: int, end: int, reason: str) -> None:
        if self.damage and start - self.damage[-1].end < _JOIN:
            start = self.damage.pop().start
        self.damage.append(Damage(start=start, end=end, reason=reason))
