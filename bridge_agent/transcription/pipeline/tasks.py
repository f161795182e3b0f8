"""Tasks: parts on their way, as units over the store. Every write by a claimant names its claim (law 1)."""

import sqlite3
from collections.abc import Callable, Collection, Sequence
from typing import Literal, NamedTuple

import msgspec

from bridge_agent.store import Queries
from bridge_agent.transcription.model import Value

SQL = Queries("bridge_agent.transcription.pipeline", "tasks.sql")

State = Literal["created", "converted", "done", "failed", "dead", "cancelled"]
Open = Literal["created", "converted"]
Phase = Literal["downloading", "ready", "transcribing"]


class Task(Value, frozen=True):
    """A row of `tasks`."""

    id: int
    recording_id: int
    number: int
    part_key: str
    samples: int
    state: State
    attempt: int
    tries: int
    priority: int
    cuts: int = 0
    fell_from: Open | None = None
    holder: str | None = None
    phase: Phase | None = None
    claimed_at: str | None = None
    claim_ends_at: str | None = None
    next_run_at: str | None = None
    sha256: str | None = None
    size: int | None = None
    error: str | None = None
    created_at: str = ""
    updated_at: str = ""

    @property
    def turn(self) -> int:
        """The attempt as workers see it: how often the part was claimed once it was cut, from 1."""
        return self.attempt - self.cuts

    @property
    def claim(self) -> "Claim":
        """The mark that a claimant's writes carry."""
        return Claim(self.id, self.attempt, self.holder or "")


class Claim(NamedTuple):
    """Which claim writes: of two in one tick of the clock the attempts still differ."""

    id: int
    attempt: int
    holder: str


class NewTask(Value, frozen=True):
    """A part that a plan names."""

    number: int
    part_key: str
    samples: int


class Asked(NamedTuple):
    """What a claim asks for: a part of these recordings in that state, until `ends` at the longest."""

    state: Open
    recordings: Collection[int]
    holder: str
    phase: Phase | None
    now: str
    ends: str
    most_tries: int
    held: Collection[int] = ()
    """Parts whose claims live by the monotonic clock, whatever the wall clock says of them (law 5)."""


def ids(numbers: Collection[int]) -> str:
    """Return ids as a query takes them: hundreds of them at each claim, where many are at work."""
    return msgspec.json.encode(sorted(numbers)).decode()


def claim(c: sqlite3.Connection, asked: Asked) -> Task | None:
    """Choose the next task and mark it claimed in one statement (P-010); None: there is no work.

    A task that comes back `dead` was claimed once too often and is not to be worked on (P-042).
    """
    values = {
        **asked._asdict(),
        "recordings": ids(asked.recordings),
        "held": ids(asked.held),
    }
    return _row(c, "claim", values)


def converted(c: sqlite3.Connection, mine: Claim, sha256: str, size: int, now: str) -> Task | None:
    """Write down that a part's audio is cut; None where the claim is lost, as with all that follow here."""
    return _row(c, "converted", {**mine._asdict(), "sha256": sha256, "size": size, "now": now})


def heard(c: sqlite3.Connection, mine: Claim, now: str) -> Task | None:
    """Write down that a part is transcribed."""
    return _row(c, "heard", {**mine._asdict(), "now": now})


def uncut(c: sqlite3.Connection, mine: Claim, error: str, now: str) -> Task | None:
    """Send a part back to be cut anew."""
    return _row(c, "uncut", {**mine._asdict(), "error": error, "now": now})


def again(c: sqlite3.Connection, mine: Claim, error: str, next_run_at: str, now: str) -> Task | None:
    """Write down a failed try, and when the next one may be (P-050)."""
    return _row(c, "again", {**mine._asdict(), "error": error, "next_run_at": next_run_at, "now": now})


def wait(c: sqlite3.Connection, mine: Claim, next_run_at: str, now: str) -> Task | None:
    """Write down that something foreign is waited for, which is no failure (P-051)."""
    return _row(c, "wait", {**mine._asdict(), "next_run_at": next_run_at, "now": now})


def fail(c: sqlite3.Connection, mine: Claim, error: str, now: str) -> Task | None:
    """Write down a step's final verdict (P-045)."""
    return _row(c, "fail", {**mine._asdict(), "error": error, "now": now})


def give_back(c: sqlite3.Connection, mine: Claim, now: str) -> Task | None:
    """Give a claim back that came to nothing without anybody's fault."""
    return _row(c, "give_back", {**mine._asdict(), "now": now})


