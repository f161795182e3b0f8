"""The one root of the errors that a person can meet, and what a command exits with."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What a command tells its shell or service manager."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    TRY_LATER = 75


class BridgeError(Exception):
    """Something went wrong; look at the log for what."""

    code = "error"
    exit_code = ExitCode.FAILED

    def __init__(self, message: str | None = None) -> None:
        """Hold one sentence in plain words with the next step; without one, the class's own."""
        self.message = message or " ".join((type(self).__doc__ or "").split("\n\n")[0].split())
        super().__init__(self.message)


class SettingsError(BridgeError):
    """A setting is wrong."""

    code = "bad_settings"
    exit_code = ExitCode.USAGE


class TryLater(BridgeError):
    """This can't be done right now; try again in a while."""

    code = "try_later"
    exit_code = ExitCode.TRY_LATER
