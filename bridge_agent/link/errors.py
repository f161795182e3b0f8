"""What a call to the server can end with, other than its answer; and why a pairing failed."""

from typing import Literal

from bridge_agent.base.errors import BridgeError, ExitCode

AwayKind = Literal[
    "unreachable", "tls_untrusted", "redirected", "server_error", "busy", "not_a_server", "not_ready"
]


class NotPaired(BridgeError):
    """This Bridge is not paired with a server; make a code in the server’s console and pair it."""

    code = "not_paired"


class TokenRefused(BridgeError):
    """The server refuses this Bridge’s token; unpair, then pair again with a new code."""

    code = "token_refused"


class NotHeld(BridgeError):
    """The server no longer counts this job as held by this claim; nothing more is reported for it."""

    code = "not_held"

    def __init__(self, state: str | None = None) -> None:
        """Hold the job's present state on the server, where the answer named it."""
        super().__init__()
        self.state = state


class NoHeartbeat(BridgeError):
    """The server has no heartbeat of this Bridge yet; one is sent, then it is asked again."""

    code = "no_heartbeat"


class ServerAway(BridgeError):
    """The server can’t be reached just now; the Bridge tries again by itself."""

    code = "server_away"
    exit_code = ExitCode.TRY_LATER

    def __init__(
        self,
        sentence: str | None = None,
        retry_after: float | None = None,
        *,
        kind: AwayKind = "unreachable",
        location: str | None = None,
    ) -> None:
        """Hold the sentence for people, and in seconds how long the server asked to be left alone."""
        super().__init__(sentence)
        self.retry_after = retry_after
        self.kind = kind
        self.location = location


class Rejected(BridgeError):
    """The server did not take the request; see its message, and update the older of the two."""

    def __init__(self, status: int, code: str, message: str) -> None:
        """Hold the HTTP status, the server's code for it, and its message, cleaned."""
        super().__init__(message)
        self.status = status
        self.code = code


class PairFailed(BridgeError):
    """The pairing failed; make a new code in the server’s console and try again."""

    def __init__(self, status: int, code: str, message: str, retry_after: float | None = None) -> None:
        """Hold the HTTP status and code of the page's own API (R-014 … R-023), and the sentence."""
        super().__init__(message)
        self.status = status
        self.code = code
        self.retry_after = retry_after
