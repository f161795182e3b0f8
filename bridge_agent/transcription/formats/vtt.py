"""WebVTT: UTF-8, chapters as notes, text escaped so that nothing in it can be taken for markup."""

from collections.abc import Iterator

from bridge_agent.transcription.assembly.transcript import Transcript
from bridge_agent.transcription.formats.cues import Cue
from bridge_agent.transcription.formats.tokens import plain

_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def vtt(transcript: Transcript, cues: list[Cue]) -> str:
    """Return a transcript as WebVTT."""
    return "\n\n".join(_blocks(transcript, cues)) + "\n"


def stamp(milliseconds: int, mark: str = ".") -> str:
    """Return a time as `HH:MM:SS.mmm`, hours growing as they must."""
    rest, thousandths = divmod(milliseconds, 1000)
    minutes, seconds = divmod(rest, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02d}:{minutes:02d}:{seconds:02d}{mark}{thousandths:03d}"


def without_arrow(text: str) -> str:
    """Return a text without `-->`, which would begin a cue."""
    while "-->" in text:
        text = text.replace("-->", "→")
    return text


def _blocks(transcript: Transcript, cues: list[Cue]) -> Iterator[str]:
    yield "WEBVTT"
    name = " — ".join(text for text in (transcript.title, transcript.author) if text)
    if name:
        yield _note(name)
    shown = -1
    for number, cue in enumerate(cues, start=1):
        for chapter in range(shown + 1, cue.chapter + 1):
            if chapter < len(transcript.chapters):
                yield _note(f"Chapter {chapter + 1}: {transcript.chapters[chapter].title}")
        shown = max(shown, cue.chapter)
        lines = "\n".join(line.translate(_ESCAPES) for line in cue.lines)
        yield f"{number}\n{stamp(cue.start)} --> {stamp(cue.end)}\n{lines}"


def _note(text: str) -> str:
    return f"NOTE {without_arrow(' '.join(plain(text).split()))}"
