"""What a handler's run comes to: its outcome, or an error put into words."""

import logging

from bridge_agent.base.errors import BridgeError
from bridge_agent.jobs.handlers.base import (
    AttentionNeeded,
    Done,
    Failed,
    Handler,
    JobContext,
    NeedsAttention,
    Outcome,
)
from bridge_agent.link.errors import NotHeld, NotPaired, TokenRefused

_log = logging.getLogger(__name__)

LET_GO = "The work stopped by itself before its end; queue the job anew, and see the log if it happens again."

Broken = NotHeld | NotPaired | TokenRefused
"""Errors that end the claim, or keep it aside, and say nothing about the work."""


async def outcome_of(handler: Handler, job: JobContext) -> Outcome | Broken:
    """Run a handler to its end and word what it raises; only CancelledError comes out of here."""
    try:
        outcome = await handler.run(job)
        if not isinstance(outcome, Done | Failed | NeedsAttention):
            raise TypeError(f"the handler of {job.kind} answered {type(outcome).__name__}")
        return outcome
    except (NotHeld, NotPaired, TokenRefused) as error:
        return error
    except AttentionNeeded as error:
        return NeedsAttention(error.message, error.mended)
    except BridgeError as error:
        return Failed(error.message)
    except Exception as error:
        _log.exception("The handler of %s failed on job %d.", job.kind, job.job_id)
        return Failed(
            f"The Bridge made a mistake here ({type(error).__name__}); its log says more. "
            "Update the Bridge, then queue the job anew."
        )
