"""Refusals: why something that was asked of uploaded jobs can't be; a wire has its own words for each."""

from bridge_agent.base.errors import BridgeError


class Refusal(BridgeError):
    """This can’t be done as it was asked for."""

    code = "refused"


class Invalid(Refusal):
    """What was sent is not of the right form; see the sentence, then send it anew."""

    code = "invalid_input"


class TooLarge(Refusal):
    """This is larger than what is taken here; send less."""

    code = "too_large"


class NoSuchJob(Refusal):
    """There is no job with this id."""

    code = "job_not_found"


class NoSuchTask(Refusal):
    """There is no task with this id."""

    code = "task_not_found"


class NoSuchArtifact(Refusal):
    """There is no file with this id."""

    code = "artifact_not_found"


class NotLeased(Refusal):
    """Nobody holds this task now; claim another one."""

    code = "not_leased"


class LeasedElsewhere(Refusal):
    """Another worker holds this task, or its lease is over; claim another one."""

    code = "leased_elsewhere"


class StaleAttempt(Refusal):
    """This attempt at the task is over; claim another one."""

    code = "stale_attempt"


class OtherResult(Refusal):
    """This is not the result of this task’s attempt; claim another task."""

    code = "other_result"


class NotCancellable(Refusal):
    """This job has come to its end, or nearly; it can’t be cancelled any more."""

    code = "not_cancellable"
