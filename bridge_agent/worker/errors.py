"""What a worker's questions to the Bridge can end with, other than their answer."""

from bridge_agent.base.errors import BridgeError, ExitCode, TryLater


class BridgeAway(TryLater):
    """The Bridge can’t be reached just now; the worker tries again by itself."""

    code = "bridge_away"

    def __init__(self, sentence: str | None = None, retry_after: float | None = None) -> None:
        """Hold the sentence for people, and in seconds how long the Bridge asked to be left alone."""
        super().__init__(sentence)
        self.retry_after = retry_after


class WrongCertificate(BridgeAway):
    """The certificate is not the pinned one; take the fingerprint from a new invitation."""

    code = "wrong_certificate"
    exit_code = ExitCode.FAILED


class TokenRefused(BridgeError):
    """The Bridge refuses this worker’s token; add the worker again on the Bridge’s page, then start this
    worker with the new token."""

    code = "token_refused"


class WorkerUnknown(BridgeError):
    """The Bridge does not know this worker any more; it registers anew by itself."""

    code = "worker_unknown"


class ClaimLost(BridgeError):
    """The part is not this worker’s any more; nothing more is sent for it."""

    code = "claim_lost"


class NotTaken(BridgeError):
    """The Bridge did not take what was sent; update the older of the two."""

    code = "not_taken"


class BadInput(BridgeError):
    """The part’s audio did not arrive as it was sent; it is fetched again by itself."""

    code = "bad_input"


class PartFailed(BridgeError):
    """A part could not be heard; the Bridge has it tried again."""

    code = "part_failed"

    def __init__(self, code: str, sentence: str) -> None:
        """Hold the code and the sentence that the Bridge is told."""
        super().__init__(sentence)
        self.error_code = code


class Unfit(BridgeError):
    """This machine can’t hear anything just now; the part is given back."""

    code = "unfit"
