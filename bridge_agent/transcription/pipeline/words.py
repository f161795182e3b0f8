"""What people are told of a book that can't go on, or could not be had whole."""

from collections.abc import Sequence

from bridge_agent.protocol.text import cut
from bridge_agent.transcription.model import RATE, Plan
from bridge_agent.transcription.pipeline.tasks import Task

_TITLE_BYTES = 200
_REASON_BYTES = 500


def fallen(plan: Plan, title: str, tasks: Sequence[Task]) -> str:
    """Return the sentence that fails a book: which part, where in it, why, and what to do."""
    lost = [task for task in tasks if task.state in ("dead", "failed")]
    if not lost:
        return f"“{cut(title, _TITLE_BYTES)}” could not be transcribed; queue the job anew."
    first = lost[0]
    part = plan.parts[first.number]
    offset = plan.files[part.file].offset
    start, end = offset + part.own_start, offset + part.own_end
    chapter = next((c.title for c in plan.chapters if c.start <= (start + end) // 2 < c.end), "")
    where = f"{clock(start)} to {clock(end)}" + (f", in “{cut(chapter, _TITLE_BYTES)}”" if chapter else "")
    tried = f" after {first.tries - 1} tries" if first.state == "dead" and first.tries > 2 else ""
    reason = f": {cut(first.error, _REASON_BYTES).rstrip('.')}" if first.error else ""
    more = f" {len(lost) - 1} more could not be had either." if len(lost) > 1 else ""
    done = sum(1 for task in tasks if task.state == "done")
    kept = f" The {done} finished of {len(tasks)} parts are kept;" if done else " Mend that, then"
    again = " queue the job anew to go on from them." if done else " queue the job anew."
    return (
        f"The part of “{cut(title, _TITLE_BYTES)}” from {where} could not be transcribed{tried}{reason}."
        f"{more}{kept}{again}"
    )


def clock(samples: int) -> str:
    """Return a place in a book as people write it: `1:02:30`, or `2:30` in the first hour."""
    minutes, seconds = divmod(samples // RATE, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
