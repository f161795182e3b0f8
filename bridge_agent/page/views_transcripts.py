"""Transcripts in plain words: a row of the list, what a search found, the sentence over both."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from urllib.parse import urlencode

from bridge_agent.page.views_jobs import Tag
from bridge_agent.page.views_reader import clock
from bridge_agent.page.views_times import moment_of
from bridge_agent.transcription.engines import languages
from bridge_agent.transcription.transcripts import Hit, Hits, Kept, KeptPage
from bridge_agent.web.rendering import span

_FILES = {
    "transcript.txt": "Text",
    "transcript.vtt": "VTT",
    "transcript.srt": "SRT",
    "transcript.json": "JSON",
}
HOW = "Words, a “phrase in quotes”, or how a word begins: brid*"


@dataclass(frozen=True)
class Row:
    """A transcript in the list."""

    href: str
    title: str
    by: str
    facts: tuple[str, ...]
    tag: Tag | None
    when: datetime | None


@dataclass(frozen=True)
class FoundPlace:
    """A place that a search found; `pieces` is its text in plain and marked stretches."""

    href: str
    time: str
    chapter: str
    pieces: tuple[tuple[str, bool], ...]


@dataclass(frozen=True)
class FoundBook:
    """The places of one book, as they come one after the other."""

    href: str
    title: str
    author: str
    places: tuple[FoundPlace, ...]


@dataclass(frozen=True)
class Download:
    """A file of a transcript: where it is, what it is, and how large."""

    href: str
    name: str
    size: int


def row(kept: Kept) -> Row:
    """Say what a transcript is."""
    return Row(
        href=f"/transcripts/{kept.id}",
        title=kept.title or kept.path or "A book without a title",
        by=kept.author,
        facts=facts(kept),
        tag=doubt(kept),
        when=moment_of(kept.kept_at),
    )


def facts(kept: Kept) -> tuple[str, ...]:
    """Return how long a book is, in which language, of how many words."""
    return tuple(
        text
        for text in (span(kept.duration_seconds), language(kept.language), counted(kept.words, "word"))
        if text
    )


def doubt(kept: Kept) -> Tag | None:
    """Return the mark of a transcript in which something is missing."""
    if kept.gaps_total:
        return Tag("!", counted(kept.gaps_total, "gap"), "warn")
    return None


def language(code: str | None) -> str:
    """Name a language; an unknown one by its code."""
    if not code:
        return ""
    name = languages.NAMES.get(languages.whisper(code) or "", code)
    return name[:1].upper() + name[1:]


def downloads(kept: Kept) -> list[Download]:
    """Return a transcript's files, the one to read first."""
    listed = {artifact.name: artifact for artifact in kept.artifacts}
    return [
        Download(f"/api/transcripts/{kept.id}/{name}", shown, listed[name].size_bytes)
        for name, shown in _FILES.items()
        if name in listed
    ]


def about(kept: Kept) -> list[tuple[str, str]]:
    """Return what is to be known of how a transcript came about, name by name."""
    engine = kept.engine
    # Where all of it was there already, no time was spent that could be told.
    spent = kept.seconds_spent
    speed = f", {kept.duration_seconds / spent:.1f} times real time" if spent >= 0.1 else ""
    told = [
        ("Language", language(kept.language) or "not found out"),
        ("Length", f"{span(kept.duration_seconds)}, {counted(kept.words, 'word')}"),
        ("Engine", engine.name),
        ("Model", engine.model),
        ("Computed on", f"{engine.device}, {engine.compute_type}"),
        ("Took", f"{span(spent)}{speed}" if spent >= 0.1 else ""),
        ("By", ", ".join(f"{each.name} ({counted(each.parts, 'part')})" for each in kept.workers)),
        ("Book", kept.path),
    ]
    return [(name, value) for name, value in told if value]


def books(hits: Sequence[Hit], q: str) -> list[FoundBook]:
    """Return hits by book, in their order."""
    return [
        FoundBook(
            f"/transcripts/{one}?{urlencode({'q': q})}", found[0].title, found[0].author, _places(found, q)
        )
        for one, group in groupby(hits, key=lambda hit: hit.transcript_id)
        if (found := list(group))
    ]


def _places(hits: Sequence[Hit], q: str) -> tuple[FoundPlace, ...]:
    return tuple(
        FoundPlace(
            href=f"/transcripts/{hit.transcript_id}?{urlencode({'q': q, 'at': f'{hit.start:.3f}'})}#here",
            time=clock(hit.start),
            chapter="" if hit.chapter == hit.title else hit.chapter,
            pieces=hit.pieces,
        )
        for hit in hits
    )


def list_head(page: KeptPage, first: bool) -> tuple[str, str]:
    """Return the sentence over the list, and the line under it."""
    if not page.transcripts and first:
        return "No transcript yet.", "A book that is transcribed can be read, searched and downloaded here."
    if first and page.next_before is None:
        count = counted(len(page.transcripts), "transcript")
        return f"{count} to read and to search.", "Newest first."
    return "Transcripts to read and to search.", "Newest first."


def search_head(q: str, hits: Hits, first: bool, titled: int) -> tuple[str, str]:
    """Return the sentence over what was found, and the line under it."""
    if not hits.hits:
        if not first:
            return f"No more of “{q}”.", "All places have been shown."
        if titled:
            return f"“{q}” is never said.", f"{counted(titled, 'book is', 'books are')} named like that."
        return (
            f"“{q}” is never said.",
            "No book is named like that either. Try fewer words, or how one begins.",
        )
    count = len({hit.transcript_id for hit in hits.hits})
    where = counted(count, "book")
    if first and hits.next_after is None:
        return (
            f"“{q}” is said in {where}.",
            f"{counted(len(hits.hits), 'place')}, by book and in reading order.",
        )
    return (
        f"“{q}” is said often.",
        f"{counted(len(hits.hits), 'place')} in {where} on this page; more follow.",
    )


def counted(number: int, one: str, several: str = "") -> str:
    """Write a number with its noun."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"
