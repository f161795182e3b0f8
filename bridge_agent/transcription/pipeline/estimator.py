"""The estimator: how fast a book is transcribed and how long it will still take, from what was seen."""

import heapq
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bridge_agent.transcription.model import RATE

_REMEMBERED = 0.85
"""How much an older part counts beside a newer one, so that a machine that gets slower is noticed."""
_WORDS_A_SECOND = 2.5
"""What a reader reads, until this book's own pace is known."""
_NEARLY = 0.97
"""A part that sounds all heard may still be looked at a second time."""
_OVERDUE = 0.15
"""How much of its expected time a part that is overdue is thought to need still."""
_SAYS_SOMETHING = 0.2
"""From which share of a part on its unfinished words say how fast it goes."""


@dataclass
class _Running:
    """A part that somebody hears now, or has fetched to hear it next (`ahead`)."""

    executor: str
    samples: int
    since: float
    ahead: bool = False
    words: int = 0
    words_at: float = 0.0


@dataclass
class _Pace:
    """Seconds of audio and seconds that it took, the older ones counting less."""

    audio: float = 0.0
    took: float = 0.0

    def add(self, audio: float, took: float) -> None:
        self.audio = self.audio * _REMEMBERED + audio
        self.took = self.took * _REMEMBERED + took

    @property
    def speed(self) -> float:
        return self.audio / self.took if self.took > 0 else 0.0


