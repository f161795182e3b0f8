"""The peer: `whisper-ctranslate2` on the command line, in an environment of its own."""

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from tests.fakes.whisper_base import cache

WANTED = "whisper-ctranslate2==0.5.8"
_COMMAND = "whisper-ctranslate2"


def command() -> str | None:
    """Return where it is: BRIDGE_BENCH_WHISPER_CTRANSLATE2, the PATH, else installed once into the cache.

    None, and the reason on standard error, where it can't be installed.
    """
    named = os.environ.get("BRIDGE_BENCH_WHISPER_CTRANSLATE2") or shutil.which(_COMMAND)
    if named:
        return named
    folder = cache() / "whisper-ctranslate2"
    found = folder / ("Scripts" if os.name == "nt" else "bin") / _COMMAND
    if not found.exists():
        try:
            venv.create(folder, with_pip=True, clear=True)
            pip = [str(found.parent / "python"), "-m", "pip", "install", "--quiet", WANTED]
            subprocess.run(pip, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"NO whisper-ctranslate2: {error}", file=sys.stderr)
            return None
    return str(found)


def words(command: str, model: str, file: str, output: Path, *more: str) -> list[str]:
    """Return its command line for a file: this model, int8, one thread, English, words with their times."""
    return [
        command,
        file,
        "--model_directory", model,
        "--compute_type", "int8",
        "--threads", "1",
        "--language", "en",
        "--word_timestamps", "True",
        "--output_format", "txt",
        "--output_dir", str(output),
        "--verbose", "False",
        *more,
    ]  # fmt: skip


def text(output: Path) -> str:
    """Return what it heard."""
    return next(output.glob("*.txt")).read_text("utf-8")
