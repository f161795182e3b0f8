"""What is said to the server about a job: cut to its limits, and the final report as its row holds it."""

import msgspec

from bridge_agent.jobs.handlers.base import Done, Failed
from bridge_agent.jobs.server_jobs import End, Row
from bridge_agent.protocol import text
from bridge_agent.protocol.bridge import Progress, Report, encode
from bridge_agent.protocol.states import JobState, RunState

GONE_FROM_US = "the server no longer counts it as this Bridge’s"

_ELSEWHERE = {
    JobState.CANCELLED: End(state=RunState.CANCELLED, note="cancelled on the server", reported=True),
    JobState.FAILED: End(state=RunState.FAILED, note="ended as failed on the server", reported=True),
    JobState.QUEUED: End(state=RunState.LOST, note="queued again on the server"),
    JobState.DONE: End(state=RunState.LOST, note="done on the server by another claim"),
}


def fitting_progress(progress: Progress) -> Progress:
    """Return progress within the server's limits: a step of 128 bytes, a message of 1 KiB (R-066)."""
    return Progress(
        step=text.clean(progress.step, text.STEP_BYTES),
        message=text.clean(progress.message, text.MESSAGE_BYTES),
        done=progress.done,
        total=progress.total,
    )


def fitting_error(error: str) -> str:
    """Return an error's sentence within 1 KiB; its line breaks stay (R-066)."""
    return text.clean(error, text.BRIDGE_ERROR_BYTES, keep_line_breaks=True)


def ending(outcome: Done | Failed) -> End:
    """Return how a handler's outcome ends its claim; a result that does not fit fails the job (R-066)."""
    result = outcome.result
    if (trouble := _unfit(result)) is not None:
        said = f"{outcome.error} " if isinstance(outcome, Failed) else ""
        return End(state=RunState.FAILED, error=fitting_error(said + trouble))
    if isinstance(outcome, Failed):
        return End(state=RunState.FAILED, result=result, error=fitting_error(outcome.error))
    return End(state=RunState.DONE, result=result)


def ended_elsewhere(state: str | None) -> End:
    """Return what a claim becomes that the server no longer counts as held, by the job's state there.

    Settled point 16: shown by that state, as lost where it is not told.
    """
    try:
        known = JobState(state or "")
    except ValueError:
        return End(state=RunState.LOST, note=GONE_FROM_US)
    return _ELSEWHERE.get(known, End(state=RunState.LOST, note="claimed again on the server"))


def final_report(row: Row) -> Report:
    """Return the final report of an ended row: the same bytes at every try, across restarts (R-081)."""
    progress = None if row.progress is None else msgspec.convert(row.progress, Progress)
    return Report(
        attempt=row.key.attempt,
        state=str(row.state),
        progress=progress,
        result=row.result,
        error=row.error,
    )


def _unfit(result: object) -> str | None:
    """Say why a result can't be sent; None where it can."""
    if result is None:
        return None
    try:
        size = len(encode(result))
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        return f"The result can’t be written as JSON ({error}); update the Bridge and queue the job anew."
    if size <= text.RESULT_BYTES:
        return None
    return (
        f"The result is larger than the server takes ({size:,} bytes, at most {text.RESULT_BYTES:,}); "
        "ask for less in one job."
    )
