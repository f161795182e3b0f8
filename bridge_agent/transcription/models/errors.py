"""What can be wrong with a model, as one sentence with the next step."""

from bridge_agent.base.errors import BridgeError, ExitCode


class ModelError(BridgeError):
    """The speech model can't be used; choose another one with BRIDGE_SPEECH_MODEL."""

    code = "model_unusable"


class UnknownModel(ModelError):
    """No speech model has that name; choose one of the names that the settings list."""

    code = "unknown_model"


class BrokenModel(ModelError):
    """A speech model's folder is not whole; download it again."""

    code = "model_broken"


class DownloadFailed(ModelError):
    """The speech model could not be downloaded; check this machine's way to the internet and try again."""

    code = "model_download_failed"

    def __init__(self, sentence: str | None = None, *, later: bool = False) -> None:
        """Hold the sentence, and whether waiting may mend it."""
        super().__init__(sentence)
        self.exit_code = ExitCode.TRY_LATER if later else ExitCode.FAILED
