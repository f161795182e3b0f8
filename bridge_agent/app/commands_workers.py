"""The commands about workers, `token add|list|pause|resume|revoke`: by way of the running Bridge's page."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bridge_agent.app.commands import call, tell
from bridge_agent.app.terminal import at
from bridge_agent.base.errors import BridgeError, ExitCode
from bridge_agent.page import joining

WORKERS = "/api/workers"
TOKENS = f"{WORKERS}/tokens"


def add(name: str, model: str | None, data_dir: Path | None, as_json: bool) -> ExitCode:
    """Invite a worker; print its token and the line to paste."""
    # Before the token is made, which is shown once whatever comes after it.
    named = model if model or as_json else call(data_dir, "GET", WORKERS)["model"]
    made = call(data_dir, "POST", TOKENS, {"name": name, "model": model})
    return tell(made, as_json, *added_lines({**made, "model": named}))


def list_(data_dir: Path | None, as_json: bool) -> ExitCode:
    """List the workers."""
    if as_json:
        return tell(call(data_dir, "GET", TOKENS), as_json)
    return tell(None, as_json, *listed_lines(call(data_dir, "GET", WORKERS)["workers"]))


def pause(worker: str, data_dir: Path | None, as_json: bool) -> ExitCode:
    """Give a worker no more parts."""
    worker_id = _id_of(worker, data_dir)
    call(data_dir, "POST", f"{TOKENS}/{worker_id}/pause")
    said = f"Worker {worker} is given no more parts until “bridge-agent token resume {worker_id}”."
    return tell({"id": worker_id, "paused": True}, as_json, said)


def resume(worker: str, data_dir: Path | None, as_json: bool) -> ExitCode:
    """Give a worker parts again that was paused or parked."""
    worker_id = _id_of(worker, data_dir)
    call(data_dir, "POST", f"{TOKENS}/{worker_id}/resume")
    return tell({"id": worker_id, "paused": False}, as_json, f"Worker {worker} is given parts again.")


def revoke(worker: str, data_dir: Path | None, as_json: bool) -> ExitCode:
    """Refuse a worker from its next call on."""
    worker_id = _id_of(worker, data_dir)
    call(data_dir, "DELETE", f"{TOKENS}/{worker_id}")
    said = f"Worker {worker} is refused at its next call; what it has goes to others."
    return tell({"id": worker_id, "revoked": True}, as_json, said)


def _id_of(worker: str, data_dir: Path | None) -> int:
    """Return the id of a worker that is called by its name or its id; a name goes first."""
    listed = call(data_dir, "GET", TOKENS)["workers"]
    for key in ("name", "id"):
        for row in listed:
            if str(row[key]) == worker:
                return int(row["id"])
    raise BridgeError(f"No worker is called “{worker}”; “bridge-agent token list” shows names and ids.")


def added_lines(made: Mapping[str, Any]) -> Iterator[str]:
    """Say an invitation in lines: the token, then one line for each kind of machine."""
    invited = joining.Invited(
        made["name"], made["token"], made["url"], made["fingerprint"], made.get("model")
    )
    yield f"“{invited.name}” may join. Its token is shown this once:"
    yield f"  {invited.token}"
    yield "Paste one line on that machine; it asks for the token."
    for way in joining.own(invited):
        yield f"{way.title}:"
        yield f"  {way.text}"
        yield from (f"  {note}" for note in way.notes)
    yield "The Bridge’s page shows the settings for other projects’ workers, under Workers."


def listed_lines(workers: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Say the workers in lines."""
    if not workers:
        yield "No worker is invited; “bridge-agent token add NAME” invites one."
        return
    wide = max(len(worker["name"]) for worker in workers)
    for worker in workers:
        seen = worker["last_seen_at"]
        told = f"last seen {at(seen)}" if seen else "has not called in yet"
        model = f"  {worker['model']}" if worker["model"] else ""
        yield f"{worker['id']:>4}  {worker['name']:<{wide}}  {worker['state']:<7}  {told}{model}"
        if worker.get("reason"):
            yield f"      {worker['reason']}"
