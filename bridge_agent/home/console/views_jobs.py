"""A job as the console tells it: its state in a word, one line, how far it is, what can be done."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bridge_agent.home.console import words
from bridge_agent.home.console.results import result_line
from bridge_agent.home.console.words import Tag, Tone
from bridge_agent.protocol.bridge import VERIFY
from bridge_agent.protocol.states import ENDED, OPEN

Job = Mapping[str, Any]

_KINDS = {VERIFY: "Verify", "transcribe.book": "Transcribe"}
_TAGS: dict[str, tuple[str, str, Tone]] = {
    "queued": ("Waiting", "○", ""),
    "claimed": ("Taken", "◌", "on"),
    "running": ("Running", "●", "on"),
    "needs_attention": ("Needs you", "!", "warn"),
    "done": ("Done", "✓", "ok"),
    "failed": ("Failed", "✕", "bad"),
    "cancelled": ("Cancelled", "–", ""),
}
_SECONDS_STEPS = frozenset({"hold", "plan", "transcribe"})
"""Steps whose figures are seconds, of the clock or of audio."""


@dataclass(frozen=True)
class Bar:
    """How far a job is; without `total` only that it is at work."""

    done: float
    total: float | None
    figures: tuple[str, ...]

    @property
    def percent(self) -> int | None:
        """The part that is done, in whole percent."""
        return None if not self.total else min(100, int(100 * self.done / self.total))


@dataclass(frozen=True)
class JobView:
    """What a page says of one job."""

    id: int
    title: str
    kind: str
    library_id: int
    library: str
    path: str
    tag: Tag
    line: str
    advice: str | None
    bar: Bar | None
    can_cancel: bool
    can_go_on: bool
    ended: bool
    attempts: int
    created_at: str | None
    finished_at: str | None
    updated_at: str | None
    params: str | None
    raw: str | None


def kind_word(kind: str) -> str:
    """Name a kind for a person."""
    return _KINDS.get(kind, kind)


def job_view(job: Job, libraries: Mapping[int, str], bridge: Mapping[str, Any], now: datetime) -> JobView:
    """Say everything of a job; `bridge` is the Bridge's status as GET /admin/bridge gives it."""
    state = str(job["state"])
    path = str(job.get("path") or "")
    library_id = int(job["library_id"])
    library = libraries.get(library_id, f"library {library_id}")
    ended = state in ENDED
    return JobView(
        id=int(job["id"]),
        title=words.name_of(path) or library,
        kind=kind_word(str(job["kind"])),
        library_id=library_id,
        library=library,
        path=path,
        tag=job_tag(job),
        line=job_line(job, bridge, now),
        advice=advice(job),
        bar=None if ended else job_bar(job),
        can_cancel=state in OPEN and not job.get("cancel_requested"),
        can_go_on=state == "failed",
        ended=ended,
        attempts=int(job.get("attempts") or 0),
        created_at=words.text_in(job, "created_at"),
        finished_at=words.text_in(job, "finished_at"),
        updated_at=words.text_in(job, "updated_at"),
        params=_asked(job.get("params")),
        raw=_as_json(job.get("result")),
    )


def stopping(job: Job) -> bool:
    """Tell whether a job was asked to stop and has not yet (R-076)."""
    return bool(job.get("cancel_requested")) and job["state"] in OPEN


def job_tag(job: Job) -> Tag:
    """Return the state in a word with a mark."""
    if stopping(job):
        return Tag("Stopping", "◔", "warn")
    word, mark, tone = _TAGS.get(str(job["state"]), (str(job["state"]), "•", ""))
    return Tag(word, mark, tone)


def job_line(job: Job, bridge: Mapping[str, Any], now: datetime) -> str:
    """Return the one line below a job's name."""
    if stopping(job):
        return _stopping_line(job, bridge)
    match job["state"]:
        case "queued":
            return _waiting_line(job, bridge)
        case "claimed":
            return "The Bridge has taken it and is about to begin."
        case "needs_attention":
            return words.text_in(job, "error") or "The Bridge needs your help to go on; see its own page."
        case "running":
            return words.text_in(job.get("progress"), "message") or "The Bridge is at work on it."
        case "done":
            return result_line(str(job["kind"]), job.get("result")) or "Done; the Bridge said nothing more."
        case "failed":
            return _failed_line(job)
        case _:
            return _cancelled_line(job)


