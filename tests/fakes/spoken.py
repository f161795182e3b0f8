"""Real speech for slow tests: the demo library and the speech samples as PCM, and what is said in them."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "bridge_agent" / "demo_library"
TEXTS = ROOT / "tests" / "data" / "demo_texts"
FILES = {
    "Three Fables.m4b": ("fables-01", "fables-02", "fables-03"),
    "01 - Chapter 1.mp3": ("soup-01",),
    "02 - Chapter 2.mp3": ("soup-02",),
}


def samples_folder() -> Path | None:
    """Return the folder of speech samples, if any: BRIDGE_SPEECH_SAMPLES, or beside the checkout."""
    named = os.environ.get("BRIDGE_SPEECH_SAMPLES")
    folder = Path(named) if named else ROOT.parent / "shared" / "speech-samples"
    return folder if folder.is_dir() else None


def samples() -> Path:
    """Return the folder of speech samples; skips the test where there is none."""
    folder = samples_folder()
    if folder is None:
        pytest.skip("NO SPEECH SAMPLES: set BRIDGE_SPEECH_SAMPLES to run this test")
    return folder


def demo_text(name: str) -> str:
    """Return what is said in a demo file."""
    return "\n".join(next(TEXTS.glob(f"{each}-*.txt")).read_text("utf-8") for each in FILES[name])


def demo_books(folder: Path) -> None:
    """Make a folder that has all files of the demo library, as one book."""
    folder.mkdir()
    for path in DEMO.rglob("*.m*"):
        (folder / path.name).symlink_to(path)


def pcm_of(path: Path) -> bytes:
    """Decode a short, sound file to 16 kHz mono int16."""
    import av

    resampler = av.AudioResampler(format="s16", layout="mono", rate=16000)
    out = bytearray()
    with av.open(str(path)) as container:
        for frame in [*container.decode(audio=0), None]:
            for piece in resampler.resample(frame):
                out += piece.to_ndarray().tobytes()
    return bytes(out)


def demo_pcm(name: str) -> bytes:
    """Decode a demo file."""
    return pcm_of(next(DEMO.rglob(name)))


def errors(said: str, heard: str) -> float:
    """Return the word error rate, both texts in Whisper's plain English."""
    import jiwer
    from whisper_normalizer.english import EnglishTextNormalizer

    plain = EnglishTextNormalizer()
    return float(jiwer.wer(plain(said), plain(heard)))
