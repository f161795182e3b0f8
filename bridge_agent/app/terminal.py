"""Answers as lines for a terminal."""

from collections.abc import Iterable, Mapping
from typing import Any

from bridge_agent.base.clock import from_text
from bridge_agent.page import views_jobs

_MARKS = {"ok": "✓", "warn": "!", "bad": "✕"}
_WORKERS = {"working": "●", "idle": "✓", "parked": "!", "paused": "‖"}
_KINDS = {"bridge.verify": "Verifying", "transcribe.book": "Transcribing"}


def status_lines(status: Mapping[str, Any], workers: Mapping[str, Any]) -> Iterable[str]:
    """Say a Bridge's status in lines, and how its workers are."""
    link = status["link"]
    yield f"{link['state'].capitalize()}: {link['reason']}" if link["reason"] else link["state"].capitalize()
    if link["server_name"]:
        yield f"Server: {link['server_name']} at {link['server_url']}"
    if link["last_heartbeat_at"]:
        yield f"Last heard from it: {at(link['last_heartbeat_at'])}"
    if link["next_try_at"] and not link["online"]:
        yield f"Next try: {at(link['next_try_at'])}"
    for library in status["libraries"]:
        mark = "✓" if library.get("ok") else "!"
        where = f"at {library['path']}" if library["root"] == library["path"] else _mapped(library)
        yield f"{mark} Library “{library['name']}”: {where}"
        if library.get("error"):
            yield f"    {library['error']}"
    yield from _workers(workers)
    for job in status["jobs"]["running"]:
        tag, doing = views_jobs.tag(job["state"]), _KINDS.get(job["kind"], job["kind"])
        state = "" if job["state"] == "running" else f" {tag.word}:"
        yield f"{tag.mark} {doing} {job['path']}:{state} {views_jobs.sentence(job)}"
    if not status["jobs"]["running"]:
        yield "No job is running."


def _workers(told: Mapping[str, Any]) -> Iterable[str]:
    if told["problem"]:
        yield f"✕ Workers can’t reach this Bridge: {told['problem']}"
    for worker in told["workers"]:
        yield f"{_WORKERS.get(worker['state'], '○')} Worker “{worker['name']}”: {worker['state']}"
        if worker.get("reason"):
            yield f"    {worker['reason']}"


def finding_lines(findings: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    """Say what the doctor found, each with its code and what to do."""
    for finding in findings:
        yield f"{_MARKS[finding['level']]} {finding['sentence']}  [{finding['code']}]"
        if finding["level"] != "ok" and finding.get("what_to_do"):
            yield f"    {finding['what_to_do']}"


def at(moment: str) -> str:
    """Write a moment of the wire by this machine's own clock."""
    # A person at this terminal has this machine's clock on the wall; --json keeps the wire's own form.
    return f"{from_text(moment).astimezone():%Y-%m-%d %H:%M:%S}"


def _mapped(library: Mapping[str, Any]) -> str:
    return f"{library['root']} is {library['path']} here"
