"""The demo: it verifies and transcribes a book by itself, and says where to read it, or why it does not."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from bridge_agent.app import demo_speech
from bridge_agent.app.demo import Demo
from bridge_agent.app.demo_speech import DemoSpeech, with_small_model
from bridge_agent.base.clock import SystemClock
from bridge_agent.settings import BridgeSettings
from tests.fakes.server import until


def environ(folder: Path, **more: str) -> dict[str, str]:
    return {
        "BRIDGE_DATA_DIR": str(folder / "bridge"),
        "BRIDGE_HOME_DATA_DIR": str(folder / "home"),
        "BRIDGE_LISTEN": "127.0.0.1:0",
        "BRIDGE_HOME_LISTEN": "127.0.0.1:0",
        "BRIDGE_SPEECH_PROCESSES": "1",
        **more,
    }


@contextlib.asynccontextmanager
async def running(demo: Demo) -> AsyncIterator[None]:
    await demo.start()
    try:
        yield
    finally:
        await demo.stop()


@pytest.mark.slow
async def test_the_demo_ends_with_a_transcript_to_read(tmp_path: Path) -> None:
    said: list[str] = []
    demo = Demo(environ(tmp_path, BRIDGE_SPEECH_MODEL="scripted"), said.append)
    async with running(demo):
        await until(lambda: "Transcribed" in said[-1] or "!" in said[-1], 40)
        assert "✓ Transcribed “Stone Soup”: 58 s" in said[-1]
        assert f"{demo.bridge.url}/transcripts/1" in said[-1]
    assert any("open Transcripts" in text for text in said)


@pytest.mark.slow
async def test_without_the_engine_the_demo_says_so_and_is_all_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "bridge_agent.transcription.engines.wishes.importlib.util.find_spec", lambda name: None
    )
    said: list[str] = []
    async with running(Demo(environ(tmp_path), said.append)):
        assert "pip install 'audiobook-bridge-agent[speech]'" in said[-1]
        assert any("✓ Verified" in text for text in said)
    assert not any("open Transcripts" in text for text in said)


def load(folder: Path, **given: str) -> BridgeSettings:
    return with_small_model(BridgeSettings.load(given, data_dir=folder))


def test_a_model_that_is_set_is_left_alone(tmp_path: Path) -> None:
    assert load(tmp_path).speech_model == "base"
    assert load(tmp_path, BRIDGE_SPEECH_MODEL="small").speech_model == "small"


@pytest.mark.parametrize("answers", [True, False])
async def test_the_sample_model_is_used_where_no_hub_is_reachable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answers: bool
) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.json_response({})

    app = web.Application()
    if answers:
        app.router.add_get("/api/models/{owner}/{name}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{runner.addresses[0][1]}")
    sample = tmp_path / "cache" / "whisper-base"
    sample.mkdir(parents=True)
    (sample / "model.bin").write_bytes(b"weights")
    monkeypatch.setattr(demo_speech.sample_weights, "fetch", lambda cache: cache / "whisper-base")
    said: list[str] = []
    speech = DemoSpeech(load(tmp_path / "data"), tmp_path / "cache", said.append, SystemClock())
    try:
        await speech._get_model()
    finally:
        await runner.cleanup()
    put = tmp_path / "data" / "models" / "base" / "model.bin"
    assert put.is_file() is not answers
    assert bool(said) is not answers
