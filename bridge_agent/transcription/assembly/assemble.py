"""A book's transcript out of its plan and the results of its parts: pure, whatever their order."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import msgspec

from bridge_agent.transcription.assembly import seams
from bridge_agent.transcription.assembly.chapters import chapters
from bridge_agent.transcription.assembly.engines import engine_of
from bridge_agent.transcription.assembly.gaps import gaps
from bridge_agent.transcription.assembly.heard import HeardPart, HeardWord, heard_parts
from bridge_agent.transcription.assembly.transcript import (
    FLAGS,
    Chapter,
    File,
    Segment,
    Transcript,
    Word,
    seconds,
    to_ms,
)
from bridge_agent.transcription.model import PartResult, Plan
from bridge_agent.transcription.model import Segment as EngineSegment


@dataclass(frozen=True, slots=True)
class _Timed:
    """A word with its times in milliseconds of the book."""

    start: int
    end: int
    word: HeardWord


def transcript(plan: Plan, results: Mapping[int, PartResult], title: str, author: str) -> Transcript:
    """Assemble a book. A part without a result is a gap with the reason `failed`.

    Times stay whole samples until they are rounded once, to the millisecond.
    """
    parts = heard_parts(plan, results)
    found = chapters(plan, title)
    engine, others = engine_of(plan, parts)
    starts = [to_ms(chapter.start) for chapter in found]
    segments: list[Segment] = []
    for heard, words in zip(parts, seams.owned(parts), strict=True):
        flags = (*heard.result.flags, *(["other_settings"] if heard.part.number in others else []))
        for number, own in groupby(words, key=lambda word: word.segment):
            source = heard.result.segments[number]
            built = _Builder(plan, heard, source, starts, _flags(flags))
            segments.extend(built.segments(list(own), len(segments)))
    return Transcript(
        title=_clean(title),
        author=_clean(author),
        language=_language(plan, parts),
        duration=seconds(to_ms(plan.samples)),
        engine=engine,
        files=tuple(_files(plan)),
        chapters=tuple(
            Chapter(
                title=_clean(chapter.title),
                start=seconds(to_ms(chapter.start)),
                end=seconds(to_ms(chapter.end)),
                source=chapter.source,
            )
            for chapter in found
        ),
        segments=tuple(segments),
        gaps=tuple(gaps(plan, results)),
    )


@dataclass(frozen=True, slots=True)
class _Builder:
    """Turns the words that a part owns of one engine segment into segments, one for each chapter."""

    plan: Plan
    heard: HeardPart
    source: EngineSegment
    chapter_starts: Sequence[int]
    flags: tuple[str, ...]

    def segments(self, own: Sequence[HeardWord], first_id: int) -> list[Segment]:
        timed = [_Timed(to_ms(word.start), to_ms(word.end), word) for word in own]
        if any(word.text.strip() for word in self.source.words):
            groups = [list(g) for _, g in groupby(timed, key=lambda t: self._chapter(t.start, t.end))]
        else:
            # Guessed places of words are good enough to share them out, not to cut a sentence by.
            groups = [timed]
        whole = len(groups) == 1 and self._all_of_it(own)
        made = [self._segment(group, whole) for group in groups]
        return [
            msgspec.structs.replace(segment, id=first_id + n)
            for n, segment in enumerate(s for s in made if s.text)
        ]

    def _chapter(self, start: int, end: int) -> int:
        return max(0, bisect_right(self.chapter_starts, (start + end) / 2) - 1)

    def _all_of_it(self, own: Sequence[HeardWord]) -> bool:
        number = own[0].segment
        return len(own) == sum(1 for word in self.heard.words if word.segment == number)

    def _segment(self, group: Sequence[_Timed], whole: bool) -> Segment:
        start, end = group[0].start, group[-1].end
        joined = "".join(timed.word.text for timed in group)
        text = self.source.text if whole and self.source.text.strip() else joined
        return Segment(
            id=0,
            file=self.heard.part.file,
            chapter=self._chapter(start, end),
            start=seconds(start),
            end=seconds(end),
            text=_clean(text),
            avg_logprob=_rounded(self.source.avg_logprob),
            no_speech_prob=_rounded(self.source.no_speech_prob),
            flags=self.flags,
            words=self._words(group),
        )

    def _words(self, group: Sequence[_Timed]) -> tuple[Word, ...]:
        if not (self.plan.settings.word_timestamps and self.source.words):
            return ()
        return tuple(
            Word(
                start=seconds(timed.start),
                end=seconds(timed.end),
                word=_sound(timed.word.text),
                probability=_rounded(timed.word.probability),
            )
            for timed in group
        )


def _flags(found: Sequence[str]) -> tuple[str, ...]:
    return tuple(flag for flag in FLAGS if flag in found)


def _files(plan: Plan) -> list[File]:
    made = []
    for file in plan.files:
        start, end = to_ms(file.offset), to_ms(file.offset + file.samples)
        made.append(File(path=_sound(file.path), start=seconds(start), duration=seconds(end - start)))
    return made


def _language(plan: Plan, parts: Sequence[HeardPart]) -> str | None:
    """Return the language asked for, or the one in which the parts hold most speech."""
    if plan.settings.language:
        return plan.settings.language
    votes: Counter[str] = Counter()
    for heard in parts:
        if heard.result.language:
            votes[heard.result.language] += 1 + heard.result.speech_samples
    return min(votes, key=lambda language: (-votes[language], language), default=None)


def _rounded(value: float) -> float:
    # Engines give numbers of their own kinds, NaN among them; adding zero turns -0.0 into 0.0.
    return round(float(value), 3) + 0.0 if value == value else 0.0


def _clean(text: str) -> str:
    return " ".join(_sound(text).split())


def _sound(text: str) -> str:
    """Return a text that UTF-8 can hold: names of files may carry bytes that are no characters."""
    return text if text.isascii() else text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
