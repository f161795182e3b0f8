"""Messages through a pipe."""

import asyncio
import io

import msgspec
import pytest

from bridge_agent.base import frames


class Hello(msgspec.Struct, tag=True):
    name: str


DECODER = msgspec.msgpack.Decoder(Hello)


async def test_messages_come_out_as_they_went_in_one_after_the_other():
    raw = frames.pack(Hello("a")) + frames.pack(Hello("ü" * 70_000))
    pipe, stream = io.BytesIO(raw), asyncio.StreamReader()
    stream.feed_data(raw)
    stream.feed_eof()
    for name in ("a", "ü" * 70_000):
        assert frames.read(pipe, DECODER) == Hello(name)
        assert await frames.receive(stream, DECODER) == Hello(name)
    assert frames.read(pipe, DECODER) is None
    assert await frames.receive(stream, DECODER) is None


async def test_a_message_that_breaks_off_is_the_end():
    raw = frames.pack(Hello("a"))[:-1]
    stream = asyncio.StreamReader()
    stream.feed_data(raw)
    stream.feed_eof()
    assert frames.read(io.BytesIO(raw), DECODER) is None
    assert await frames.receive(stream, DECODER) is None


@pytest.mark.parametrize("raw", [b"\0\0\0\2hi", b"\xff\xff\xff\xffx"])
def test_what_is_no_message_is_refused(raw):
    with pytest.raises(frames.BadFrame):
        frames.read(io.BytesIO(raw), DECODER)