class Estimator:
    """Watches parts begin and end, by executor. Times are monotonic, speeds seconds of audio a second."""

    def __init__(self, known: Mapping[str, float] | None = None) -> None:
        """Begin; `known` are the speeds at which executors did earlier books with the same settings."""
        self._known = dict(known or {})
        self._paces: dict[str, _Pace] = {}
        self._running: dict[int, _Running] = {}
        self._words = 0
        self._worded_s = 0.0

    def began(self, part: int, executor: str, samples: int, now: float, *, ahead: bool = False) -> None:
        """An executor has begun a part, or has it ahead: it will begin when what it hears is done."""
        self._running[part] = _Running(executor, samples, now, ahead)

    def heard(self, part: int, words: int, now: float) -> None:
        """So many words of a part are heard; fewer than before when it was begun anew."""
        running = self._running.get(part)
        if running is not None and words != running.words:
            # Words come window after window: they tell the speed up to when the last ones came.
            running.words, running.words_at = words, now

    def ended(self, part: int, now: float, *, done: bool, words: int = 0) -> None:
        """A part has come to its end, finished or not."""
        running = self._running.pop(part, None)
        if running is None or not done:
            return
        if running.ahead and (heard := self._heard_by(running.executor)):
            # It hears several at once: what tells its speed is how soon one follows the other.
            running.since, heard[0].since = heard[0].since, now
        pace = self._paces.setdefault(running.executor, _Pace())
        pace.add(running.samples / RATE, max(now - running.since, 1e-6))
        self._words += words
        self._worded_s += running.samples / RATE

    def at_work(self) -> dict[str, int]:
        """Return how many parts each executor hears now."""
        return dict(Counter(running.executor for running in self._running.values() if not running.ahead))

    def running(self) -> dict[int, str]:
        """Return the parts that are begun or fetched ahead, each with who has it."""
        return {part: running.executor for part, running in self._running.items()}

    def hears(self, part: int) -> bool:
        """Tell whether somebody hears a part now; one that is fetched ahead waits for its turn."""
        return part in self._running and not self._running[part].ahead

    def elapsed_s(self, part: int, now: float) -> float:
        """Return for how many seconds a part has been under way."""
        return now - self._running[part].since

    def rest_s(self, part: int, now: float) -> float:
        """Return the seconds that a part under way will still take.

        As long as it is overdue already; of an executor whose speed nobody knows that is all it has taken.
        """
        running = self._running[part]
        speed = self.speed_of(running.executor)
        elapsed = self.elapsed_s(part, now)
        if speed <= 0:
            return elapsed
        if running.ahead:
            before = [self._rest(each, speed, now) for each in self._heard_by(running.executor)]
            return min(before, default=0.0) + running.samples / RATE / speed
        return max(self._rest(running, speed, now), elapsed - running.samples / RATE / speed)

    def speed_of(self, executor: str) -> float:
        """Return the speed of one part at this executor; 0 while nothing is known."""
        pace = self._paces.get(executor)
        if pace is not None and pace.speed > 0:
            return pace.speed
        if self._known.get(executor, 0.0) > 0:
            return self._known[executor]
        return self._first_signs(executor)

    def speed(self, places: Mapping[str, int]) -> float:
        """Return the speed of all together, by how many parts each executor takes at once."""
        return sum(self.speed_of(name) * count for name, count in places.items())

    def done_s(self, now: float) -> float:
        """Return about how many seconds of audio of unfinished parts are heard."""
        begun = (each for each in self._running.values() if not each.ahead)
        return sum(self._progress(each, now) * each.samples / RATE for each in begun)

    def left_s(self, waiting: Sequence[int], places: Mapping[str, int], now: float) -> float | None:
        """Return the seconds until all is heard; None while that can't be told.

        `waiting` are the samples of the parts that nobody has begun, in their order: they are dealt out as
        they will be, each to who is free first.
        """
        speeds = {name: self.speed_of(name) for name in places}
        known = [speed for speed in speeds.values() if speed > 0]
        if not known:
            return None
        typical = sum(known) / len(known)
        free = self._free(places, {name: speed or typical for name, speed in speeds.items()}, now)
        if not free:
            return None
        heapq.heapify(free)
        end = max((at for at, _, _ in free), default=0.0)
        for samples in waiting:
            at, order, speed = heapq.heappop(free)
            following = at + samples / RATE / speed
            end = max(end, following)
            heapq.heappush(free, (following, order, speed))
        return end

    def known(self) -> dict[str, float]:
        """Return the speeds that were seen, to be remembered for the next book."""
        return {name: pace.speed for name, pace in self._paces.items() if pace.speed > 0}

    def _free(
        self, places: Mapping[str, int], speeds: Mapping[str, float], now: float
    ) -> list[tuple[float, int, float]]:
        """Return when each place will be free, in seconds from now."""
        free: list[tuple[float, int, float]] = []
        for name, count in places.items():
            rests = [self._rest(each, speeds[name], now) for each in self._heard_by(name)]
            rests += [0.0] * (count - len(rests))
            for each in self._running.values():
                if rests and each.executor == name and each.ahead:
                    soonest = rests.index(min(rests))
                    rests[soonest] += each.samples / RATE / speeds[name]
            free += [(rest, len(free) + place, speeds[name]) for place, rest in enumerate(rests)]
        return free

    def _heard_by(self, executor: str) -> list[_Running]:
        return [each for each in self._running.values() if each.executor == executor and not each.ahead]

    def _rest(self, running: _Running, speed: float, now: float) -> float:
        expected = running.samples / RATE / speed
        return max(expected - (now - running.since), _OVERDUE * expected)

    def _progress(self, running: _Running, now: float) -> float:
        speed = self.speed_of(running.executor)
        if speed > 0:
            return min(_NEARLY, (now - running.since) * speed * RATE / running.samples)
        return self._share(running)

    def _share(self, running: _Running) -> float:
        """Return which share of a part its words are, by the pace at which this book is read."""
        pace = self._words / self._worded_s if self._words and self._worded_s else _WORDS_A_SECOND
        return min(_NEARLY, running.words / pace * RATE / running.samples) if running.samples else 0.0

    def _first_signs(self, executor: str) -> float:
        """Return the speed that the words of parts under way tell, while none is finished."""
        audio = took = 0.0
        for running in self._running.values():
            share = self._share(running)
            if running.executor == executor and share >= _SAYS_SOMETHING:
                audio += share * running.samples / RATE
                took += running.words_at - running.since
        return audio / took if took > 0 else 0.0
