"""Books for the benchmarks of speech, with what is said in them."""

import wave
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks import bench_audio
from tests.fakes import spoken

WARM = ("01 - Chapter 1.mp3", "02 - Chapter 2.mp3")
FABLES = "Three Fables.m4b"
_FABLES_S = 114.5


@dataclass(frozen=True)
class Book:
    """A book of one file."""

    file: str
    said: str

    def errors(self, heard: str) -> float:
        """Return the share of words that were heard wrong."""
        return spoken.errors(self.said, heard)


def demo_file(name: str) -> str:
    """Return where a file of the demo lies."""
    return str(next(spoken.DEMO.rglob(name)))


def warm() -> list[str]:
    """Return the files of a short book, two parts of it, that has engines loaded before a measurement."""
    return [demo_file(name) for name in WARM]


def fables(folder: Path, times: int) -> Book:
    """Return the demo's fables so many times over, encoded as people have books: stereo AAC at 44.1 kHz."""
    hours = (times - 0.5) * _FABLES_S / 3600
    path = bench_audio.long_book(folder / "fables.m4b", "aac", hours)
    return Book(str(path), "\n".join([spoken.demo_text(FABLES)] * times))


def samples(folder: Path, times: int) -> Book | None:
    """Return human voices with the demo's between them; None where there are no samples."""
    found = spoken.samples_folder()
    if found is None:
        return None
    voices, said = spoken.pcm_of(found / "librivox.flac"), (found / "librivox.txt").read_text("utf-8")
    between = spoken.demo_pcm(FABLES) if times > 1 else b""
    path = folder / f"samples-{times}.wav"
    with wave.open(str(path), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(16_000)
        out.writeframes(between.join([voices] * times))
    texts = [said] * times
    return Book(str(path), f"\n{spoken.demo_text(FABLES)}\n".join(texts) if times > 1 else said)
