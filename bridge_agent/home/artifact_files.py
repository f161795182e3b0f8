"""The files behind the artifacts: received aside, moved into place whole, removed with their job."""

import contextlib
import errno
import hashlib
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from pathlib import Path

from bridge_agent.base.files import private_folder, sync_folder
from bridge_agent.base.threads import in_thread
from bridge_agent.home.errors import HomeError
from bridge_agent.protocol.bridge import ARTIFACT_BYTES
from bridge_agent.store.database import StoreFull

_INCOMING = "incoming"
_CHUNK = 1 << 20
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT}) if hasattr(errno, "EDQUOT") else frozenset({errno.ENOSPC})


class ArtifactTooLarge(HomeError):
    """An artifact has at most 64 MiB; hand in a smaller one."""

    code = "artifact_too_large"
    status = 413


class ChecksumMismatch(HomeError):
    """The bytes that came are not those that were sent; hand the artifact in again."""

    code = "checksum_mismatch"


@dataclass(frozen=True)
class Incoming:
    """A file that was received whole, synced, its sum right, not yet in its place."""

    path: Path
    size: int


class ArtifactFiles:
    """A folder with one folder a job, one below it an attempt."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def place(self, job_id: int, attempt: int, name: str) -> Path:
        """Return where an artifact lies."""
        return self._folder / str(job_id) / str(attempt) / name

    @contextlib.asynccontextmanager
    async def receive(self, sha256: str, pieces: AsyncIterator[bytes]) -> AsyncIterator[Incoming]:
        """Receive bytes into a file aside, which is gone afterwards unless it was settled.

        Raises ArtifactTooLarge, ChecksumMismatch, and OSError when the disk refuses.
        """
        path = await in_thread(_begin, self._folder)
        try:
            size = await _write(path, sha256, pieces)
            yield Incoming(path, size)
        finally:
            await in_thread(path.unlink, True)

    def settle(self, incoming: Incoming, job_id: int, attempt: int, name: str) -> None:
        """Move a received file into its place, durably; runs inside a unit, on the writer's thread."""
        place = self.place(job_id, attempt, name)
        private_folder(place.parent)
        incoming.path.replace(place)
        sync_folder(place.parent)

    async def remove(self, job_ids: Iterable[int]) -> None:
        """Remove the files of jobs."""
        await in_thread(_remove, [self._folder / str(job_id) for job_id in job_ids])

    async def tidy(self, kept: set[int]) -> None:
        """Remove what is half received, and the files of all jobs but those kept."""
        await in_thread(_tidy, self._folder, {str(job_id) for job_id in kept})


def _begin(folder: Path) -> Path:
    private_folder(folder / _INCOMING)
    handle, name = tempfile.mkstemp(dir=folder / _INCOMING)
    os.close(handle)
    return Path(name)


async def _write(path: Path, sha256: str, pieces: AsyncIterator[bytes]) -> int:
    """Write what comes in chunks, each in a thread of its own; return the size."""
    digest, size, waiting = hashlib.sha256(), 0, bytearray()
    async for piece in pieces:
        size += len(piece)
        if size > ARTIFACT_BYTES:
            raise ArtifactTooLarge
        waiting += piece
        if len(waiting) >= _CHUNK:
            await in_thread(_append, path, bytes(waiting), digest)
            waiting.clear()
    await in_thread(_append, path, bytes(waiting), digest, last=True)
    if digest.hexdigest() != sha256:
        raise ChecksumMismatch
    return size


def _append(path: Path, chunk: bytes, digest: "hashlib._Hash", last: bool = False) -> None:
    digest.update(chunk)
    try:
        with path.open("ab") as out:
            out.write(chunk)
            if last:
                out.flush()
                os.fsync(out.fileno())
    except OSError as error:
        if error.errno in _FULL:
            raise StoreFull from error
        raise


def _remove(folders: list[Path]) -> None:
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def _tidy(folder: Path, kept: set[str]) -> None:
    if folder.is_dir():
        _remove([entry for entry in folder.iterdir() if entry.name not in kept])
