"""Answers as lines for a terminal."""

from collections.abc import Iterable, Mapping
from typing import Any

_MARKS = {"ok": "✓", "warn": "!", "bad": "✕"}


def status_lines(status: Mapping[str, Any]) -> Iterable[str]:
    """Say a Bridge's status in lines."""
    link = status["link"]
    yield f"{link['state'].capitalize()}: {link['reason']}" if link["reason"] else link["state"].capitalize()
    if link["server_name"]:
        yield f"Server: {link['server_name']} at {link['server_url']}"
    if link["last_heartbeat_at"]:
        yield f"Last heard from it: {link['last_heartbeat_at']}"
    if link["next_try_at"] and not link["online"]:
        yield f"Next try: {link['next_try_at']}"
    for library in status["libraries"]:
        mark = "✓" if library.get("ok") else "!"
        yield f"{mark} Library {library['library_id']}: {library['root']} is {library['path']} here"
        if library.get("error"):
            yield f"    {library['error']}"
    for job in status["jobs"]["running"]:
        progress = job.get("progress") or {}
        yield f"● {job['kind']} {job['path']}: {progress.get('message') or job['state']}"
    if not status["jobs"]["running"]:
        yield "No job is running."


def finding_lines(findings: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    """Say what the doctor found, each with its code and what to do."""
    for finding in findings:
        yield f"{_MARKS[finding['level']]} {finding['sentence']}  [{finding['code']}]"
        if finding["level"] != "ok" and finding.get("what_to_do"):
            yield f"    {finding['what_to_do']}"
