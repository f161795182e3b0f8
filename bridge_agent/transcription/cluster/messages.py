"""What goes to a cluster and comes back, as bytes: neither side has to have the other's classes."""

from typing import Literal

from bridge_agent.base.errors import BridgeError
from bridge_agent.transcription.engines.base import Context
from bridge_agent.transcription.engines.errors import (
    EngineDied,
    EngineError,
    EngineHung,
    EngineRefused,
    EngineUnavailable,
    OutOfMemory,
)
from bridge_agent.transcription.model import EngineInfo, PartResult, Value
from bridge_agent.transcription.models.errors import BrokenModel, DownloadFailed, ModelError, UnknownModel
from bridge_agent.transcription.pipeline.executor import BadAudio

RESOURCE = "speech"
"""What a Dask worker offers as many times as parts may be heard there at once."""


class OtherModel(ModelError):
    """The cluster has another speech model than the book is for; give its workers that model."""

    code = "other_model"


_ERRORS: dict[str, type[BridgeError]] = {
    kind.code: kind
    for kind in (
        BadAudio, EngineDied, EngineError, EngineHung, EngineRefused, EngineUnavailable, OutOfMemory,
        BrokenModel, DownloadFailed, ModelError, OtherModel, UnknownModel,
    )
}  # fmt: skip


class Errand(Value, frozen=True):
    """What is asked of a Dask worker: a part's words, its language, or which engine is there.

    `program` is the version of who asks. `planned` is the model that the book is for, empty for any, and
    `topic` where the words so far are told.
    """

    kind: Literal["hear", "languages", "look"]
    program: str
    context: Context
    sha256: str = ""
    planned: str = ""
    topic: str = ""


class Answer(Value, frozen=True):
    """What came of an errand; `where` is the worker's address, `code` an error's and `sentence` its own."""

    where: str
    info: EngineInfo | None = None
    result: PartResult | None = None
    languages: dict[str, float] | None = None
    code: str = ""
    sentence: str = ""

    def error(self) -> BridgeError | None:
        """Return what went wrong there, as it would have been raised here."""
        if not self.code:
            return None
        return _ERRORS.get(self.code, EngineError)(self.sentence)
