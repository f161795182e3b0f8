"""The engine faster-whisper: Whisper models by CTranslate2. Only a child imports what is heavy here."""

import ctypes
import importlib
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from bridge_agent.transcription.engines import languages
from bridge_agent.transcription.engines.base import (
    MOST_HINT_TOKENS,
    Away,
    Context,
    Heard,
    Hearing,
    Machine,
    Refused,
    Setup,
    Stopped,
)
from bridge_agent.transcription.engines.errors import not_installed
from bridge_agent.transcription.engines.packing import Packing, joined, padded
from bridge_agent.transcription.model import RATE, EngineInfo, Segment, Span, Word

if TYPE_CHECKING:
    import numpy as np

_WINDOW = 30 * RATE
_PAD = 400 * RATE // 1000
_SHORTEST_PAUSE_MS = 160
_PAUSE_WHEN_ACCURATE = 2 * RATE
"""Without batches Whisper finds its own windows: only pauses of 2 s are taken out, as the library does."""


class FasterWhisper:
    """A loaded model. Speech is looked for first, always and once, and only that is given to the model."""

    def __init__(self, setup: Setup) -> None:
        whisper = _library("faster_whisper")
        compute_type = fitting(setup.fit.device, setup.fit.compute_type)
        self._model = whisper.WhisperModel(
            setup.place,
            device=setup.fit.device,
            compute_type=compute_type,
            cpu_threads=1,
            num_workers=1,
            local_files_only=True,
        )
        self._batched = whisper.BatchedInferencePipeline(self._model)
        self._batch = setup.fit.batch
        self._info = EngineInfo(
            name="faster-whisper",
            version=_version(),
            model=setup.model,
            device=setup.fit.device,
            compute_type=compute_type,
        )
        if setup.prove:
            self._prove()

    def info(self) -> EngineInfo:
        """Return what decides about the words."""
        return self._info

    def transcribe(self, pcm: bytes, context: Context, hearing: Hearing) -> Heard:
        """Hear a part; raises Refused for a language that the model does not know, Stopped."""
        language = self._language(context.language)
        audio = samples_of(pcm)
        speech = speech_in(audio)
        if not speech:
            return Heard(segments=(), language=language or "", speech=(), engine=self._info)
        gap = 0 if context.quality == "balanced" else _PAUSE_WHEN_ACCURATE
        packing = Packing(padded(joined(speech, gap), _PAD, len(audio)))
        _library("ctranslate2").set_random_seed(context.seed)
        found, info = self._hear(pack(audio, packing), packing, language, context)
        segments = tuple(_told(found, packing, hearing))
        return Heard(
            segments=segments,
            language=languages.common(info.language),
            language_probability=round(float(info.language_probability), 3),
            speech=tuple(speech),
            engine=self._info,
        )

    def detect_language(self, pcm: bytes) -> dict[str, float]:
        """Return each language's probability by the first 30 s of speech; nothing without speech."""
        audio = samples_of(pcm)
        speech = speech_in(audio)
        if not speech:
            return {}
        if not self._model.model.is_multilingual:
            return {"en": 1.0}
        packed = pack(audio, Packing(padded(speech, _PAD, len(audio))))
        _, _, found = self._model.detect_language(audio=packed[:_WINDOW])
        return {languages.common(code): float(probability) for code, probability in found}

    def _prove(self) -> None:
        """Decode one second for real, the voice detector apart."""
        import numpy as np

        second = np.zeros(RATE, dtype=np.float32)
        segments, _ = self._model.transcribe(second, language="en", beam_size=1, temperature=0.0)
        list(segments)
        speech_in(second)

    def _hear(
        self, packed: "np.ndarray[Any, Any]", packing: Packing, language: str | None, context: Context
    ) -> tuple[Iterable[Any], Any]:
        shared: dict[str, Any] = {
            "language": language,
            "beam_size": 5,
            "word_timestamps": context.word_timestamps,
            "hotwords": self._hints(context.hints),
            "temperature": list(context.temperatures),
        }
        if context.quality == "accurate":
            result = self._model.transcribe(
                packed, condition_on_previous_text=False, vad_filter=False, **shared
            )
        else:
            # Half a sample more: the library cuts the product of seconds and rate off to whole samples.
            windows = [
                {"start": (w.start + 0.5) / RATE, "end": (w.end + 0.5) / RATE}
                for w in packing.windows(_WINDOW)
            ]
            result = self._batched.transcribe(
                packed, batch_size=self._batch, clip_timestamps=windows, vad_filter=False, **shared
            )
        return result  # type: ignore[no-any-return]

    def _language(self, wanted: str | None) -> str | None:
        if wanted is None:
            return None
        code = languages.whisper(wanted)
        if code is None or code not in self._model.supported_languages:
            raise Refused(
                f"The model {self._info.model} does not know the language “{wanted}”; "
                "choose another model, or leave the language to be detected."
            )
        return code

    def _hints(self, hints: tuple[str, ...]) -> str | None:
        """Join names up to the budget of tokens; the one that passes it is cut between its words."""
        joined_hints = ""
        for hint in filter(None, (" ".join(h.split()) for h in hints)):
            longer = f"{joined_hints}, {hint}" if joined_hints else hint
            if not self._within_budget(longer):
                words = longer.split(" ")
                some = (" ".join(words[:count]) for count in range(len(words) - 1, 0, -1))
                joined_hints = next(filter(self._within_budget, some), joined_hints)
                break
            joined_hints = longer
        return joined_hints.rstrip(",") or None

    def _within_budget(self, text: str) -> bool:
        tokens = self._model.hf_tokenizer.encode(f" {text}", add_special_tokens=False).ids
        return len(tokens) <= MOST_HINT_TOKENS


