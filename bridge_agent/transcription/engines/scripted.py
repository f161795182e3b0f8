"""The engine of the tests: its words follow from the PCM alone, and its model's name says how it behaves.

`scripted`, or `scripted:` and any of these joined by `+`: `slow=S` (seconds a part), `busy=S` (the same, at
work), `hang`, `stuck` (no pulse either), `die`, `abort`, `library` (a missing one, then abort), `exit=N`,
`eat=BYTES`, `fail`, `memory` (says so), `noise` (prints), `loop` and `sparse` (until heard accurately),
`language=CODE`. Each may end in `@FILE`: only until that file exists, which it makes; or in `?batched`,
`?cuda` or `?float` (only with such a fit).
"""

import hashlib
import os
import signal
import sys
import threading
from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bridge_agent.base.clock import perf
from bridge_agent.transcription.engines import loudness
from bridge_agent.transcription.engines.base import Context, Fit, Heard, Hearing, Machine, Setup, Stopped
from bridge_agent.transcription.model import RATE, EngineInfo, Segment, Span, Word

NAME = "scripted"
_WORD = RATE * 2 // 5
_WORDS_A_SEGMENT = 8
_TEXT = """
the a river stone lantern kettle morning winter fox crow pitcher soldier village soup carrot house road
shepherd mountain candle harbour story silver window garden between under again never always
"""
_LEXICON = _TEXT.split()


