"""A model's folder: whether it is whole, and what its content is called."""

import contextlib
import hashlib
import json
from pathlib import Path
from typing import Any

import msgspec

from bridge_agent.base import files
from bridge_agent.transcription.model import Value
from bridge_agent.transcription.models.errors import BrokenModel

MANIFEST = "bridge-model.json"
_NEEDED = ("config.json", "model.bin", "tokenizer.json")
_VOCABULARIES = ("vocabulary.txt", "vocabulary.json")
_BLOCK = 1024 * 1024


class ModelFolder(Value, frozen=True):
    """A model that is whole: its folder, what results name it, and how many bytes it has."""

    path: Path
    id: str
    size: int


class KeptFile(Value, frozen=True):
    """A downloaded file as it has to be; `sha256` is empty where only the size is known."""

    name: str
    size: int
    sha256: str


class Manifest(Value, frozen=True):
    """What was downloaded: written last, so that a folder without one is half a download."""

    repository: str
    revision: str
    files: tuple[KeptFile, ...]


def check(folder: Path) -> int:
    """Return the bytes of a model's folder; raises BrokenModel naming the file that is missing or cut off."""
    if not folder.is_dir():
        raise BrokenModel(f"The speech model's folder {folder} is not there; mend BRIDGE_SPEECH_MODEL.")
    for name in _NEEDED:
        _present(folder, name)
    if not any((folder / name).is_file() for name in _VOCABULARIES):
        raise BrokenModel(_lacks(folder, "vocabulary.txt (or vocabulary.json)"))
    _readable_json(folder, "config.json")
    _readable_json(folder, "tokenizer.json")
    for kept in _manifest_files(folder):
        _present(folder, kept.name)
        size = (folder / kept.name).stat().st_size
        if size != kept.size:
            raise BrokenModel(
                f"The file {kept.name} of the speech model in {folder} has {size} bytes instead of "
                f"{kept.size}; delete that folder, and the model is downloaded again."
            )
    return sum(each.stat().st_size for each in folder.iterdir() if each.is_file())


def _present(folder: Path, name: str) -> None:
    path = folder / name
    if not path.is_file() or path.stat().st_size == 0:
        raise BrokenModel(_lacks(folder, name))


def _lacks(folder: Path, name: str) -> str:
    return (
        f"The speech model in {folder} lacks the file {name}; "
        "put it there, or delete the folder and choose the model by its name."
    )


def _readable_json(folder: Path, name: str) -> None:
    try:
        json.loads((folder / name).read_bytes())
    except ValueError as error:
        raise BrokenModel(
            f"The file {name} of the speech model in {folder} is cut off or damaged; "
            "delete that folder, and choose the model by its name to download it again."
        ) from error


def _manifest_files(folder: Path) -> tuple[KeptFile, ...]:
    try:
        return msgspec.json.decode((folder / MANIFEST).read_bytes(), type=Manifest).files
    except FileNotFoundError:
        return ()
    except msgspec.DecodeError as error:
        raise BrokenModel(f"The file {MANIFEST} in {folder} is damaged; delete that folder.") from error


def content_hash(folder: Path, notes: Path | None = None) -> str:
    """Return twelve digits of the SHA-256 over a model's files; blocks for as long as reading them takes.

    `notes` is a file that remembers hashes by folder, sizes and times, so that they are read once.
    """
    names = sorted(
        n for n in (*_NEEDED, *_VOCABULARIES, "preprocessor_config.json") if (folder / n).is_file()
    )
    stats = [[n, (folder / n).stat().st_size, (folder / n).stat().st_mtime_ns] for n in names]
    key = json.dumps([str(folder.resolve()), stats])
    known = _notes(notes)
    if key in known:
        return str(known[key])
    digest = hashlib.sha256()
    for name in names:
        digest.update(f"{name}\0{sha256(folder / name)}\n".encode())
    found = digest.hexdigest()[:12]
    if notes is not None:
        others = {k: v for k, v in known.items() if json.loads(k)[0] != str(folder.resolve())}
        # A hash that can't be kept is computed again the next time.
        with contextlib.suppress(OSError):
            notes.parent.mkdir(parents=True, exist_ok=True)
            files.write_private(notes, json.dumps(others | {key: found}).encode())
    return found


def _notes(path: Path | None) -> dict[str, Any]:
    try:
        read = json.loads(path.read_bytes()) if path is not None else {}
    except (OSError, ValueError):
        return {}
    return read if isinstance(read, dict) else {}


def sha256(path: Path) -> str:
    """Return a file's SHA-256, read in blocks."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def by_folder(path: Path, notes: Path | None = None) -> ModelFolder:
    """Return a model by its folder, named by the folder's last name and its content; raises BrokenModel."""
    path = path.expanduser()
    size = check(path)
    return ModelFolder(path=path, id=f"{path.resolve().name}-{content_hash(path, notes)}", size=size)
