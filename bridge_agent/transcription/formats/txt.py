"""Plain text: title, chapter headings, paragraphs, a line in brackets where something is missing."""

from collections.abc import Iterator

from bridge_agent.transcription.assembly.transcript import Transcript
from bridge_agent.transcription.formats.flow import Missing, flow

_WHY = {
    "damaged": "the audio is damaged",
    "truncated": "the file ends too early",
    "unreadable": "the file could not be read",
    "drm": "the file is locked by its shop",
    "failed": "this stretch could not be transcribed",
}


def txt(transcript: Transcript) -> str:
    """Return a transcript as plain text with a line break at its end."""
    return "\n\n".join(_blocks(transcript)) + "\n"


def missing(gap: Missing) -> str:
    """Say in words what is missing where and why."""
    why = _WHY.get(gap.reason, gap.reason)
    if gap.start == gap.end:
        return f"[Missing at {clock(gap.start)}: {why}.]"
    return f"[Missing from {clock(gap.start)} to {clock(gap.end)}: {why}.]"


def clock(milliseconds: int) -> str:
    """Return a time as people say it: `1:02:03`, or `2:03` within the first hour."""
    minutes, seconds = divmod(milliseconds // 1000, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"


def _blocks(transcript: Transcript) -> Iterator[str]:
    head = "\n".join(text for text in (transcript.title, transcript.author) if text)
    if head:
        yield head
    for chapter in flow(transcript):
        if len(transcript.chapters) > 1 or chapter.title != transcript.title:
            yield f"\n{chapter.title}\n{'-' * min(len(chapter.title), 72)}"
        for block in chapter.blocks:
            yield missing(block) if isinstance(block, Missing) else block.text