@dataclass(frozen=True)
class Trait:
    """One way to behave: its name, its argument, and when it applies."""

    name: str
    argument: str = ""
    marker: str = ""
    when: str = ""

    def applies(self, fit: Fit) -> bool:
        """Tell whether it applies now; one with a marker applies once, and leaves the marker."""
        if self.when and not _FITS[self.when](fit):
            return False
        if not self.marker:
            return True
        try:
            os.close(os.open(self.marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True


_FITS: Mapping[str, Callable[[Fit], bool]] = {
    "batched": lambda fit: fit.batch > 1,
    "cuda": lambda fit: fit.device == "cuda",
    "float": lambda fit: fit.compute_type.startswith("float"),
}


def traits(model: str) -> list[Trait]:
    """Read the traits out of a model's name; raises ValueError, KeyError for what is none."""
    _, _, written = model.partition(":")
    found = []
    for each in filter(None, written.split("+")):
        body, _, when = each.partition("?")
        body, _, marker = body.partition("@")
        name, _, argument = body.partition("=")
        if when and when not in _FITS:
            raise ValueError(f"{when} is no fit")
        found.append(Trait(name, argument, marker, when))
    return found


class Scripted:
    """An engine that needs no model and hears the same words in the same samples always."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._traits = traits(setup.model)
        if setup.prove:
            for trait in self._traits:
                if trait.when and trait.applies(setup.fit):
                    _behave(trait, _Deaf())

    def info(self) -> EngineInfo:
        """Return what decides about the words."""
        fit = self._setup.fit
        return EngineInfo(
            name=NAME,
            version="1",
            model=self._setup.model,
            device=fit.device,
            compute_type=fit.compute_type,
        )

    def transcribe(self, pcm: bytes, context: Context, hearing: Hearing) -> Heard:
        """Hear a part, behaving as the model's name says."""
        active = [trait for trait in self._traits if trait.applies(self._setup.fit)]
        for trait in active:
            _behave(trait, hearing)
        names = {trait.name for trait in active}
        audio, speech = loudness.samples(pcm), loudness.loud_spans(pcm)
        words = [word for span in speech for word in _words(audio, span)]
        if context.quality != "accurate":
            words = _worsened(words, names)
        segments = tuple(_segments(words, context.word_timestamps))
        for segment in segments:
            hearing.heard(segment.text)
        return Heard(
            segments=segments,
            language=context.language or self._spoken(),
            speech=tuple(speech),
            engine=self.info(),
        )

    def detect_language(self, pcm: bytes) -> dict[str, float]:
        """Return the language of the model's name, or English; nothing for silence."""
        return {self._spoken(): 0.9, "la": 0.1} if loudness.loud_spans(pcm) else {}

    def _spoken(self) -> str:
        return next((trait.argument for trait in self._traits if trait.name == "language"), "en")


class _Deaf:
    """Nobody listens, and nobody stops."""

    def heard(self, text: str) -> None:
        """Take words."""

    def stopped(self) -> bool:
        """Go on always."""
        return False


def _words(audio: "array[int]", span: Span) -> list[Word]:
    words = []
    for start in range(span.start, span.end, _WORD):
        end = min(start + _WORD, span.end)
        if end - start < RATE // 10:
            break
        digest = hashlib.sha256(audio[start:end].tobytes()).digest()
        text = " " + _LEXICON[digest[0] % len(_LEXICON)]
        probability = round(0.5 + digest[1] / 512, 3)
        words.append(Word(start=start, end=end, text=text, probability=probability))
    return words


def _worsened(words: list[Word], names: set[str]) -> list[Word]:
    if "loop" in names:
        return [Word(start=w.start, end=w.end, text=" again", probability=0.9) for w in words]
    if "sparse" in names:
        return words[::4]
    return words


def _segments(words: list[Word], with_words: bool) -> list[Segment]:
    segments = []
    for first in range(0, len(words), _WORDS_A_SEGMENT):
        some = words[first : first + _WORDS_A_SEGMENT]
        segments.append(
            Segment(
                start=some[0].start,
                end=some[-1].end,
                text="".join(word.text for word in some),
                avg_logprob=-0.25,
                no_speech_prob=0.01,
                words=tuple(some) if with_words else (),
            )
        )
    return segments


def _behave(trait: Trait, hearing: Hearing) -> None:
    action = _ACTIONS.get(trait.name)
    if action is not None:
        action(trait.argument, hearing)


def _slow(argument: str, hearing: Hearing) -> None:
    pause = threading.Event()
    for _ in range(max(1, round(float(argument) / 0.02))):
        pause.wait(0.02)
        if hearing.stopped():
            raise Stopped


def _busy(argument: str, _hearing: Hearing) -> None:
    end = perf() + float(argument)
    while perf() < end:
        sum(range(1000))


def _hang(_argument: str, _hearing: Hearing) -> None:
    threading.Event().wait()


def _stuck(_argument: str, _hearing: Hearing) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def _die(_argument: str, _hearing: Hearing) -> None:
    os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
    _hang("", _hearing)


def _abort(_argument: str, _hearing: Hearing) -> None:
    os.abort()


def _library(_argument: str, _hearing: Hearing) -> None:
    os.write(2, b"Could not load library libcudnn_ops_infer.so.8. Error: cannot open shared object file\n")
    os.abort()


def _exit(argument: str, _hearing: Hearing) -> None:
    os._exit(int(argument))


def _eat(argument: str, _hearing: Hearing) -> None:
    eaten = bytearray(int(argument))
    eaten[::4096] = b"x" * len(eaten[::4096])
    _hang("", _hearing)


def _fail(_argument: str, _hearing: Hearing) -> None:
    raise RuntimeError("the script says so")


def _memory(_argument: str, _hearing: Hearing) -> None:
    raise MemoryError


def _noise(_argument: str, _hearing: Hearing) -> None:
    sys.stdout.write("a library says hello\n" * 100)
    sys.stdout.flush()
    os.write(1, b"\0\0\0\1native noise\n" * 1000)


_ACTIONS: Mapping[str, Callable[[str, Hearing], None]] = {
    "slow": _slow,
    "busy": _busy,
    "hang": _hang,
    "stuck": _stuck,
    "die": _die,
    "abort": _abort,
    "library": _library,
    "exit": _exit,
    "eat": _eat,
    "fail": _fail,
    "memory": _memory,
    "noise": _noise,
}


def load(setup: Setup) -> Scripted:
    """Load the script of a model's name."""
    return Scripted(setup)


def machine() -> Machine:
    """Return a machine that only knows the processor, or a GPU where the environment of a test says so."""
    gpus = int(os.environ.get("SCRIPTED_GPUS", "0"))
    return Machine(version="1", gpus=gpus, driver=os.environ.get("SCRIPTED_DRIVER", ""))
