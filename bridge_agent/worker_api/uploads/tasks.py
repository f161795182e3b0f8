"""Tasks of uploaded tables, as units over the store. Every write by a claimant names its claim (law 1)."""

import json
import sqlite3
from collections.abc import Collection, Iterable
from dataclasses import asdict
from typing import NamedTuple

from bridge_agent.store import Queries
from bridge_agent.worker_api.uploads import artifacts
from bridge_agent.worker_api.uploads.records import Holder, NewTask, Task, read_task
from bridge_agent.worker_api.uploads.refusals import (
    LeasedElsewhere,
    NoSuchTask,
    NotLeased,
    OtherResult,
    Refusal,
    StaleAttempt,
)

SQL = Queries("bridge_agent.worker_api.uploads", "tasks.sql")


class Asked(NamedTuple):
    """What a claim asks for: a task of these workloads, until `ends`."""

    workloads: Collection[str]
    owner: str
    token_id: int
    now: str
    ends: str


class Failure(NamedTuple):
    """What a worker says of a task that it could not do."""

    code: str | None
    message: str | None
    retryable: bool


def expire(c: sqlite3.Connection, now: str, tokens: Collection[int]) -> set[int]:
    """End the leases whose time is over, and those whose token is none of `tokens` any more.

    Return the numbers of the jobs that may have come to their end by it.
    """
    ended = c.execute(SQL["expire"], {"now": now, "tokens": json.dumps(sorted(tokens))}).fetchall()
    return {row["job"] for row in ended if row["state"] == "failed"}


def claim(c: sqlite3.Connection, asked: Asked) -> Task | None:
    """Choose the next task and mark it leased in one statement; None: there is none."""
    values = {**asked._asdict(), "workloads": json.dumps(sorted(asked.workloads))}
    row = c.execute(SQL["claim"], values).fetchone()
    return None if row is None else read_task(row)


def waiting_since(c: sqlite3.Connection, workloads: Collection[str], now: str) -> str | None:
    """Return when the oldest job was made of which a task of these workloads may be claimed now."""
    values = {"workloads": json.dumps(sorted(workloads)), "now": now}
    found: str | None = c.execute(SQL["waiting_since"], values).fetchone()["at"]
    return found


def unclaim(c: sqlite3.Connection, task: Task, now: str) -> None:
    """Take a claim back that nobody was told of, if it is as it was."""
    c.execute(SQL["unclaim"], {"id": task.id, "attempt": task.attempt, "owner": task.owner, "now": now})


def renew(c: sqlite3.Connection, task_id: str, holder: Holder, now: str, ends: str) -> Task:
    """Let a lease live on; raises what `refusal` returns."""
    row = c.execute(SQL["renew"], {"id": task_id, **asdict(holder), "now": now, "ends": ends}).fetchone()
    return read_task(row) if row is not None else _refuse(c, task_id, holder, now)


def may_hand_in(c: sqlite3.Connection, task_id: str, holder: Holder, now: str) -> None:
    """Raise NoSuchTask, or LeasedElsewhere unless a claim holds a task now, whatever the reason."""
    if refusal(one(c, task_id), holder, now) is not None:
        raise LeasedElsewhere


def complete(
    c: sqlite3.Connection,
    task_id: str,
    holder: Holder,
    artifact_id: str | None,
    metrics: str | None,
    now: str,
) -> tuple[Task, bool]:
    """Make a task completed with what was handed in for it; tell whether that is news.

    Whoever repeats it is answered as at the first time. Raises NoSuchTask, NoSuchArtifact, OtherResult, and
    what `refusal` returns, judged in this order.
    """
    task = one(c, task_id)
    found = artifacts.one(c, artifact_id or "")
    if (found.kind, found.task_id, found.attempt) != ("partial", task_id, holder.attempt):
        raise OtherResult
    if task.state == "completed":
        if (task.attempt, task.result_id) != (holder.attempt, artifact_id):
            raise OtherResult
        return task, False
    values = {"id": task_id, **asdict(holder), "result_id": artifact_id, "metrics": metrics, "now": now}
    row = c.execute(SQL["complete"], values).fetchone()
    return (read_task(row), True) if row is not None else (_refuse(c, task_id, holder, now), False)


def fail(
    c: sqlite3.Connection, task_id: str, holder: Holder, failure: Failure, next_run_at: str, now: str
) -> Task:
    """Write down that a worker could not do a task; raises what `refusal` returns."""
    values = {
        "id": task_id,
        **asdict(holder),
        "error_code": failure.code,
        "error_message": failure.message,
        "retryable": failure.retryable,
        "next_run_at": next_run_at,
        "now": now,
    }
    row = c.execute(SQL["fail"], values).fetchone()
    return read_task(row) if row is not None else _refuse(c, task_id, holder, now)


def hold_to_bounds(c: sqlite3.Connection, longest_lease: str, longest_pause: str) -> None:
    """Shorten leases and pauses that a wall clock set wrong has made longer than they can be."""
    c.execute(SQL["hold_to_bounds"], {"longest_lease": longest_lease, "longest_pause": longest_pause})


def cancel(c: sqlite3.Connection, job: int, now: str) -> int:
    """Cancel what is not finished of a job; return how many tasks that were."""
    return c.execute(SQL["cancel"], {"job": job, "now": now}).rowcount


def add(c: sqlite3.Connection, job: int, new: Iterable[NewTask], now: str) -> None:
    """Give a job its tasks, in the order in which they are to be claimed."""
    c.executemany(SQL["add"], ({**asdict(task), "job": job, "now": now} for task in new))


def one(c: sqlite3.Connection, task_id: str) -> Task:
    """Return a task; raises NoSuchTask."""
    row = c.execute(SQL["one"], {"id": task_id}).fetchone()
    if row is None:
        raise NoSuchTask
    return read_task(row)


def counts(c: sqlite3.Connection, job: int) -> dict[str, int]:
    """Return how many of a job's tasks are in each state that has any."""
    return {row["state"]: row["tasks"] for row in c.execute(SQL["counts"], {"job": job}).fetchall()}


def results(c: sqlite3.Connection, job: int) -> list[str]:
    """Return the ids of what was handed in for a job, in the job's own order."""
    return [row["result_id"] for row in c.execute(SQL["results"], {"job": job}).fetchall()]


def refusal(task: Task, holder: Holder, now: str) -> Refusal | None:
    """Return why somebody does not hold a task; None where they do."""
    if not task.leased:
        return NotLeased()
    if (task.owner, task.token_id) != (holder.owner, holder.token_id):
        return LeasedElsewhere()
    if task.attempt != holder.attempt:
        return StaleAttempt()
    return LeasedElsewhere() if (task.lease_ends_at or "") <= now else None


def _refuse(c: sqlite3.Connection, task_id: str, holder: Holder, now: str) -> Task:
    raise refusal(one(c, task_id), holder, now) or NotLeased()
