"""The commands `token add`, `token list`, `token revoke`: workers, by way of the running Bridge's page."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bridge_agent.app.commands import call, tell
from bridge_agent.app.terminal import at
from bridge_agent.base.errors import ExitCode
from bridge_agent.page import joining
from bridge_agent.settings import BridgeSettings

TOKENS = "/api/workers/tokens"


def add(name: str, model: str | None, data_dir: Path | None, as_json: bool) -> ExitCode:
    """Invite a worker; print its token and the line to paste."""
    made = call(data_dir, "POST", TOKENS, {"name": name, "model": model})
    settings = BridgeSettings.load(os.environ, None, data_dir)
    return tell(made, as_json, *added_lines(made, joining.model_of(model, settings)))


def list_(data_dir: Path | None, as_json: bool) -> ExitCode:
    """List the workers."""
    answer = call(data_dir, "GET", TOKENS)
    return tell(answer, as_json, *listed_lines(answer["workers"]))


def revoke(worker_id: int, data_dir: Path | None, as_json: bool) -> ExitCode:
    """Refuse a worker from its next call on."""
    call(data_dir, "DELETE", f"{TOKENS}/{worker_id}")
    answer = {"id": worker_id, "revoked": True}
    return tell(
        answer, as_json, f"Worker {worker_id} is refused at its next call; what it has goes to others."
    )


def added_lines(made: Mapping[str, Any], model: str | None) -> Iterator[str]:
    """Say an invitation in lines: the token, then one line for each kind of machine."""
    invited = joining.Invited(made["name"], made["token"], made["url"], made["fingerprint"], model)
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
