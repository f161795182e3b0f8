"""SubRip: numbered cues, times with commas."""

from bridge_agent.transcription.formats.cues import Cue
from bridge_agent.transcription.formats.vtt import stamp, without_arrow


def srt(cues: list[Cue]) -> str:
    """Return cues as SubRip; empty where there are none."""
    return "\n".join(
        f"{number}\n{stamp(cue.start, ',')} --> {stamp(cue.end, ',')}\n"
        + "".join(f"{without_arrow(line)}\n" for line in cue.lines)
        for number, cue in enumerate(cues, start=1)
    )
