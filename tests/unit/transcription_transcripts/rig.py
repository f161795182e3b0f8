"""Kept transcripts of a few sentences each."""

from collections.abc import Sequence

from bridge_agent.transcription.assembly import RunFacts, Transcript, transcript
from tests.unit.transcription_assembly.books import chapter, plan, result, segment, words


def made(
    *sentences: str, title: str = "Three Fables", author: str = "Aesop", chapters: Sequence = (), **given
) -> Transcript:
    """Return a transcript of one file: each sentence a segment, words of 0.4 s."""
    segments, at = [], 0.0
    for sentence in sentences:
        own = words(sentence, at)
        segments.append(segment(own))
        at += 0.4 * len(own) + 0.6
    book = plan(at + 5, chapters=chapters, **given)
    return transcript(book, {0: result(0, *segments)}, title, author)


def facts(path: str = "Aesop/Three Fables", **given) -> RunFacts:
    return RunFacts(
        **{"library_id": 1, "path": path, "parts": 1, "device": "cpu", "seconds_spent": 2.0, **given}
    )


__all__ = ["chapter", "facts", "made"]