def take_over(
    c: sqlite3.Connection, straggler: Claim, now: str, anew: Callable[[], Task | None]
) -> Task | None:
    """End a claim that lives, the try not counted, and claim its part anew.

    None where it has moved on, or where nothing is claimed for whatever reason: it lives on then.
    """
    c.execute("SAVEPOINT take_over")
    found = None if give_back(c, straggler, now) is None else anew()
    if found is None or found.holder is None:
        c.execute("ROLLBACK TO take_over")
        found = None
    c.execute("RELEASE take_over")
    return found


def give_back_all(c: sqlite3.Connection, holders: str, now: str) -> list[Task]:
    """Give back what holders of these names (a glob) held when the Bridge itself ended."""
    return _rows(c, "give_back_all", {"holders": holders, "now": now})


def from_the_future(c: sqlite3.Connection, now: str) -> None:
    """After a start, let no claim last longer than it was made for, whatever the wall clock did (law 5)."""
    c.execute(SQL["from_the_future"], {"now": now})


def lost_audio(c: sqlite3.Connection, task: Task, now: str) -> Task | None:
    """Send a part whose audio is not there back to be cut, if nobody holds it by now."""
    return _row(c, "lost_audio", {"id": task.id, "attempt": task.attempt, "now": now})


def set_back(c: sqlite3.Connection, task_id: int, state: Open | None, now: str) -> Task | None:
    """Let a dead or failed task go on, from where it fell unless a state is named (P-043)."""
    if c.execute(SQL["set_back"], {"id": task_id, "state": state, "now": now}).fetchone() is None:
        return None
    return one(c, task_id)


def cancel(c: sqlite3.Connection, recording_id: int, now: str) -> list[Task]:
    """Cancel what is open of a recording."""
    return _rows(c, "cancel", {"recording_id": recording_id, "now": now})


def replace(
    c: sqlite3.Connection, recording_id: int, tasks: Sequence[NewTask], finished: Collection[str], now: str
) -> None:
    """Give a recording the parts of its new plan; those whose keys are finished begin as `done`."""
    c.execute(SQL["drop"], {"recording_id": recording_id})
    rows = [
        {
            "recording_id": recording_id,
            "number": task.number,
            "part_key": task.part_key,
            "samples": task.samples,
            "state": "done" if task.part_key in finished else "created",
            "now": now,
        }
        for task in tasks
    ]
    c.executemany(SQL["add"], rows)


def one(c: sqlite3.Connection, task_id: int) -> Task | None:
    """Return a task by its id."""
    return _row(c, "one", {"id": task_id})


def numbered(c: sqlite3.Connection, recording_id: int, number: int) -> Task | None:
    """Return a recording's task by its part's number."""
    return _row(c, "numbered", {"recording_id": recording_id, "number": number})


def of_recording(c: sqlite3.Connection, recording_id: int) -> list[Task]:
    """Return a recording's tasks in their order."""
    return _rows(c, "of_recording", {"recording_id": recording_id})


def in_state(c: sqlite3.Connection, state: State) -> list[Task]:
    """Return all tasks in a state: how the owner finds the dead ones (P-043)."""
    return _rows(c, "in_state", {"state": state})


def counts(c: sqlite3.Connection, recording_id: int) -> dict[State, int]:
    """Return how many of a recording's tasks are in each state that has any."""
    found = c.execute(SQL["counts"], {"recording_id": recording_id}).fetchall()
    return {row["state"]: row["parts"] for row in found}


def numbers(c: sqlite3.Connection, recording_id: int, state: State) -> list[int]:
    """Return the numbers of a recording's parts in a state, in their order."""
    values = {"recording_id": recording_id, "state": state}
    return [row["number"] for row in c.execute(SQL["numbers"], values).fetchall()]


def lying(c: sqlite3.Connection, recording_id: int, here: str) -> int:
    """Return how many cut parts lie ready or are heard by holders whose names begin so.

    What other machines hold does not count: one that holds much must not leave the others without.
    """
    found: int = c.execute(SQL["lying"], {"recording_id": recording_id, "here": here + "*"}).fetchone()[
        "parts"
    ]
    return found


def _row(c: sqlite3.Connection, query: str, values: dict[str, object]) -> Task | None:
    found = _rows(c, query, values)
    return found[0] if found else None


def _rows(c: sqlite3.Connection, query: str, values: dict[str, object]) -> list[Task]:
    return [read(row) for row in c.execute(SQL[query], values).fetchall()]


def read(row: sqlite3.Row) -> Task:
    """Return a row of `tasks`."""
    return Task(**{name: row[name] for name in Task.__struct_fields__})
