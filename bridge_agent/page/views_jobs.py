"""Jobs in plain words: a mark, a title, one sentence, figures, and what can be done."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from bridge_agent.mapping.sight import UNSEEN
from bridge_agent.page.links import job_path
from bridge_agent.page.views_speech import Under
from bridge_agent.page.views_times import When, Words, moment_of
from bridge_agent.protocol.bridge import MAX_VERIFY_FILES
from bridge_agent.web.rendering import span

Job = Mapping[str, Any]
OPEN = frozenset({"running", "needs_attention", "aside"})
STATES = ("running", "needs_attention", "aside", "done", "failed", "cancelled", "lost")


@dataclass(frozen=True)
class Tag:
    """A state as a word with a mark; `look` colours it as well."""

    mark: str
    word: str
    look: str = ""


_TAGS = {
    "running": Tag("●", "Running", "on"),
    "needs_attention": Tag("!", "Needs you", "warn"),
    "aside": Tag("◔", "Kept aside", "warn"),
    "done": Tag("✓", "Done", "ok"),
    "failed": Tag("✕", "Failed", "bad"),
    "cancelled": Tag("–", "Cancelled"),
    "lost": Tag("↺", "Lost"),
}
TRANSCRIBE = "transcribe.book"
_KINDS = {"bridge.verify": "Verify", TRANSCRIBE: "Transcribe"}


@dataclass(frozen=True)
class JobView:
    """One job, or one attempt of it, as a page shows it."""

    key: str
    href: str
    api: str
    kind: str
    title: str
    by: str
    tag: Tag
    state: str
    sentence: str
    attempt: int
    when: datetime | None
    done: float | None = None
    total: float | None = None
    figures: tuple[str, ...] = ()
    can_cancel: bool = False
    can_resume: bool = False
    question: str = ""
    times: tuple[Words, ...] = ()
    files: tuple[dict[str, Any], ...] = field(default=())
    under: Under | None = None
    read: str = ""


def view(job: Job, library: str = "", retaken: bool = False, under: Under | None = None) -> JobView:
    """Say what a job is, where it stands, and what can be done about it.

    `library` names its library; `retaken` tells that a later attempt of it is here, `under` what the speech
    engine knows of it.
    """
    title, by = names(job, library)
    state = str(job["state"])
    href = job_path(job["server_id"], job["job_id"])
    progress = job["progress"] or {}
    running = state == "running"
    return JobView(
        key=f"{job['server_id']}/{job['job_id']}/{job['attempt']}",
        href=href,
        api=href,
        kind=kind_word(job["kind"]),
        title=title,
        by=by,
        tag=tag(state, retaken),
        state=state,
        sentence=sentence(job, retaken),
        attempt=int(job["attempt"]),
        when=moment_of(job["finished_at"] or job["started_at"] or job["claimed_at"]),
        done=_number(progress.get("done")) if running else None,
        total=_number(progress.get("total")) if running else None,
        figures=figures(progress) if running else (),
        can_cancel=state in OPEN,
        can_resume=state == "needs_attention",
        question=question(job),
        times=times(job),
        files=tuple(bad_files(job)),
        under=under if running else None,
        read=_read(job),
    )


def views(
    jobs: Iterable[Job], libraries: Mapping[int, str], under: Mapping[str, Under] | None = None
) -> list[JobView]:
    """Say the same of a list of jobs, newest first; a lost one knows whether it was taken again."""
    listed = list(jobs)
    newest: dict[tuple[str, int], int] = {}
    for job in listed:
        key = (job["server_id"], job["job_id"])
        newest[key] = max(newest.get(key, 0), job["attempt"])
    return [
        view(
            job,
            libraries.get(job["library_id"], ""),
            retaken=newest[job["server_id"], job["job_id"]] > job["attempt"],
            under=(under or {}).get(f"{job['server_id']}/{job['job_id']}"),
        )
        for job in listed
    ]


def names(job: Job, library: str) -> tuple[str, str]:
    """Return a book's title and what stands above it, from its path in the library."""
    parts = [part for part in str(job["path"] or "").split("/") if part]
    if not parts:
        return (library or f"Library {job['library_id']}", "")
    return parts[-1], " · ".join([*reversed(parts[:-1])][:2])


def kind_word(kind: str) -> str:
    """Name a kind of job in a word; an unknown one by its own name."""
    return _KINDS.get(kind, kind)


def tag(state: str, retaken: bool = False) -> Tag:
    """Return a state's word and mark."""
    if state == "lost" and retaken:
        return Tag("↺", "Lost, taken again")
    return _TAGS[state]


def sentence(job: Job, retaken: bool = False) -> str:
    """Say in one sentence where a job stands."""
    said = _SENTENCES[job["state"]](job)
    if job["state"] == "lost" and retaken and not job.get("note"):
        said = "The claim ran out and the server gave the job out again. Nothing was done twice."
    if job["state"] in ("done", "failed", "cancelled") and not job["reported"]:
        said += " The server has not taken the report yet; it is sent again until it does."
    elif job.get("note") and job["state"] in ("done", "failed"):
        said += f" ({job['note']})"
    return said


def _running(job: Job) -> str:
    progress = job["progress"]
    return str(progress["message"]) if progress else "Starting."


def _attention(job: Job) -> str:
    return str(job["error"] or "It waits for something that only a person can mend.")


def _aside(job: Job) -> str:
    return (
        "Stopped where it was when the server refused this Bridge. "
        "It goes on when the same server takes the Bridge again."
    )


def _done(job: Job) -> str:
    result = job["result"] or {}
    if job["kind"] == "bridge.verify" and "files" in result:
        return f"Verified: {_matched(result)}, {_writable(result)} · {span(result['elapsed_ms'] / 1000)}."
    if job["kind"] == TRANSCRIBE and "duration_seconds" in result:
        return _transcribed(result)
    return "Done."


