"""The engine on another machine: any server of OpenAI's transcription shape. Runs in a child alone.

It asks the one address of the setting and never follows to another host.
"""

import http.client
import importlib.util
import json
import ssl
import urllib.parse
import wave
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

from bridge_agent.transcription.engines import languages, loudness, multipart
from bridge_agent.transcription.engines.base import (
    Away,
    Context,
    Heard,
    Hearing,
    Machine,
    Refused,
    Setup,
    Stopped,
)
from bridge_agent.transcription.model import RATE, EngineInfo, Segment, Span, Word

NAME = "openai-server"
_CONNECT_SECONDS = 10.0
_ANSWER_SECONDS = 1200.0
_MOST_ANSWER = 64 * 1024 * 1024
_MOST_PROMPT = 600
"""Characters: servers cut prompts at 224 tokens, from the front."""


class Address:
    """A speech server's address as the owner wrote it: with or without `/v1`, with or without a sub-path."""

    def __init__(self, text: str) -> None:
        parts = urllib.parse.urlsplit(text)
        self.secure = parts.scheme == "https"
        self.host = parts.hostname or ""
        self.port = parts.port or (443 if self.secure else 80)
        path = parts.path.rstrip("/").removesuffix("/audio/transcriptions")
        self.root = path if path.endswith("/v1") else f"{path}/v1"
        self.shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


