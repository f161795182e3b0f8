"""The messages between the Bridge and an engine child; framed by base.frames."""

import msgspec

from bridge_agent.transcription.engines.base import Context, Heard, Machine, Setup
from bridge_agent.transcription.model import EngineInfo


class Message(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The root of all messages."""


class Survey(Message, frozen=True):
    """Say what the engine's libraries find here, without loading a model."""

    engine: str


class Load(Message, frozen=True):
    """Load an engine with its model; answered by Ready or Error."""

    setup: Setup


class Transcribe(Message, frozen=True):
    """Hear 16 kHz mono int16 PCM; answered by any number of Words, then Result or Error."""

    id: int
    pcm: bytes
    context: Context


class DetectLanguage(Message, frozen=True):
    """Say which language is spoken; answered by Languages or Error."""

    id: int
    pcm: bytes


class Cancel(Message, frozen=True):
    """Stop a request at the next segment; answered by Error of kind `stopped` if it is in time."""

    id: int


class Info(Message, frozen=True):
    """Say which engine is loaded; answered by Ready or Error."""


class Found(Message, frozen=True):
    """The answer to Survey."""

    machine: Machine


class Ready(Message, frozen=True):
    """An engine is loaded."""

    info: EngineInfo


class Words(Message, frozen=True):
    """One more segment's text of a request that goes on."""

    id: int
    text: str


class Result(Message, frozen=True):
    """A part is heard."""

    id: int
    heard: Heard


class Languages(Message, frozen=True):
    """Each language's probability; empty where nobody speaks."""

    id: int
    probabilities: dict[str, float]


class Error(Message, frozen=True):
    """A request failed; the child lives on. `kind`: refused, away, stopped, memory or failed.

    `id` is None where loading or surveying failed.
    """

    id: int | None
    kind: str
    sentence: str


class Pulse(Message, frozen=True):
    """A sign of life from a thread of its own: processor seconds and resident bytes so far."""

    cpu_seconds: float
    resident: int


Request = Survey | Load | Transcribe | DetectLanguage | Cancel | Info
Reply = Found | Ready | Words | Result | Languages | Error | Pulse

requests: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(Request)
replies: msgspec.msgpack.Decoder[Reply] = msgspec.msgpack.Decoder(Reply)
