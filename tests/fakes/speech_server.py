"""A speech server of OpenAI's shape on 127.0.0.1: it hears the same words in everything, in two dialects."""

import asyncio
import wave
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

from aiohttp import web

WORDS = ("Once", "upon", "a", "time", "a", "fox", "saw", "some", "grapes")


@dataclass
class FakeSpeechServer:
    """`plain` answers as OpenAI does (bare words beside the segments), else words stand in their segments."""

    plain: bool = True
    status: int = 200
    body: str | None = None
    redirect: str = ""
    pause: float = 0.0
    asked: list[dict[str, Any]] = field(default_factory=list)
    port: int = 0

    async def __aenter__(self) -> "FakeSpeechServer":
        app = web.Application(client_max_size=32 * 1024 * 1024)
        app.router.add_get("/sub/v1/models", self._models)
        app.router.add_post("/sub/v1/audio/transcriptions", self._transcribe)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/sub"

    async def _models(self, _request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": []})

    async def _transcribe(self, request: web.Request) -> web.Response:
        form = await request.post()
        with form["file"].file as sent:  # type: ignore[union-attr]
            content = sent.read()
        with wave.open(BytesIO(content)) as audio:
            seconds = audio.getnframes() / audio.getframerate()
        asked = {name: form.getall(name) for name in form if name != "file"}
        self.asked.append(asked | {"seconds": seconds})
        await asyncio.sleep(self.pause)
        if self.redirect:
            return web.Response(status=307, headers={"Location": self.redirect})
        if self.body is not None or self.status != 200:
            return web.Response(status=self.status, text=self.body or "no")
        return web.json_response(self._answer(seconds))

    def _answer(self, seconds: float) -> dict[str, Any]:
        each = seconds / len(WORDS)
        words = [
            {"word": word if self.plain else f" {word}", "start": each * n, "end": each * (n + 1)}
            for n, word in enumerate(WORDS)
        ]
        text = "Once upon a time, a fox saw some grapes."
        segments: list[dict[str, Any]] = [
            {"id": 0, "start": 0.0, "end": each * 4, "text": "Once upon a time,", "avg_logprob": -0.2},
            {
                "id": 1,
                "start": each * 4,
                "end": seconds,
                "text": " a fox saw some grapes.",
                "no_speech_prob": 0.1,
            },
        ]
        if not self.plain:
            segments[0]["words"], segments[1]["words"] = words[:4], words[4:]
            words = []
        found = {"task": "transcribe", "language": "english", "duration": seconds, "text": text}
        return found | {"segments": segments, "words": words}
