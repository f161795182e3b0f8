"""A speech server on the network as an engine: what it is asked, what comes back, and where it never goes."""

import asyncio
from itertools import pairwise

import pytest

from bridge_agent.base.clock import perf
from bridge_agent.transcription.engines import openai_server
from bridge_agent.transcription.engines.base import Context
from bridge_agent.transcription.engines.errors import EngineRefused, EngineUnavailable
from bridge_agent.transcription.model import RATE, Word
from tests.fakes.speech_server import FakeSpeechServer
from tests.unit.transcription_engines.sounds import babble, silence

PART = babble(6)


VOICE_DETECTOR = """
class VadOptions:
    def __init__(self, **options): pass

def get_speech_timestamps(audio, options):
    return [{"start": 0, "end": len(audio)}] if abs(audio).max() > 0.01 else []
"""


@pytest.fixture
def asking(pool_of, tmp_path, monkeypatch):
    """A pool that asks a server; its children have a voice detector that takes any noise for a voice."""
    package = tmp_path / "instead" / "faster_whisper"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "vad.py").write_text(VOICE_DETECTOR)
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    return lambda server, **wishes: pool_of("whisper-1", server=server.url, **wishes)


async def test_a_part_is_sent_as_wav_and_comes_back_with_words(asking):
    async with FakeSpeechServer() as server:
        context = Context(language="en", hints=("Aesop", "the Fox"))
        heard = await asking(server).transcribe(PART, context)
    (asked,) = server.asked
    assert asked["seconds"] == 6.0
    assert asked["model"] == ["whisper-1"]
    assert asked["response_format"] == ["verbose_json"]
    assert asked["language"] == ["en"]
    assert asked["prompt"] == ["Aesop, the Fox"]
    assert sorted(asked["timestamp_granularities[]"]) == ["segment", "word"]
    assert (heard.engine.name, heard.engine.model, heard.engine.device) == (
        "openai-server",
        "whisper-1",
        "server",
    )
    assert [segment.text for segment in heard.segments] == [" Once upon a time,", " a fox saw some grapes."]
    words = [word for segment in heard.segments for word in segment.words]
    assert "".join(word.text for word in words) == " Once upon a time, a fox saw some grapes."
    assert all(before.end <= after.start for before, after in pairwise(words))
    assert heard.flags == ()


async def test_both_dialects_give_the_same(asking):
    async with FakeSpeechServer() as plain, FakeSpeechServer(plain=False) as other:
        one = await asking(plain).transcribe(PART, Context())
        two = await asking(other).transcribe(PART, Context())
    assert one == two
    assert one.language == "en"


async def test_a_part_without_speech_is_not_sent(asking):
    async with FakeSpeechServer() as server:
        heard = await asking(server).transcribe(silence(5), Context())
        assert await asking(server).detect_language(silence(5)) == {}
    assert heard.segments == ()
    assert server.asked == []


async def test_the_language_is_the_servers(asking):
    async with FakeSpeechServer() as server:
        assert await asking(server).detect_language(PART) == {"en": 1.0}


async def test_words_can_be_left_off(asking):
    async with FakeSpeechServer() as server:
        heard = await asking(server).transcribe(PART, Context(word_timestamps=False))
    assert [segment.text for segment in heard.segments] == [" Once upon a time,", " a fox saw some grapes."]
    assert all(segment.words == () for segment in heard.segments)


async def test_an_empty_answer_is_heard_again_and_flagged(asking):
    async with FakeSpeechServer(body='{"text": "", "segments": []}') as server:
        heard = await asking(server).transcribe(PART, Context(language="en"))
    assert heard.flags == ("rerun", "low_coverage")
    assert len(server.asked) == 2


async def test_it_never_follows_to_another_host(asking):
    async with FakeSpeechServer() as other:
        async with FakeSpeechServer(redirect=f"{other.url}/v1/audio/transcriptions") as server:
            with pytest.raises(EngineUnavailable, match="sends on to another address, which is not followed"):
                await asking(server).transcribe(PART, Context())
        assert other.asked == []


@pytest.mark.parametrize(
    ("answer", "kind", "sentence"),
    [
        ({"status": 401}, EngineUnavailable, "asks for a key"),
        ({"status": 404}, EngineUnavailable, "no model “whisper-1”; check BRIDGE_SPEECH_SERVER"),
        ({"status": 503}, EngineUnavailable, r"can't answer now \(status 503\)"),
        (
            {"status": 400, "body": "bad language"},
            EngineRefused,
            r"refuses the part \(status 400: bad language\)",
        ),
        ({"body": "<html>"}, EngineUnavailable, "answers no JSON"),
        ({"body": "[]"}, EngineUnavailable, "answers something else"),
    ],
)
async def test_what_it_refuses_is_one_sentence(asking, answer, kind, sentence):
    async with FakeSpeechServer(**answer) as server:
        with pytest.raises(kind, match=sentence):
            await asking(server).transcribe(PART, Context())


async def test_whether_it_is_there_is_asked_anew_each_time(asking):
    async with FakeSpeechServer() as server:
        pool = asking(server)
        assert (await pool.info()).model == "whisper-1"
    with pytest.raises(EngineUnavailable, match="does not answer"):
        await pool.info()
    assert pool.view()["children"] == []


async def test_a_server_that_is_away_is_said(pool_of):
    with pytest.raises(
        EngineUnavailable, match="does not answer .*; start it, or check BRIDGE_SPEECH_SERVER"
    ):
        await pool_of("x", server="http://127.0.0.1:1").transcribe(PART, Context())


async def test_a_cancel_does_not_wait_for_the_server(asking):
    async with FakeSpeechServer(pause=30) as server:
        pool = asking(server)
        work = asyncio.ensure_future(pool.transcribe(PART, Context()))
        while not server.asked:
            await asyncio.sleep(0.01)
        start = perf()
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        assert perf() - start < 1.0
        assert pool.view()["children"] == []


@pytest.mark.parametrize(
    ("written", "root", "port"),
    [
        ("http://nas:8000", "/v1", 8000),
        ("http://nas:8000/v1", "/v1", 8000),
        ("https://nas/speech/v1/audio/transcriptions", "/speech/v1", 443),
    ],
)
def test_the_address_may_be_written_in_three_ways(written, root, port):
    address = openai_server.Address(written)
    assert (address.root, address.port) == (root, port)


def test_words_without_punctuation_take_that_of_the_text():
    bare = [
        Word(start=0, end=RATE, text=" well", probability=1),
        Word(start=RATE, end=2 * RATE, text=" no", probability=1),
    ]
    assert [w.text for w in openai_server.dressed(bare, "“Well — no!”")] == [" well", " no"]
    assert [w.text for w in openai_server.dressed(bare, "“Well, no!”")] == [" “Well,", " no!”"]