class OpenAiServer:
    """A server that is asked for one part at a time."""

    def __init__(self, setup: Setup) -> None:
        self._address = Address(setup.place)
        self._tls = _tls(setup.ca_file) if self._address.secure else None
        self._model = setup.model
        status, _ = self._ask("GET", f"{self._address.root}/models", b"", {}, _CONNECT_SECONDS)
        if 300 <= status < 400:
            raise Away(self._sent_on())

    def info(self) -> EngineInfo:
        """Return what is known of the server: nobody can tell what it computes with."""
        return EngineInfo(name=NAME, version="1", model=self._model, device="server", compute_type="unknown")

    def transcribe(self, pcm: bytes, context: Context, hearing: Hearing) -> Heard:
        """Hear a part by asking the server, if it holds speech; raises Away, Refused, Stopped."""
        speech = _speech(pcm)
        if not speech:
            return Heard(segments=(), language=context.language or "", speech=(), engine=self.info())
        answer = self._transcription(pcm, context)
        if hearing.stopped():
            raise Stopped
        spoken = context.language or languages.named(str(answer.get("language") or ""))
        segments = _read(answer, len(pcm) // 2, spoken, context.word_timestamps)
        for segment in segments:
            hearing.heard(segment.text)
        return Heard(segments=segments, language=spoken, speech=tuple(speech), engine=self.info())

    def detect_language(self, pcm: bytes) -> dict[str, float]:
        """Return the language the server hears in 30 s; nothing without speech."""
        if not _speech(pcm):
            return {}
        answer = self._transcription(pcm[: 60 * RATE], Context(word_timestamps=False))
        spoken = languages.named(str(answer.get("language") or ""))
        return {spoken: 1.0} if spoken else {}

    def _transcription(self, pcm: bytes, context: Context) -> Mapping[str, Any]:
        fields = [("model", self._model), ("response_format", "verbose_json")]
        fields.append(("temperature", str(context.temperatures[0])))
        if context.language:
            fields.append(("language", context.language))
        if context.hints:
            fields.append(("prompt", ", ".join(context.hints)[:_MOST_PROMPT]))
        wanted = ["segment", "word"] if context.word_timestamps else ["segment"]
        fields += [("timestamp_granularities[]", each) for each in wanted]
        body, content = multipart.form(fields, "file", "part.wav", wav(pcm))
        path = f"{self._address.root}/audio/transcriptions"
        status, answer = self._ask("POST", path, body, {"Content-Type": content}, _ANSWER_SECONDS)
        self._refuse(status, answer)
        try:
            read = json.loads(answer)
        except ValueError as error:
            raise Away(
                f"The speech server at {self._address.shown} answers no JSON; check its address."
            ) from error
        if not isinstance(read, dict):
            raise Away(
                f"The speech server at {self._address.shown} answers something else; check its address."
            )
        return read

    def _refuse(self, status: int, answer: bytes) -> None:
        shown = self._address.shown
        if status == 200:
            return
        if 300 <= status < 400:
            raise Away(self._sent_on())
        if status in (401, 403):
            raise Away(f"The speech server at {shown} asks for a key; use one that asks for none.")
        if status == 404:
            raise Away(
                f"The speech server at {shown} has no transcription here, or no model “{self._model}”; "
                "check BRIDGE_SPEECH_SERVER and BRIDGE_SPEECH_MODEL."
            )
        if status in (408, 425, 429) or status >= 500:
            raise Away(f"The speech server at {shown} can't answer now (status {status}); look at its log.")
        said = " ".join(answer[:300].decode("utf-8", "replace").split())
        raise Refused(
            f"The speech server at {shown} refuses the part (status {status}: {said}); check its log."
        )

    def _sent_on(self) -> str:
        return (
            f"The speech server at {self._address.shown} sends on to another address, which is not followed; "
            "set BRIDGE_SPEECH_SERVER to that address."
        )

    def _ask(
        self, method: str, path: str, body: bytes, headers: Mapping[str, str], seconds: float
    ) -> tuple[int, bytes]:
        at = self._address
        connection: http.client.HTTPConnection
        if self._tls is not None:
            connection = http.client.HTTPSConnection(
                at.host, at.port, timeout=_CONNECT_SECONDS, context=self._tls
            )
        else:
            connection = http.client.HTTPConnection(at.host, at.port, timeout=_CONNECT_SECONDS)
        try:
            connection.connect()
            connection.sock.settimeout(seconds)
            connection.request(method, path, body, dict(headers))
            response = connection.getresponse()
            return response.status, response.read(_MOST_ANSWER)
        except (OSError, http.client.HTTPException) as error:
            raise Away(
                f"The speech server at {at.shown} does not answer ({error}); "
                "start it, or check BRIDGE_SPEECH_SERVER."
            ) from error
        finally:
            connection.close()


def wav(pcm: bytes) -> bytes:
    """Return int16 PCM as a WAV file."""
    out = BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(pcm)
    return out.getvalue()


def _read(answer: Mapping[str, Any], samples: int, language: str, with_words: bool) -> tuple[Segment, ...]:
    spaced = language not in languages.WITHOUT_SPACES
    loose = [_word(each, spaced) for each in _dicts(answer.get("words"))]
    found = _dicts(answer.get("segments"))
    if not found and str(answer.get("text") or "").strip():
        found = [{"start": 0.0, "end": samples / RATE, "text": answer["text"]}]
    segments = []
    for number, each in enumerate(found):
        text = str(each.get("text") or "")
        if not text.strip():
            continue
        start, end = _place(each.get("start")), _place(each.get("end"))
        own = [_word(word, spaced) for word in _dicts(each.get("words"))]
        if not own:
            last = number == len(found) - 1
            own = [w for w in loose if (w.start + w.end) // 2 < end or last]
            loose = loose[len(own) :]
        segments.append(
            Segment(
                start=start,
                end=end,
                text=text if text[0] == " " or not spaced else f" {text}",
                avg_logprob=round(_number(each.get("avg_logprob"), -0.5), 3),
                no_speech_prob=round(_number(each.get("no_speech_prob"), 0.0), 3),
                compression_ratio=round(_number(each.get("compression_ratio"), 1.0), 3),
                temperature=_number(each.get("temperature"), 0.0),
                words=tuple(dressed(own, text))
                if with_words and spaced
                else tuple(own if with_words else ()),
            )
        )
    return tuple(segments)


def dressed(words: Sequence[Word], text: str) -> list[Word]:
    """Give words the punctuation of their segment's text, which OpenAI's own server leaves off."""
    tokens = text.split()
    bare = [word.text.strip().casefold() for word in words]
    if len(tokens) != len(words) or any(b not in t.casefold() for b, t in zip(bare, tokens, strict=True)):
        return list(words)
    return [
        Word(start=w.start, end=w.end, text=f" {token}", probability=w.probability)
        for w, token in zip(words, tokens, strict=True)
    ]


def _word(found: Mapping[str, Any], spaced: bool) -> Word:
    text = str(found.get("word") or "")
    start = _place(found.get("start"))
    return Word(
        start=start,
        end=max(start, _place(found.get("end"))),
        text=f" {text}" if spaced and not text.startswith(" ") else text,
        probability=round(_number(found.get("probability"), 1.0), 3),
    )


def _dicts(value: object) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _number(value: object, default: float) -> float:
    # NaN is unequal to itself.
    ok = isinstance(value, int | float) and value == value and abs(value) < 1e6
    return float(value) if ok else default  # type: ignore[arg-type]


def _place(seconds: object) -> int:
    return max(0, round(_number(seconds, 0.0) * RATE))


def _speech(pcm: bytes) -> list[Span]:
    """Return where somebody speaks, by the voice detector where the extra is installed, else by loudness."""
    if importlib.util.find_spec("faster_whisper") is None:
        return loudness.loud_spans(pcm)
    from bridge_agent.transcription.engines import faster_whisper_engine

    return faster_whisper_engine.speech_in(faster_whisper_engine.samples_of(pcm))


def _tls(ca_file: str) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if ca_file:
        context.load_verify_locations(ca_file)
    return context


def load(setup: Setup) -> OpenAiServer:
    """Ask the server for a sign of life; raises Away."""
    return OpenAiServer(setup)


def machine() -> Machine:
    """Return that nothing is computed here."""
    return Machine(version="1")
