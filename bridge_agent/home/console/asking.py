"""Asking for a job from a page: queued, and the sentence for what came of it."""

from http import HTTPStatus
from typing import TYPE_CHECKING

from bridge_agent.home.bridge_jobs import KindUnavailable
from bridge_agent.home.console.said import said_sentence
from bridge_agent.home.errors import HomeError
from bridge_agent.home.job import Job
from bridge_agent.protocol.bridge import MAX_HOLD_S, VERIFY

if TYPE_CHECKING:
    from bridge_agent.home.app import HomeServer

HOLD = f"How long to hold takes a whole number of seconds from 0 to {MAX_HOLD_S}; correct it and try again."

NO_BRIDGE = said_sentence("no_bridge")
NOT_HEARD = said_sentence("not_heard")


class NotAsked(Exception):
    """A job that could not be queued: why, in a sentence, and the code of that sentence."""

    def __init__(self, code: str, message: str, status: int) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status


async def ask_verify(home: "HomeServer", library_id: int, path: str | None, hold: str) -> tuple[Job, str]:
    """Queue a verify; `hold` is the seconds as they were typed. Raises NotAsked."""
    if hold and not (hold.isascii() and hold.isdigit() and len(hold) <= 3 and int(hold) <= MAX_HOLD_S):
        raise NotAsked("invalid_params", HOLD, HTTPStatus.BAD_REQUEST)
    return await ask(home, VERIFY, library_id, path, {"hold_seconds": int(hold or 0)}, 0)


async def ask(
    home: "HomeServer", kind: str, library_id: int, path: str | None, params: dict[str, object], priority: int
) -> tuple[Job, str]:
    """Queue a job; return it with the code of what to say: new, open already, or still stopping (R-076)."""
    try:
        job, created = await home.jobs.queue(kind, library_id, path, params, priority)
    except KindUnavailable as error:
        raise await _unavailable(home, error) from error
    except HomeError as error:
        raise NotAsked(error.code, error.message, error.status) from error
    if created:
        return job, "queued"
    return job, "stopping" if job.cancel_requested else "open"


async def _unavailable(home: "HomeServer", error: HomeError) -> NotAsked:
    """Say why a kind can't be had: nobody is paired, has called in yet, or does it."""
    bridge = await home.bridge.view()
    if not bridge["paired"]:
        return NotAsked("no_bridge", NO_BRIDGE, error.status)
    if bridge["last_heartbeat_at"] is None:
        return NotAsked("not_heard", NOT_HEARD, error.status)
    return NotAsked(error.code, error.message, error.status)