def _transcribed(result: Mapping[str, Any]) -> str:
    """Say what came of a transcription: how long, how quick, how many words, what is missing."""
    length, spent = span(result["duration_seconds"]), _number(result.get("seconds_spent")) or 0.0
    said = f"Transcribed: {length}" + (
        f" in {span(spent)}" if spent >= 0.1 else ", from what was there already"
    )
    said += f", {result.get('words', 0):,} words"
    gaps = int(result.get("gaps_total") or 0)
    if gaps:
        said += f", {gaps} gap{'s' if gaps > 1 else ''}"
    return said + "."


def _read(job: Job) -> str:
    """Return where the transcript of a job that is done can be read; empty for every other."""
    if job["kind"] != TRANSCRIBE or job["state"] != "done":
        return ""
    result = job["result"] or {}
    path = str(result.get("path") or job["path"] or "")
    return "/transcripts/book?" + urlencode({"library": job["library_id"], "path": path}) if path else ""


def _failed(job: Job) -> str:
    bad = bad_files(job)
    if bad:
        first, files = bad[0], (job["result"] or {})["files"]
        name = str(first["path"]).rpartition("/")[2]
        verb = "differs" if len(bad) == 1 else "differ"
        return f"{len(bad)} of {len(files)} files {verb}: “{name}” {_file_trouble(first)}."
    return str(job["error"] or "It failed without saying why; the log may know more.")


def _cancelled(job: Job) -> str:
    note = str(job.get("note") or "")
    return f"{note[:1].upper()}{note[1:]}." if note else "Stopped as asked."


def _lost(job: Job) -> str:
    note = str(job.get("note") or job["error"] or "")
    if note:
        return note[:1].upper() + note[1:] + ("" if note.endswith(".") else ".")
    return "The claim ran out before the server heard of it again. The server decides who does it next."


_SENTENCES = {
    "running": _running,
    "needs_attention": _attention,
    "aside": _aside,
    "done": _done,
    "failed": _failed,
    "cancelled": _cancelled,
    "lost": _lost,
}


def _matched(result: Mapping[str, Any]) -> str:
    files = result["files"]
    good = sum(1 for file in files if file["ok"])
    # All are compared and at most so many listed, those that differ first.
    listed = "listed " if len(files) >= MAX_VERIFY_FILES else ""
    return f"{good} of {len(files)} {listed}file{'s' if len(files) != 1 else ''} match" + (
        "es" if len(files) == 1 and good == 1 else ""
    )


def _writable(result: Mapping[str, Any]) -> str:
    if result["writable"]:
        return "the folder can be written"
    why = result.get("writable_error")
    return f"the folder can’t be written ({why})" if why else "the folder can’t be written"


def _file_trouble(file: Mapping[str, Any]) -> str:
    error = str(file.get("error") or "differs")
    if error.startswith("size differs: "):
        here, _, server = error.removeprefix("size differs: ").partition(" bytes here, ")
        there = server.removesuffix(" on the server")
        if here.isdigit() and there.isdigit():
            return f"is {int(here):,} bytes here and {int(there):,} on the server"
    return f"was {error}" if error.startswith("not found") else f"gave “{error}”"


def bad_files(job: Job) -> list[dict[str, Any]]:
    """Return the files of a verify that did not match; none of a library that was not seen at all."""
    if job["kind"] != "bridge.verify" or str(job["error"] or "").startswith(UNSEEN):
        return []
    return [file for file in (job["result"] or {}).get("files", []) if not file["ok"]]


def question(job: Job) -> str:
    """Ask what a job that waits for a person needs; empty for every other."""
    if job["state"] != "needs_attention":
        return ""
    if job["kind"] == TRANSCRIBE:
        return (
            "It goes on by itself soon after that is mended; you can let it try again at once, or cancel it: "
            "nothing is lost that was finished."
        )
    return "When that is mended, let it try again; or cancel it, and nothing is lost that was finished."


def advice(job: Job) -> str:
    """Say what to do about a job that failed; empty for every other."""
    if job["state"] != "failed":
        return ""
    bad = bad_files(job)
    if not bad:
        return "Mend what the sentence names, then queue the job again in the server’s console."
    if all(str(file.get("error", "")).startswith("not found") for file in bad):
        return (
            "The server lists files that are not here: look whether the library is mapped to the right "
            "folder, and whether the drive is there. Then scan it in the console and verify again."
        )
    if any("permission" in str(file.get("error", "")) for file in bad):
        return "Let the account that runs the Bridge read these files, then verify again."
    return (
        "A file that differs in size has changed since the server’s last scan, or this is another copy "
        "of the library. Scan the library in the console, then verify again."
    )


def figures(progress: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the figures that stand under a bar: how far, of how much."""
    done, total = _number(progress.get("done")), _number(progress.get("total"))
    if done is None or not total:
        return ()
    if progress["step"] == "hold":
        return (f"{done:g} of {total:g} s",)
    if progress["step"] in ("plan", "transcribe"):
        return (f"{100 * done / total:.0f} %", f"{span(done)} of {span(total)}")
    return (f"{done:g} of {total:g}",)


def times(job: Job) -> tuple[Words, ...]:
    """Return when a job was claimed, and when it ended or since when it runs."""
    words: list[Words] = []
    claimed, finished = moment_of(job["claimed_at"]), moment_of(job["finished_at"])
    if claimed is not None:
        words.append(["Taken at ", When("at", claimed)])
    if finished is not None:
        words.append(["ended at ", When("at", finished)])
        if claimed is not None:
            words.append([f"took {span(max(0.0, (finished - claimed).total_seconds()))}"])
    return tuple(words)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