def job_bar(job: Job) -> Bar | None:
    """Return how far a job is that is held; None while it waits or has nothing to show."""
    progress = job.get("progress")
    if job["state"] not in ("running", "claimed") or not isinstance(progress, Mapping):
        return Bar(0, None, ()) if job["state"] == "running" else None
    done, total = words.number_in(progress, "done"), words.number_in(progress, "total")
    if done is None or total is None or total <= 0:
        return Bar(0, None, ())
    done = min(max(done, 0.0), total)
    if str(progress.get("step")) in _SECONDS_STEPS:
        figures = f"{words.long_or_short(int(done))} of {words.long_or_short(int(total))}"
    else:
        figures = f"{int(done):,} of {int(total):,}"
    return Bar(done, total, (f"{int(100 * done / total)} %", figures))


def advice(job: Job) -> str | None:
    """Say what a person can do where the state asks for it."""
    if job["state"] == "needs_attention":
        return "It goes on by itself once that is mended; the Bridge’s own page can also try again at once."
    if job["state"] == "failed":
        return "Mend what is named, then press Go on: it is queued anew and uses what is already finished."
    return None


def jobs_sentence(counts: Mapping[str, int]) -> words.State:
    """Return the state sentence over a list of jobs, from how many there are in each state."""
    running = counts.get("running", 0) + counts.get("claimed", 0)
    waiting, asking = counts.get("queued", 0), counts.get("needs_attention", 0)
    if asking:
        sentence = f"{words.counted(asking, 'job needs', 'jobs need')} you."
        return words.State(sentence, "What to do stands with each of them below.", "warn")
    if running:
        sentence = f"{words.counted(running, 'job is', 'jobs are')} running."
        more = f"{words.counted(waiting, 'more waits', 'more wait')} for a free place." if waiting else ""
        return words.State(sentence, more or "Progress comes in by itself.", "on")
    if waiting:
        return words.State(
            f"{words.counted(waiting, 'job is', 'jobs are')} waiting.",
            "The Bridge takes the next one as soon as it is online and has a free place.",
            "on",
        )
    return words.State("Nothing is running.", "Verify a library or a book to give the Bridge work.", "ok")


def _waiting_line(job: Job, bridge: Mapping[str, Any]) -> str:
    if int(job.get("attempts") or 0) > 0:
        begin = f"The Bridge stopped reporting on attempt {job['attempts']}; waiting to be taken again"
    else:
        begin = "Waiting"
    if not bridge.get("paired"):
        return f"{begin}, for a Bridge to be paired."
    if not bridge.get("online"):
        return f"{begin}, for the Bridge to be online."
    return f"{begin}, for a free place on the Bridge."


def _stopping_line(job: Job, bridge: Mapping[str, Any]) -> str:
    doing = words.text_in(job.get("progress"), "message")
    was = f" It was at: {doing.rstrip('.')}." if doing else ""
    if not bridge.get("online"):
        return f"Still stopping. The Bridge is offline; it ends when its claim runs out.{was}"
    return f"Still stopping: the Bridge is told at its next report.{was}"


def _failed_line(job: Job) -> str:
    error = words.text_in(job, "error")
    summed = result_line(str(job["kind"]), job.get("result"))
    if error and summed:
        return f"{_sentence(error)} {summed}"
    if error or summed:
        return _sentence(error or summed or "")
    return "It failed and the Bridge did not say why; its log does."


def _cancelled_line(job: Job) -> str:
    doing = words.text_in(job.get("progress"), "message")
    return f"Cancelled; it had come to: {doing.rstrip('.')}." if doing else "Cancelled before it began."


def _sentence(text: str) -> str:
    """Give a text from the Bridge a capital and a full stop."""
    text = text.strip()
    ending = "" if text.endswith((".", "!", "?", "…", "”")) else "."
    return text[:1].upper() + text[1:] + ending


def _asked(params: object) -> str | None:
    """Say what was asked for beside the book, as `hold seconds 15`."""
    if not isinstance(params, Mapping) or not params:
        return None
    said = (
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for value in params.values()
    )
    return ", ".join(
        f"{str(name).replace('_', ' ')} {value}" for name, value in zip(params, said, strict=True)
    )


def _as_json(value: object) -> str | None:
    if value is None:
        return None
    return json.dumps(value, ensure_ascii=False, indent=2)
