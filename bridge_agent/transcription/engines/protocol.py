"""The messages between the Bridge and an engine child: msgpack, each behind its length in four bytes."""

import asyncio
import struct
from typing import BinaryIO, TypeVar

import msgspec

from bridge_agent.transcription.engines.base import Context, Heard, Machine, Setup
from bridge_agent.transcription.model import EngineInfo

MOST_BYTES = 256 * 1024 * 1024
"""A longer message is none: something wrote into the pipe that does not belong there."""

_HEAD = struct.Struct(">I")


class BadFrame(Exception):
    """What came through the pipe is no message of this protocol."""


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

T = TypeVar("T", Request, Reply)

_requests: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(Request)
_replies: msgspec.msgpack.Decoder[Reply] = msgspec.msgpack.Decoder(Reply)


def frame(message: Message) -> bytes:
    """Write a message with its length before it."""
    body = msgspec.msgpack.encode(message)
    return _HEAD.pack(len(body)) + body


def read_request(pipe: BinaryIO) -> Request | None:
    """Read the next request, blocking; None at the end of the pipe. Raises BadFrame."""
    head = _exactly(pipe, _HEAD.size)
    if head is None:
        return None
    body = _exactly(pipe, _length(head))
    if body is None:
        return None
    try:
        return _requests.decode(body)
    except msgspec.DecodeError as error:
        raise BadFrame(str(error)) from error


async def read_reply(pipe: asyncio.StreamReader) -> Reply | None:
    """Read the next reply; None at the end of the pipe, also within a message. Raises BadFrame."""
    try:
        head = await pipe.readexactly(_HEAD.size)
        body = await pipe.readexactly(_length(head))
    except asyncio.IncompleteReadError:
        return None
    try:
        return _replies.decode(body)
    except msgspec.DecodeError as error:
        raise BadFrame(str(error)) from error


def _length(head: bytes) -> int:
    length: int = _HEAD.unpack(head)[0]
    if length > MOST_BYTES:
        raise BadFrame(f"a message of {length} bytes")
    return length


def _exactly(pipe: BinaryIO, count: int) -> bytes | None:
    parts, missing = [], count
    while missing:
        part = pipe.read(missing)
        if not part:
            return None
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)
