"""Books in a few lines: plans, parts that overlap or not, and what an engine heard of them."""

from collections.abc import Sequence
from itertools import pairwise

from bridge_agent.transcription.model import (
    RATE,
    Chapter,
    Damage,
    EngineInfo,
    Part,
    PartResult,
    Plan,
    PlannedFile,
    Segment,
    Settings,
    Word,
)

BASE = EngineInfo(name="scripted", version="1", model="base", device="cpu", compute_type="int8")


def settings(**changes) -> Settings:
    given = {
        "language": None,
        "model": "base",
        "quality": "balanced",
        "word_timestamps": True,
        "prompt": "",
    }
    return Settings(**{**given, **changes})


def plan(
    *lengths: float,
    cuts: Sequence[Sequence[float]] | None = None,
    overlap: float = 0.0,
    chapters: Sequence[Chapter] = (),
    gaps: Sequence[Damage] = (),
    **changes,
) -> Plan:
    """Plan files of so many seconds, cut at the seconds given for each, each cut forced by `overlap`."""
    files, parts, offset = [], [], 0
    for index, length in enumerate(lengths):
        samples = round(length * RATE)
        files.append(PlannedFile(path=f"{index + 1:02} File.mp3", samples=samples, offset=offset, content=""))
        inner = [round(at * RATE) for at in (cuts[index] if cuts else ())]
        borders = [0, *inner, samples]
        more = round(overlap * RATE)
        for first, last in pairwise(borders):
            if samples:
                start = first - (more if first else 0)
                end = last + (more if last < samples else 0)
                parts.append(
                    Part(number=len(parts), file=index, start=start, end=end, own_start=first, own_end=last)
                )
        offset += samples
    return Plan(
        hash="h",
        files=tuple(files),
        chapters=tuple(chapters),
        gaps=tuple(gaps),
        parts=tuple(parts),
        settings=settings(**changes),
    )


def chapter(title: str, start: float, end: float, source: str = "file") -> Chapter:
    return Chapter(title=title, start=round(start * RATE), end=round(end * RATE), source=source)


def words(text: str, start: float = 0.0, each: float = 0.4, probability: float = 0.9) -> list[Word]:
    """Return words of `each` seconds one after another, from `start` seconds of a part."""
    made, at = [], start
    for word in text.split(" "):
        made.append(
            Word(
                start=round(at * RATE),
                end=round((at + each) * RATE),
                text=f" {word}",
                probability=probability,
            )
        )
        at += each
    return made


def segment(found: Sequence[Word], **changes) -> Segment:
    given = {
        "start": found[0].start,
        "end": found[-1].end,
        "text": "".join(word.text for word in found),
        "avg_logprob": -0.2,
        "no_speech_prob": 0.01,
        "words": tuple(found),
    }
    return Segment(**{**given, **changes})


def result(number: int, *segments: Segment, **changes) -> PartResult:
    given = {"number": number, "segments": segments, "language": "en", "engine": BASE}
    return PartResult(**{**given, **changes})


def heard(number: int, text: str, start: float = 0.0, each: float = 0.4, **changes) -> PartResult:
    """Return what an engine heard of a part: one segment."""
    return result(number, segment(words(text, start, each)), **changes)
