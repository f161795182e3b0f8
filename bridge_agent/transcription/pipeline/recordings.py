"""Recordings: a book for one asker, as units over the store."""

import json
import sqlite3
from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple

from bridge_agent.store import Queries
from bridge_agent.transcription.model import Plan, Settings, Value, decode, encode
from bridge_agent.transcription.pipeline import finished, tasks
from bridge_agent.transcription.pipeline.tasks import NewTask, Task

SQL = Queries("bridge_agent.transcription.pipeline", "recordings.sql")

State = Literal["open", "done", "failed", "cancelled"]


class Recording(Value, frozen=True):
    """A row of `recordings`."""

    id: int
    sender: str
    addressee: str | None
    title: str
    author: str
    settings: Settings
    state: State
    seconds_spent: float
    plan: Plan | None = None
    error: str | None = None


class Asker(NamedTuple):
    """Who asks for a recording: by which way they are told, and under what name."""

    sender: str
    addressee: str | None


def begin(
    c: sqlite3.Connection, asker: Asker, title: str, author: str, settings: Settings, now: str
) -> Recording:
    """Return the recording of an asker: the one it has asked for already, else a new one."""
    values = {
        **asker._asdict(),
        "title": title,
        "author": author,
        "settings": encode(settings).decode(),
        "now": now,
    }
    known = c.execute(SQL["asked"], asker._asdict()).fetchone() if asker.addressee is not None else None
    if known is not None:
        row = c.execute(SQL["go_on"], {**values, "id": known["id"]}).fetchone()
    else:
        row = c.execute(SQL["begin"], values).fetchone()
    return _read(row)


def planned(
    c: sqlite3.Connection, recording_id: int, plan: Plan, parts: Sequence[NewTask], now: str
) -> Recording | None:
    """Give a recording its plan: what is finished of it is done, and the same parts keep their tasks.

    None where it is not open any more.
    """
    values = {"id": recording_id, "plan": encode(plan).decode(), "now": now}
    row = c.execute(SQL["planned"], values).fetchone()
    if row is None:
        return None
    there = finished.use(c, {part.part_key for part in parts}, now)
    found = tasks.of_recording(c, recording_id)
    same = [(t.number, t.part_key) for t in found] == [(p.number, p.part_key) for p in parts]
    if not same or any((task.state == "done") != (task.part_key in there) for task in found):
        tasks.replace(c, recording_id, parts, there, now)
    return _read(row)


def complete(c: sqlite3.Connection, recording_id: int, now: str) -> Recording | None:
    """Write down that all parts are done; None where that is not so, or was written before."""
    return _row(c, "complete", {"id": recording_id, "now": now})


def fail(c: sqlite3.Connection, recording_id: int, error: str, now: str) -> list[Task] | None:
    """Write down that it can't be had whole; return its open tasks, cancelled now. None: it had ended."""
    failed = _row(c, "fail", {"id": recording_id, "error": error, "now": now})
    return None if failed is None else tasks.cancel(c, recording_id, now)


def cancel(c: sqlite3.Connection, recording_id: int, now: str) -> list[Task] | None:
    """Write down that nobody wants it any more; return its open tasks, cancelled now. None: it had ended."""
    cancelled = _row(c, "cancel", {"id": recording_id, "now": now})
    return None if cancelled is None else tasks.cancel(c, recording_id, now)


def spent(c: sqlite3.Connection, recording_id: int, seconds: float, now: str) -> None:
    """Count seconds that were spent on it."""
    c.execute(SQL["spent"], {"id": recording_id, "seconds": seconds, "now": now})


def set_back(c: sqlite3.Connection, task_id: int, state: tasks.Open | None, now: str) -> Task | None:
    """Let a dead or failed part go on, and its recording with it; None where it is neither."""
    found = tasks.set_back(c, task_id, state, now)
    if found is not None:
        c.execute(SQL["set_back"], {"id": found.recording_id, "now": now})
    return found


def one(c: sqlite3.Connection, recording_id: int) -> Recording | None:
    """Return a recording by its id."""
    return _row(c, "one", {"id": recording_id})


def state(c: sqlite3.Connection, recording_id: int) -> State:
    """Return the state of a recording; one that is gone counts as cancelled."""
    row = c.execute(SQL["state"], {"id": recording_id}).fetchone()
    found: State = "cancelled" if row is None else row["state"]
    return found


def close(c: sqlite3.Connection, recording_id: int, now: str) -> None:
    """Write down that whoever asked for a recording has what came of it: it is not gone on with any more."""
    c.execute(SQL["close"], {"id": recording_id, "now": now})


def forget(c: sqlite3.Connection, recording_id: int) -> None:
    """Drop a recording and its tasks."""
    c.execute(SQL["forget"], {"id": recording_id})


def forget_old(c: sqlite3.Connection, before: str, running: Collection[int]) -> list[int]:
    """Drop recordings that nobody came back for since a time; return their ids."""
    values = {"before": before, "running": json.dumps(sorted(running))}
    return [row["id"] for row in c.execute(SQL["forget_old"], values).fetchall()]


def over_before(c: sqlite3.Connection, before: str, running: Collection[int]) -> list[int]:
    """Return the recordings that have been done or closed since a time, and that nobody works on."""
    values = {"before": before, "running": json.dumps(sorted(running))}
    return [row["id"] for row in c.execute(SQL["over_before"], values).fetchall()]


def ids_since(c: sqlite3.Connection, since: str) -> set[int]:
    """Return the ids of the recordings that something happened to since a time."""
    return {row["id"] for row in c.execute(SQL["ids_since"], {"since": since}).fetchall()}


def _row(c: sqlite3.Connection, query: str, values: dict[str, object]) -> Recording | None:
    row = c.execute(SQL[query], values).fetchone()
    return None if row is None else _read(row)


def _read(row: sqlite3.Row) -> Recording:
    return Recording(
        id=row["id"],
        sender=row["sender"],
        addressee=row["addressee"],
        title=row["title"],
        author=row["author"],
        settings=decode(row["settings"].encode(), Settings),
        state=row["state"],
        seconds_spent=row["seconds_spent"],
        plan=None if row["plan"] is None else decode(row["plan"].encode(), Plan),
        error=row["error"],
    )
