"""Messages through a pipe: msgpack, each behind its length in four bytes."""

import asyncio
import struct
from typing import BinaryIO, TypeVar

import msgspec

MOST_BYTES = 256 * 1024 * 1024
"""A longer message is none: something wrote into the pipe that does not belong there."""

_HEAD = struct.Struct(">I")

M = TypeVar("M")


class BadFrame(Exception):
    """What came through the pipe is no message of this protocol."""


def pack(message: msgspec.Struct) -> bytes:
    """Write a message with its length before it."""
    body = msgspec.msgpack.encode(message)
    return _HEAD.pack(len(body)) + body


def read(pipe: BinaryIO, decoder: msgspec.msgpack.Decoder[M]) -> M | None:
    """Read the next message, blocking; None at the end of the pipe, even within one. Raises BadFrame."""
    head = _exactly(pipe, _HEAD.size)
    body = None if head is None else _exactly(pipe, _length(head))
    return None if body is None else _decoded(body, decoder)


async def receive(pipe: asyncio.StreamReader, decoder: msgspec.msgpack.Decoder[M]) -> M | None:
    """Read the next message; None at the end of the pipe, also within a message. Raises BadFrame."""
    try:
        head = await pipe.readexactly(_HEAD.size)
        body = await pipe.readexactly(_length(head))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    return _decoded(body, decoder)


def _decoded(body: bytes, decoder: msgspec.msgpack.Decoder[M]) -> M:
    try:
        return decoder.decode(body)
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
