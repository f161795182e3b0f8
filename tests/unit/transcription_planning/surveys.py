"""Surveys by hand, in seconds."""

from itertools import pairwise

from bridge_agent.transcription.model import RATE, FileChapter, FileSurvey, Settings, Span, Survey

SETTINGS = Settings(language="en", model="base", quality="balanced", word_timestamps=True, prompt="")


def span(start: float, end: float) -> Span:
    return Span(start=round(start * RATE), end=round(end * RATE))


def file(
    seconds: float,
    pauses: list[tuple[float, float]] | None = None,
    chapters: list[float] | None = None,
    path: str = "book.m4b",
    **more: object,
) -> FileSurvey:
    marks = [*(chapters or []), seconds]
    return FileSurvey(
        path=path,
        size=1000,
        content=str(more.pop("content", path)),
        samples=round(seconds * RATE),
        pauses=tuple(span(*each) for each in pauses or []),
        chapters=tuple(
            FileChapter(title=f"{n}", start=round(a * RATE), end=round(b * RATE), source="file")
            for n, (a, b) in enumerate(pairwise(marks))
        ),
        **more,  # type: ignore[arg-type]
    )


def survey(*files: FileSurvey) -> Survey:
    return Survey(files=files, decoder="d")
