"""Leases: claims of cut parts by workers on the network, as units over the store (laws 1 and 2)."""

import json
import sqlite3
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from bridge_agent.store import Queries
from bridge_agent.transcription.model import PartResult, Value
from bridge_agent.transcription.pipeline import finished, tasks
from bridge_agent.transcription.pipeline.tasks import Claim, Phase, Task

SQL = Queries("bridge_agent.transcription.pipeline", "leases.sql")


class Told(Value, frozen=True):
    """A row of `leases`: what the holder of a part's latest claim said, and when it was last heard of."""

    task_id: int
    attempt: int
    holder: str
    notes: Mapping[str, Any]
    beat_at: str
    ready_at: str | None = None
    digest: str | None = None


class Wanted(NamedTuple):
    """What a worker asks for. `held` are the parts whose claims live by the monotonic clock (law 5)."""

    recordings: Collection[int]
    holder: str
    phase: Phase
    now: str
    ends: str
    most_tries: int
    held: Collection[int] = ()
    newest: bool = False
    refuser: int | None = None
    """The token whose refusals count; None where nobody else could do what it refused."""
    only: int | None = None


def lease(c: sqlite3.Connection, wanted: Wanted, notes: Mapping[str, Any]) -> Task | None:
    """Claim the next cut part; None: there is none. One that comes back `dead` was claimed once too often."""
    return _begun(c, _claimed(c, "lease", wanted), wanted, notes)


def waiting_since(c: sqlite3.Connection, wanted: Wanted) -> str | None:
    """Return when the oldest recording was asked for of which a part may be claimed now."""
    found: str | None = c.execute(SQL["waiting_since"], _values(wanted)).fetchone()["at"]
    return found


def take_over(
    c: sqlite3.Connection, straggler: Claim, wanted: Wanted, notes: Mapping[str, Any]
) -> Task | None:
    """Claim a part anew that somebody holds; None, and it stays with its holder, where that can't be."""
    mine = wanted._replace(only=straggler.id, held=set(wanted.held) - {straggler.id})
    return tasks.take_over(c, straggler, wanted.now, lambda: lease(c, mine, notes))


def take_up(c: sqlite3.Connection, wanted: Wanted) -> Task | None:
    """Let a worker find a part again that it holds: one that is ready, or that it has been silent about."""
    task = _claimed(c, "take_up", wanted)
    if task is not None and task.holder is not None:
        beat(c, task.claim, {}, wanted.now)
    return task


def step(
    c: sqlite3.Connection,
    mine: Claim,
    ends: str,
    now: str,
    *,
    phase: Phase | None = None,
    was: Collection[Phase] | None = None,
    notes: Mapping[str, Any] | None = None,
    ready: bool = False,
) -> Task | None:
    """Let a claim live on, with what its holder says; None where it is lost or in no phase of `was`."""
    phases = None if was is None else json.dumps(list(was))
    task = _row(c, "step", {**mine._asdict(), "ends": ends, "phase": phase, "was": phases, "now": now})
    if task is not None:
        beat(c, mine, notes or {}, now, ready=ready)
    return task


def bury(c: sqlite3.Connection, task_id: int, wanted: Wanted) -> Task | None:
    """Claim a part that was tried as often as may be, which makes it dead; None where it is not that far."""
    found = tasks.one(c, task_id)
    if found is None or found.tries < wanted.most_tries or found.holder is not None:
        return None
    return _claimed(c, "lease", wanted._replace(only=task_id, refuser=None))


def beat(
    c: sqlite3.Connection, mine: Claim, notes: Mapping[str, Any], now: str, *, ready: bool = False
) -> None:
    """Write down a sign of life, and notes beside the earlier ones; one of None is taken out."""
    row = c.execute(SQL["one"], {"id": mine.id}).fetchone()
    if row is not None:
        merged = {**json.loads(row["notes"]), **notes}
        kept = json.dumps({name: note for name, note in merged.items() if note is not None})
        c.execute(SQL["beat"], {**mine._asdict(), "notes": kept, "now": now, "ready": ready})


def lapse(c: sqlite3.Connection, mine: Claim, now: str) -> Task | None:
    """End a claim's time, whatever the wall clock says of it; it stays its holder's until somebody comes."""
    return _row(c, "lapse", {**mine._asdict(), "now": now})


def hand_in(
    c: sqlite3.Connection, mine: Claim, result: PartResult, made_by: str, digest: str, now: str
) -> Task | None:
    """Make a part done with its result and the digest of what was handed in; None: the claim is lost."""
    done = tasks.heard(c, mine, now)
    if done is not None:
        finished.keep(c, done.part_key, result, made_by, now)
        c.execute(SQL["hand_in"], {**mine._asdict(), "digest": digest})
    return done


def refuse(c: sqlite3.Connection, mine: Claim, refuser: int) -> None:
    """Write down that the workers of a token can't do a part."""
    c.execute(SQL["refuse"], {**mine._asdict(), "refuser": refuser})


def refusers(c: sqlite3.Connection, task_id: int) -> set[int]:
    """Return the tokens whose workers can't do a part."""
    row = c.execute(SQL["refusers"], {"id": task_id}).fetchone()
    return set() if row is None else set(json.loads(row["refused"]))


def told(c: sqlite3.Connection, task: Task) -> Told | None:
    """Return what is known of a task's latest claim; None where that was no worker's."""
    row = c.execute(SQL["one"], {"id": task.id}).fetchone()
    if row is None or row["attempt"] != task.attempt:
        return None
    return Told(
        task_id=row["task_id"],
        attempt=row["attempt"],
        holder=row["holder"],
        notes=json.loads(row["notes"]),
        beat_at=row["beat_at"],
        ready_at=row["ready_at"],
        digest=row["digest"],
    )


def held(c: sqlite3.Connection, holders: str) -> list[Task]:
    """Return the parts that holders of these names (a glob) hold."""
    return [tasks.read(row) for row in c.execute(SQL["held"], {"holders": holders}).fetchall()]


def _claimed(c: sqlite3.Connection, query: str, wanted: Wanted) -> Task | None:
    return _row(c, query, _values(wanted))


def _values(wanted: Wanted) -> dict[str, object]:
    return {
        **wanted._asdict(),
        "recordings": tasks.ids(wanted.recordings),
        "held": tasks.ids(wanted.held),
        "way": -1 if wanted.newest else 1,
    }


def _begun(c: sqlite3.Connection, task: Task | None, wanted: Wanted, notes: Mapping[str, Any]) -> Task | None:
    if task is not None and task.holder is not None:
        c.execute(SQL["begin"], {**task.claim._asdict(), "notes": json.dumps(notes), "now": wanted.now})
    return task


def _row(c: sqlite3.Connection, query: str, values: Mapping[str, object]) -> Task | None:
    rows = c.execute(SQL[query], values).fetchall()
    return tasks.read(rows[0]) if rows else None
