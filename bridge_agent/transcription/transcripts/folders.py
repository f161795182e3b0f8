"""The folders of kept transcripts: each written whole or not at all, and left again without a trace."""

import hashlib
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from bridge_agent.base.backoff import token
from bridge_agent.base.files import private_folder, sync_folder, write_private
from bridge_agent.transcription.assembly.result import Artifact
from bridge_agent.transcription.formats.documents import Document
from bridge_agent.transcription.transcripts.kept import Record

RECORD = "kept.json"
_ASIDE = "."


class Folders:
    """The folder that holds one folder a transcript."""

    def __init__(self, root: Path) -> None:
        self.root = private_folder(root)

    def write(self, documents: Sequence[Document], record: Record) -> str:
        """Write a transcript's files into a new folder and return its name; raises OSError.

        `kept.json` says which files with which sums belong there; the folder gets its name last.
        """
        name = token("t", 12)
        aside = private_folder(self.root / f"{_ASIDE}{name}")
        try:
            for document in documents:
                write_private(aside / document.name, document.content)
            write_private(aside / RECORD, msgspec.json.encode(record) + b"\n")
            aside.rename(self.root / name)
        except BaseException:
            shutil.rmtree(aside, ignore_errors=True)
            raise
        sync_folder(self.root)
        return name

    def record(self, name: str) -> Record | None:
        """Return what a folder says of itself, None where it says nothing that can be read."""
        try:
            return msgspec.json.decode((self.root / name / RECORD).read_bytes(), type=Record)
        except (OSError, msgspec.MsgspecError):
            return None

    def read(self, name: str, artifact: Artifact) -> bytes | None:
        """Return a file's bytes, None where they are gone or no longer those that were written."""
        try:
            raw = (self.root / name / artifact.name).read_bytes()
        except OSError:
            return None
        return raw if hashlib.sha256(raw).hexdigest() == artifact.sha256 else None

    def whole(self, name: str, artifacts: Sequence[Artifact]) -> bool:
        """Tell whether all files of a transcript are there, byte for byte."""
        return bool(artifacts) and all(self.read(name, artifact) is not None for artifact in artifacts)

    def put_away(self, name: str) -> str | None:
        """Take a folder out of sight and return its new name; None where it is gone already."""
        aside = f"{_ASIDE}{name}"
        try:
            (self.root / name).rename(self.root / aside)
        except FileNotFoundError:
            return None
        sync_folder(self.root)
        return aside

    def delete(self, name: str) -> None:
        """Delete a folder; what can't be deleted now goes at the next tidying."""
        shutil.rmtree(self.root / name, ignore_errors=True)

    def names(self) -> Iterator[str]:
        """Return the names of all folders in sight, the oldest first."""
        with os.scandir(self.root) as entries:
            found = [e for e in entries if e.is_dir(follow_symlinks=False) and not e.name.startswith(_ASIDE)]
        yield from (e.name for e in sorted(found, key=lambda e: (e.stat().st_mtime_ns, e.name)))

    def tidy(self) -> None:
        """Delete what a crash left half written or half removed."""
        for path in self.root.glob(f"{_ASIDE}*"):
            shutil.rmtree(path, ignore_errors=True)
