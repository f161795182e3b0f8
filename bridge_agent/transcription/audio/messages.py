"""The messages between the Bridge and a decoder child; framed by base.frames."""

import msgspec

from bridge_agent.transcription.model import FileSurvey, Part


class Message(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The root of all messages."""


class Survey(Message, frozen=True):
    """Survey a file; answered by Surveyed or Error. Paths are bytes: not every name is text."""

    path: bytes
    name: str


class Cut(Message, frozen=True):
    """Cut a file into parts; answered by one CutPart a part, then Ended, or Error.

    No more than `ahead` parts are cut before More asks for them.
    """

    path: bytes
    parts: tuple[Part, ...]
    targets: tuple[bytes, ...]
    ahead: int


class More(Message, frozen=True):
    """One more part of the running cut is wanted."""


class Pcm(Message, frozen=True):
    """Return the samples of a cut part; answered by Samples or Error."""

    path: bytes


class Ready(Message, frozen=True):
    """The child has its libraries; `decoder` names them."""

    decoder: str


class Surveyed(Message, frozen=True):
    """A file is surveyed."""

    found: FileSurvey


class CutPart(Message, frozen=True):
    """A part is on disk; `index` is its place in the request."""

    index: int
    sha256: str
    size: int
    samples: int


class Ended(Message, frozen=True):
    """All parts are cut."""


class Samples(Message, frozen=True):
    """A part's samples, int16 little-endian."""

    pcm: bytes


class Error(Message, frozen=True):
    """A request failed; `code` is that of one of audio.errors."""

    code: str
    sentence: str


class Pulse(Message, frozen=True):
    """A sign of life: how far the work is, and for how many seconds the file system has kept a read waiting.

    `work` counts samples and bytes together: it stands still only when nothing happens.
    """

    samples: int
    work: int
    waiting: float


Request = Survey | Cut | More | Pcm
Reply = Ready | Surveyed | CutPart | Ended | Samples | Error | Pulse

requests: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(Request)
replies: msgspec.msgpack.Decoder[Reply] = msgspec.msgpack.Decoder(Reply)
