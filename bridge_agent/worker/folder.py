"""A worker's data folder: only one that is empty or a worker's is taken, and never another's content."""

import contextlib
import re
from pathlib import Path

from bridge_agent.base.errors import BridgeError
from bridge_agent.base.files import private_folder, write_private
from bridge_agent.transcription.models.fetch import PARTIAL
from bridge_agent.transcription.models.folders import MANIFEST

MARKER = "bridge-worker"
_SAYS = b"This folder is a Bridge worker's: it makes and removes files here by itself.\n"
_OWN = frozenset({"audio", "engine.json", "finished", "logs", "models", "worker.json", "worker.lock"})
_SETTINGS = "worker.toml"
_SIGNS = frozenset({"worker.lock", "engine.json"})
"""What an older worker, or a cluster's that shares its folder, has left there without a marker."""
_NOBODYS = frozenset({".DS_Store", "desktop.ini", "lost+found"})
_HALF_WRITTEN = re.compile(r"\.(bridge-worker|engine\.json|worker\.json)\..+")
_AUDIO = re.compile(r"[0-9a-f]{32}\.flac")


class NotAWorkers(BridgeError):
    """The data folder holds what no worker made; choose an empty or new folder with --data-dir."""

    code = "not_a_workers_folder"


def look(folder: Path) -> None:
    """Find out whether a folder may be taken, changing nothing in it; raises NotAWorkers, OSError."""
    try:
        names = {path.name for path in folder.iterdir() if not _HALF_WRITTEN.fullmatch(path.name)}
    except FileNotFoundError:
        return
    if MARKER in names:
        return
    made = names - _NOBODYS - {_SETTINGS, "worker.pid"}
    known = made & _SIGNS or (made == {"models"} and _downloaded(folder / "models"))
    if made and not (made <= _OWN and known):
        raise NotAWorkers(
            f"The folder {folder} holds what no worker made, so nothing in it was touched; choose an empty "
            "or new folder with --data-dir or BRIDGE_WORKER_DATA_DIR."
        )


def _downloaded(models: Path) -> bool:
    """Tell whether all models of a folder came here by a download, as a cluster's worker leaves them."""
    return models.is_dir() and all(
        path.name == "hashes.json" or path.name.endswith(PARTIAL) or (path / MANIFEST).is_file()
        for path in models.iterdir()
    )


def mark(folder: Path) -> None:
    """Mark a folder as a worker's; raises OSError."""
    if not (folder / MARKER).is_file():
        write_private(folder / MARKER, _SAYS)


def clear_audio(folder: Path) -> None:
    """Remove the parts that an earlier run was hearing: they are fetched anew. Raises OSError."""
    private_folder(folder)
    for path in folder.iterdir():
        if _AUDIO.fullmatch(path.name):
            with contextlib.suppress(OSError):
                path.unlink()
