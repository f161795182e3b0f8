"""What the parts heard, word by word, in samples of the whole book."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bridge_agent.transcription.assembly.spread import spread
from bridge_agent.transcription.model import Part, PartResult, Plan, Segment


@dataclass(frozen=True, slots=True)
class HeardWord:
    """A word in samples of the book; `segment` is its segment's place within the part."""

    start: int
    end: int
    text: str
    probability: float
    segment: int

    @property
    def twice_middle(self) -> int:
        """Twice its middle, which is a whole number."""
        return self.start + self.end

    def moved(self, start: int, end: int) -> "HeardWord":
        """Return it with other times."""
        return replace(self, start=start, end=end)


@dataclass(frozen=True, slots=True)
class HeardPart:
    """A part with its result and its words; `offset` turns its file's samples into the book's."""

    part: Part
    result: PartResult
    offset: int
    words: tuple[HeardWord, ...]

    @property
    def own_start(self) -> int:
        """Where its own range begins, in samples of the book."""
        return self.offset + self.part.own_start

    @property
    def own_end(self) -> int:
        """Where its own range ends."""
        return self.offset + self.part.own_end

    def owns(self, twice_middle: int) -> bool:
        """Tell whether its own range holds a middle; a side with no overlap lets nothing fall out."""
        after = self.part.own_start <= self.part.start or twice_middle >= 2 * self.own_start
        before = self.part.own_end >= self.part.end or twice_middle < 2 * self.own_end
        return after and before


def heard_parts(plan: Plan, results: Mapping[int, PartResult]) -> list[HeardPart]:
    """Return the parts that have a result, in the plan's order, whatever the order of the results."""
    found = []
    for part in sorted(plan.parts, key=lambda each: each.number):
        if (result := results.get(part.number)) is not None:
            offset = plan.files[part.file].offset
            found.append(HeardPart(part, result, offset, tuple(_words(part, offset, result.segments))))
    return found


def _words(part: Part, offset: int, segments: Sequence[Segment]) -> list[HeardWord]:
    found = []
    for number, segment in enumerate(segments):
        timed = [(w.text, w.start, w.end, w.probability) for w in segment.words if w.text.strip()]
        if not timed:
            # A segment that was not timed word by word is still shared out by where its words should be.
            placed = spread(segment.text, segment.start, max(segment.start, segment.end))
            timed = [(text, start, end, 0.0) for text, start, end in placed]
        for text, start, end, probability in timed:
            begin = min(max(0, start), part.samples)
            stop = min(max(begin, end), part.samples)
            base = offset + part.start
            found.append(HeardWord(base + begin, base + stop, text, probability, number))
    return found