def _told(found: Iterable[Any], packing: Packing, hearing: Hearing) -> Iterable[Segment]:
    if hearing.stopped():
        raise Stopped
    for each in found:
        segment = _segment(each, packing)
        if segment.text.strip():
            hearing.heard(segment.text)
            yield segment
        if hearing.stopped():
            raise Stopped


def _segment(found: Any, packing: Packing) -> Segment:  # noqa: ANN401 - the library has no types
    words = []
    for word in found.words or ():
        start, end = packing.back(_samples(word.start), _samples(word.end))
        words.append(
            Word(start=start, end=end, text=word.word, probability=round(float(word.probability), 3))
        )
    if words:
        start, end = words[0].start, words[-1].end
    else:
        start, end = packing.back_apart(_samples(found.start), _samples(found.end))
    return Segment(
        start=start,
        end=end,
        text=found.text,
        avg_logprob=round(float(found.avg_logprob), 3),
        no_speech_prob=round(float(found.no_speech_prob), 3),
        compression_ratio=round(float(found.compression_ratio), 3),
        temperature=float(found.temperature or 0.0),
        words=tuple(words),
    )


def _samples(seconds: float) -> int:
    return round(float(seconds) * RATE)


def samples_of(pcm: bytes) -> "np.ndarray[Any, Any]":
    """Return int16 PCM as floats from -1 to 1."""
    import numpy as np

    return np.frombuffer(pcm[: len(pcm) // 2 * 2], dtype="<i2").astype(np.float32) / 32768.0


def pack(audio: "np.ndarray[Any, Any]", packing: Packing) -> "np.ndarray[Any, Any]":
    """Lay the spans of audio end to end."""
    import numpy as np

    return np.concatenate([audio[span.start : span.end] for span in packing.spans])


def speech_in(audio: "np.ndarray[Any, Any]") -> list[Span]:
    """Return where somebody speaks, by the voice detector that the library brings, without padding."""
    if not len(audio):
        return []
    vad = importlib.import_module("faster_whisper.vad")
    # The longest stretch leaves room for its padding within one window of the model.
    options = vad.VadOptions(
        min_silence_duration_ms=_SHORTEST_PAUSE_MS,
        speech_pad_ms=0,
        max_speech_duration_s=(_WINDOW - 2 * _PAD) / RATE,
    )
    found = vad.get_speech_timestamps(audio, options)
    return [Span(start=int(each["start"]), end=int(each["end"])) for each in found]


def fitting(device: str, wanted: str) -> str:
    """Return the compute type to use: the one wanted, else the nearest that the device can do."""
    able = _library("ctranslate2").get_supported_compute_types(device)
    first = ["int8", "int8_float32"] if device == "cpu" else ["float16", "int8_float16", "int8"]
    if wanted != "auto":
        first = [wanted, *(["int8"] if wanted.startswith("int8") else []), *first]
    return next((each for each in first if each in able), "float32")


def load(setup: Setup) -> FasterWhisper:
    """Load a model's folder; raises Away where the library is not installed."""
    return FasterWhisper(setup)


def machine() -> Machine:
    """Return what CTranslate2 finds here; the count of devices alone is no proof that one works."""
    translate = _library("ctranslate2")
    gpus = int(translate.get_cuda_device_count())
    devices = ["cpu", "cuda"] if gpus else ["cpu"]
    able = {each: tuple(sorted(translate.get_supported_compute_types(each))) for each in devices}
    return Machine(version=_version(), gpus=gpus, driver=_driver(), compute_types=able)


def _version() -> str:
    return f"{_library('faster_whisper').__version__}+ctranslate2-{_library('ctranslate2').__version__}"


def _driver() -> str:
    name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        version = ctypes.c_int()
        ctypes.CDLL(name).cuDriverGetVersion(ctypes.byref(version))
    except (OSError, AttributeError):
        return ""
    return str(version.value)


def _library(name: str) -> Any:  # noqa: ANN401 - a module of a library without types
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Away(not_installed(str(error))) from error
